"""The document of refusals that have no records of their own: how many, of whom, from when to when.

A refusal costs its author no quota. Beyond what a requester may have kept in a minute, refusals
are counted, and the count is a record as any other.
"""

from typing import Annotated, Final, Literal

import msgspec

from core.base.document_part import DocumentPart, require_format

FORMAT: Final = 1
"""Version of the document. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

AggregateReason = Literal["budget", "size"]
"""Why there are no records of their own: more came in a minute than are kept; or the ledger had
no more room for them and removed them."""


class RefusalAggregate(DocumentPart, frozen=True):
    """Refusals that are alike. Nothing that was admitted is ever in one."""

    format: int
    id: str
    """UUIDv7 of `time`."""
    time: str
    """RFC 3339: when the last of them was refused."""
    first: str
    """RFC 3339: when the first of them was."""
    cluster: str
    count: Annotated[int, msgspec.Meta(ge=1)]
    verdict: Literal["deny", "error"]
    why: AggregateReason
    namespace: str = ""
    """Empty: of no namespace, of one that nobody knows, or of several."""
    requester: str = ""
    """As `DecisionDocument.requester`; empty: a name that nobody vouches for, or several."""
    rules: list[str] = []
    """Of their findings, each once; empty: none, or different ones."""
    projection: str = ""
    """The digest of what policies saw of their object, images included; empty: different ones."""
    kept: str = ""
    """Id of a decision on record that is as they were; empty where none is known."""
    instance: str = ""
    """Name of the Pod of the gate that counted; empty where the gate does not know its own, where
    the ledger counted, and in records of earlier releases."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(RefusalAggregate)


def encode_aggregate(document: RefusalAggregate) -> bytes:
    """Return the document as JSON."""
    return _ENCODER.encode(document)


def decode_aggregate(content: bytes) -> RefusalAggregate:
    """Read an aggregate of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    document = _DECODER.decode(content)
    require_format(document.format, FORMAT)
    return document
