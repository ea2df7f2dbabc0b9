"""Reading a Namespace object: its name, UID, age, labels and annotations."""

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_error
from core.decision.namespaces import Namespace


class _Meta(msgspec.Struct):
    name: str
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: str | None = msgspec.field(default=None, name="creationTimestamp")


class _Envelope(msgspec.Struct):
    metadata: _Meta


_decoder = msgspec.json.Decoder(_Envelope)


def parse_namespace(raw: bytes | msgspec.Raw) -> Namespace:
    """Read a Namespace from its JSON.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    try:
        metadata = _decoder.decode(raw).metadata
    except msgspec.DecodeError as error:
        raise decode_error("Namespace", error) from error
    if not metadata.name:
        raise InvalidObjectError("Namespace", "metadata.name", "is missing")
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    created = metadata.creation_timestamp or ""
    return Namespace(metadata.name, labels, annotations, metadata.uid, created)
