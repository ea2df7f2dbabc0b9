"""Whom somebody wants to look back on, as they type it. Pure."""

import re
from collections.abc import Callable
from typing import Final

from core.risk.model import PrincipalKind, identity_key
from core.risk.snapshot import RiskSnapshot
from identity.look_back.subjects import Risen, labels_of
from identity.risk.principals import GUID

_DIGEST: Final = re.compile(r"user:[0-9a-f]{16}", re.ASCII)
_CLIENT: Final = "client:"


def asked_of(subject: str) -> Callable[[RiskSnapshot | None], Risen] | None:
    """Give what makes an identity of `oid:…`, a bare GUID, `user:…` or `client:…`; None of others.

    The window of what it makes is not set. A client id needs the snapshot, which says whose it is.
    """
    text = subject.strip().lower()
    if _DIGEST.fullmatch(text):
        return lambda _: _plain(text)
    if text.startswith(_CLIENT) and GUID.fullmatch(text.removeprefix(_CLIENT)):
        client_id = text.removeprefix(_CLIENT)
        return lambda snapshot: _client(client_id, snapshot)
    object_id = text.removeprefix("oid:")
    if GUID.fullmatch(object_id):
        return lambda _: Risen(
            identity_key(object_id), labels_of(identity_key(object_id)), None, 0, 0
        )
    return None


def _plain(label: str) -> Risen:
    return Risen(identity_key(label), (label,), None, 0, 0)


def _client(client_id: str, snapshot: RiskSnapshot | None) -> Risen:
    """Give the service principal of a client id; where nobody knows it, the client id alone."""
    known = snapshot.application(client_id) if snapshot is not None else None
    object_id = known.object_id if known else ""
    key = identity_key(object_id or client_id)
    labels = (f"{_CLIENT}{client_id}", *(labels_of(key) if object_id else ()))
    kind = PrincipalKind.SERVICE_PRINCIPAL
    return Risen(key, labels, None, 0, 0, kind, client_ids=frozenset({client_id}))
