"""Client certificates: of those whom the client CA vouches for, only those named may ask."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from webhooks.exchange import Reply

STRANGER: Final = (
    "the client's certificate is of a CA that is trusted, and names nobody who may ask: add its "
    "name to the setting listen.client_names (gate.clientNames of the chart), or use another"
)
"""What one is told. Not whom the certificate names: that may be a person."""


def is_unknown_client(certificate: Mapping[str, Any], allowed: frozenset[str]) -> bool:
    """Return whether a certificate, as `ssl` decodes it, names none of them; all may where none is.

    What counts is its common name and every alternative name.
    """
    if not allowed:
        return False
    pairs = [pair for part in certificate.get("subject", ()) for pair in part]
    names = {value for kind, value in pairs if kind == "commonName"}
    names |= {value for _, value in certificate.get("subjectAltName", ())}
    return allowed.isdisjoint(names)


def build_refusal() -> Reply:
    """Answer one, as a `Status` of Kubernetes: kube-apiserver shows its message, and no other."""
    code = HTTPStatus.FORBIDDEN
    status = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden"}
    body = msgspec.json.encode({**status, "code": code.value, "message": STRANGER})
    return Reply(code, body, (), closes=True)
