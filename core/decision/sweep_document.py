"""The document of a sweep: one pass over everything that runs."""

import msgspec

from core.base.document_part import DocumentPart, require_format
from core.decision.document import FORMAT, Revisions


class SweepDocument(DocumentPart, frozen=True):
    """One finished pass over everything that runs: counts; objects have documents of their own."""

    format: int
    id: str
    """UUIDv7 of the sweep's beginning."""
    cluster: str
    started: str
    """RFC 3339, as is `finished`."""
    finished: str
    objects: int
    verdicts: dict[str, int]
    """How many objects had each verdict."""
    namespaces: int
    sandbox_missing: int = 0
    """Pods that should run in a sandbox and do not."""
    pods: dict[str, int] = {}
    """How many were judged in each namespace; of more namespaces than are kept, and in records of
    earlier releases, none."""
    consistent: bool = True
    """Whether all pages showed the cluster at one moment."""
    interruptions: int = 0
    """How often it was taken up again where it had stopped."""
    revisions: Revisions = Revisions()


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(SweepDocument)


def encode_sweep(document: SweepDocument) -> bytes:
    """Return the document as JSON."""
    return _ENCODER.encode(document)


def decode_sweep(content: bytes) -> SweepDocument:
    """Read a sweep's document of this format, the one before or the one after.

    Raises:
        ValueError: it is none; the message names the field.
    """
    document = _DECODER.decode(content)
    require_format(document.format, FORMAT)
    return document
