"""The document of a changed object, which `control` records besides decisions.

From these it is known later, also of last month, what people had granted and approved. Nothing
here names a person.
"""

from typing import Any, Final

import msgspec

from core.base.document_part import DocumentPart, require_format

FORMAT: Final = 1
"""Version of the document. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""


ENDED_IN_USE: Final = "ended-in-use"
"""Event of an EgressAllowlist that ended while Pods that it was for still ran; `why` counts them.
"""


class ObjectChange(DocumentPart, frozen=True, kw_only=True):
    """An object that people decide with was made, changed, or is gone."""

    format: int
    id: str
    """UUIDv7 of `time`; the same change always has the same."""
    time: str
    """RFC 3339: when it was changed where the object says so, else when it was seen."""
    cluster: str
    event: str
    """`there` (seen for the first time), `changed`, `approved` (its approval began to count),
    `ended` (expired, or its approval no longer counts), `ended-in-use`, `deleted`."""
    kind: str
    """AccessGrant, WeightStore, Approval, ContainerProfile, PolicyException, EgressAllowlist,
    BreakGlass, AuditStatement, ServiceAccount, Bundle …"""
    namespace: str = ""
    name: str
    uid: str = ""
    digest: str = ""
    """Of what is approved, as `core.base.sallyport_objects` computes it."""
    by: list[str] = []
    """Marks or labels of who did it, where the object says so."""
    approvers: list[str] = []
    spec: Any = None
    """The `spec`, whole, of WeightStores, grants and AuditStatements; of a ServiceAccount its
    client id and tenant; of others what a report says of them."""
    why: str = ""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(ObjectChange)


def encode_change(change: ObjectChange) -> bytes:
    """Return the document as JSON."""
    return _ENCODER.encode(change)


def decode_change(content: bytes) -> ObjectChange:
    """Read a document of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    change = _DECODER.decode(content)
    require_format(change.format, FORMAT)
    return change
