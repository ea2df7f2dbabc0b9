"""Puts into quarantine what cannot be read: with reason and place, without people or secrets."""

from hashlib import sha256

from audit.access.parsers.redaction import scrubbed_record
from core.base.ids import stable_id
from core.weights.intake import FORMAT, MOST_RECORD, RefusedRecord


def refused(  # noqa: PLR0913  What the document says.
    raw: bytes, *, cluster: str, source: str, place: str, reason: str, unix_ms: int
) -> RefusedRecord:
    """Give the document of a record that was refused when it came, at `unix_ms`."""
    digest = sha256(raw).hexdigest()
    return RefusedRecord(
        format=FORMAT,
        id=stable_id(unix_ms, "refused", cluster, source, place, digest),
        cluster=cluster,
        source=source,
        place=place,
        reason=reason,
        size=len(raw),
        digest=f"sha256:{digest}",
        record=scrubbed_record(raw, MOST_RECORD),
    )
