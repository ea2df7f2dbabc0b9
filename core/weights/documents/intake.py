"""The documents of what came in from storage logs, and of the records that could not be read.

Every report begins with them: the logs are best effort, so records come late, twice or never.
"""

from typing import Final

import msgspec

from core.base.document_part import DocumentPart, require_format

FORMAT: Final = 1
"""Version of both documents. Readers of release N read FORMAT - 1 and FORMAT + 1 as well."""

MOST_RECORD: Final = 64 * 1024
"""Characters kept of a record that cannot be read."""


class RefusedRecord(DocumentPart, frozen=True, kw_only=True):
    """A record that is none, or none that can be read: in quarantine, never dropped in silence."""

    format: int
    id: str
    """UUIDv7 of when it came; the same record of the same place always has the same other bits."""
    cluster: str
    source: str
    place: str
    """Where it lies in the source: blob and byte, partition and offset, file and line."""
    reason: str
    size: int
    digest: str
    """`sha256:` and the digest of its bytes."""
    record: str = ""
    """The first MOST_RECORD characters, as they came. Reports never show it."""


class Intake(DocumentPart, frozen=True, kw_only=True):
    """What one stretch of a source came to; all of them together are a report's population."""

    format: int
    id: str
    """UUIDv7 of when it was taken in; the same stretch always has the same other bits."""
    cluster: str
    source: str
    begin: str
    """Place before its first record; empty at the source's beginning."""
    end: str
    """Place after its last."""
    read: int
    """Records: each is stored, known, refused or skipped."""
    stored: int = 0
    known: int = 0
    """Came before, by whatever source."""
    refused: int = 0
    aside: int = 0
    """Of the refused: could be read, and not be kept. Too old, too far ahead, or with another's id.
    """
    skipped: int = 0
    """Of no concern here, or of an operation that has not come to its end."""
    skipped_kinds: dict[str, int] = {}
    """Of those skipped: how many of each kind, as `azure-activity: microsoft.compute/…/action`."""
    late: int = 0
    """Of those stored: older than the watermark when they came."""
    first: str = ""
    """RFC 3339: the earliest time of a record in it; empty where all were refused."""
    last: str = ""


_ENCODER = msgspec.json.Encoder()
_REFUSED = msgspec.json.Decoder(RefusedRecord)
_INTAKE = msgspec.json.Decoder(Intake)


def encode_intake(document: RefusedRecord | Intake) -> bytes:
    """Return the document as JSON."""
    return _ENCODER.encode(document)


def decode_refused(content: bytes) -> RefusedRecord:
    """Read a document of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    document = _REFUSED.decode(content)
    require_format(document.format, FORMAT)
    return document


def decode_intake(content: bytes) -> Intake:
    """Read a document of this format, the one before or the one after.

    Raises:
        ValueError: as `decode_refused`.
    """
    document = _INTAKE.decode(content)
    require_format(document.format, FORMAT)
    return document
