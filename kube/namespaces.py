"""Reading a Namespace object: its name, UID, labels and annotations."""

import msgspec

from core.decoding import unreadable
from core.errors import InvalidObjectError
from core.namespaces import Namespace


class _Meta(msgspec.Struct):
    name: str
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


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
        raise unreadable("Namespace", error) from error
    if not metadata.name:
        raise InvalidObjectError("Namespace", "metadata.name", "is missing")
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    return Namespace(metadata.name, labels, annotations, metadata.uid)
