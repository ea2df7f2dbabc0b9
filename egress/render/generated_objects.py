"""Names, labels and shape of the objects that Sallyport generates. Pure."""

import hashlib
from typing import Any, Final

from core.base import names

Json = dict[str, Any]
"""An object as JSON says it."""

DEFAULT_DENY: Final = "sallyport-default-deny"
DNS: Final = "sallyport-dns"
DNS_IPV6: Final = "sallyport-dns-ipv6"
GUARD: Final = "sallyport-guard"
BREAK_GLASS: Final = "sallyport-break-glass"
BREAK_GLASS_IPV6: Final = "sallyport-break-glass-ipv6"
BREAK_GLASS_NAMES: Final = frozenset({BREAK_GLASS, BREAK_GLASS_IPV6})
"""What BreakGlasses open: nobody else's policy may repeat it, since it would outlive them."""
MANAGED_LABELS: Final = {"app.kubernetes.io/managed-by": "sallyport"}
"""On every generated object."""

_MAX: Final = 240
"""A name has 253 characters at most; what follows the allowlist's takes up to 12 of them."""
_DIGEST: Final = 16


def allow_name(allowlist: str, index: int, *, ipv6: bool = False) -> str:
    """Return the name of the policy that has this part of what an allowlist opens.

    No two allowlists of a namespace share one: what stands before the last dash tells them apart.
    """
    return f"{_shortened('sallyport-allow-' + allowlist)}-{index}{'ipv6' if ipv6 else ''}"


def passes_name(namespace: str, allowlist: str, index: int) -> str:
    """Return the name of the cluster-wide policy that lets an allowlist's reserved addresses pass.

    A namespace's name has no dot, so no two allowlists of the cluster share one.
    """
    return f"{_shortened(f'sallyport-pass-{namespace}.{allowlist}')}-{index}"


def generated_object(
    api_version: str, kind: str, metadata: Json, spec: Json, allowlist: str = ""
) -> Json:
    """Return a generated object; with the allowlist that it says, if it says one."""
    marks: Json = {"labels": dict(MANAGED_LABELS)}
    if allowlist:
        marks["annotations"] = {names.ALLOWLIST_ANNOTATION: allowlist}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {**metadata, **marks},
        "spec": spec,
    }


def _shortened(text: str) -> str:
    """Return a name itself, or its beginning and a digest; `--x` is kept for those that are cut."""
    if len(text) <= _MAX and "--x" not in text:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
    return f"{text[: _MAX - _DIGEST - 3].rstrip('.-')}--x{digest}"
