"""Lines that are split only when somebody looks are the records that they always were."""

import pytest

from audit.access.model.batch import MOST_RECORD, SourceRecord
from audit.access.sources.envelopes import LineRecords

LONG = b'{"a":"' + b"x" * MOST_RECORD + b'"}'


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"])
def test_lines_are_records_with_their_places(end: bytes) -> None:
    """Empty ones are none, an envelope is several, what is too long says so; each has its byte."""
    parts = [b"\xef\xbb\xbf{}", b"", b"\r", b'{"records":[{"b":1},[]]}', b"no\r", LONG, b'{"c":2}']
    last = b'{"c":2}\r' if end == b"\r\n" else b'{"c":2}'
    lines = LineRecords(b"\n".join(parts) + end, "blob", 100)
    wanted = [
        SourceRecord(b"{}", "blob@100"),
        SourceRecord(b'{"b":1}', "blob@109"),
        SourceRecord(b"no\r", "blob@134"),
        SourceRecord(LONG, "blob@138", f"is longer than {MOST_RECORD} bytes ({len(LONG)})"),
        SourceRecord(last, f"blob@{139 + len(LONG)}"),
    ]
    assert next(iter(lines)) == wanted[0]
    assert list(lines) == wanted
    assert lines[:] == wanted
    assert (len(lines), lines[1], lines[-1]) == (5, wanted[1], wanted[-1])


def test_nothing_is_no_record() -> None:
    """Of no bytes, and of bytes that end no record."""
    assert not LineRecords(b"")
    assert not LineRecords(b"\r\n\n")
