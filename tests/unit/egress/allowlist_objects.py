"""Allowlists and sets of destinations for tests, made as people write them."""

from typing import Any, Final

import msgspec

from core.base import names
from core.egress.allowlists import (
    EgressAllowlist,
    EgressDestinations,
    parse_allowlist,
    parse_destinations,
)

HTTPS: Final = [{"protocol": "TCP", "port": 443}]
EXPIRES: Final = "2026-12-31T00:00:00Z"
NOW: Final = 1_790_000_000.0
"""Before `EXPIRES`."""


def allowlist(
    *to: dict[str, Any], name: str = "pypi", namespace: str = "research", **spec: Any
) -> EgressAllowlist:
    """Make an allowlist of the service account `trainer`; entries without ports get 443."""
    whole = {
        "serviceAccounts": ["trainer"],
        "to": [_with_ports(each) for each in to],
        "owner": "research-platform",
        "reason": "packages",
        "expiresAt": EXPIRES,
        **spec,
    }
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    return parse_allowlist(_encoded("EgressAllowlist", metadata, whole))


def destinations(*to: dict[str, Any], name: str = "shared", **spec: Any) -> EgressDestinations:
    """Make a set; entries without ports get 443."""
    whole = {
        "to": [_with_ports(each) for each in to],
        "owner": "research-platform",
        "reason": "for all",
        **spec,
    }
    metadata = {"name": name, "uid": f"uid-{name}"}
    return parse_destinations(_encoded("EgressDestinations", metadata, whole))


def _with_ports(entry: dict[str, Any]) -> dict[str, Any]:
    return entry if "destinations" in entry else {"ports": HTTPS, **entry}


def _encoded(kind: str, metadata: dict[str, str], spec: dict[str, Any]) -> bytes:
    whole = {"apiVersion": names.API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
    return msgspec.json.encode(whole)
