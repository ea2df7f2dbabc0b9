"""The document of a sweep: one pass over everything that runs."""

import hashlib

import msgspec

from core.base.document_part import DocumentPart, require_format
from core.base.ids import uuid7, uuid7_unix_ms
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


def sweep_decision_id(sweep: str, object_uid: str) -> str:
    """Return the id of a sweep's decision on an object: the same each time it is judged in it.

    Its time is the sweep's beginning, its random bits come from SHA-256: so nobody finds a sweep
    and an object whose decision has the id of another one.

    Raises:
        ValueError: `sweep` is no UUID.
    """
    digest = hashlib.sha256(f"{sweep}/{object_uid}".encode()).digest()
    return uuid7(uuid7_unix_ms(sweep), int.from_bytes(digest[:10], "big") >> 6)
