"""Files and standard input are read to their end; what is no record is refused."""

import gzip
import io
from pathlib import Path

import pytest

from audit.access.model.batch import LogSource, RecordBatch
from audit.access.sources.envelopes import parts_of
from audit.access.sources.files import LogFiles, StandardInput
from core.base.errors import SourceError
from tests.unit.audit.access.sources.hourly_blobs import record, told

LINES = [record(number, pad=9000) for number in range(300)]


async def all_of(source: LogSource, places: dict[str, str] | None = None) -> list[RecordBatch]:
    """Return every stretch of a source that ends, and note the places."""
    places = {} if places is None else places
    found: list[RecordBatch] = []
    async for stretch in source.stretches(dict(places)):
        places[stretch.name] = stretch.end
        found.append(stretch)
    return found


async def test_files_are_read_once_and_on_where_they_have_grown(tmp_path: Path) -> None:
    """Plain and under gzip, in the order in which they were named."""
    plain, zipped = tmp_path / "b.json", tmp_path / "a.json.gz"
    plain.write_bytes(b"".join(LINES[:200]))
    zipped.write_bytes(gzip.compress(b"".join(LINES[200:])))
    places: dict[str, str] = {}
    source = LogFiles("files", "aks-1", [plain, zipped])
    assert told(await all_of(source, places)) == (LINES, [], [])
    assert told(await all_of(source, places)) == ([], [], [])
    with plain.open("ab") as file:
        file.write(record(999))
    assert told(await all_of(source, places)) == ([record(999)], [], [])


async def test_a_file_that_was_replaced_is_read_anew_and_said(tmp_path: Path) -> None:
    """It goes to quarantine that something was there before."""
    path = tmp_path / "a.json"
    path.write_bytes(LINES[0] + LINES[1])
    places: dict[str, str] = {}
    await all_of(LogFiles("files", "aks-1", [path]), places)
    path.write_bytes(LINES[2])
    records, problems, _ = told(await all_of(LogFiles("files", "aks-1", [path]), places))
    assert (records, len(problems)) == ([LINES[2]], 1)


async def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(SourceError, match=r"none\.json cannot be read"):
        await all_of(LogFiles("files", "aks-1", [tmp_path / "none.json"]))


async def test_standard_input_is_read_line_by_line() -> None:
    """The last line needs no end; lines may wrap records."""
    content = b"".join(LINES) + b'{"records":[{"n":1},{"n":2}]}\n\n{"n":3}'
    stretches = await all_of(StandardInput("stdin", "aks-1", io.BytesIO(content)))
    records, problems, _ = told(stretches)
    assert (records[:300], problems) == (LINES, [])
    assert records[300:] == [b'{"n":1}\n', b'{"n":2}\n', b'{"n":3}\n']
    assert len(stretches) > 1
    assert (stretches[0].begin, stretches[-1].end) == ("", "303")


@pytest.mark.parametrize(
    ("message", "records", "problems"),
    [
        (b'{"records":[{"n":1},{"n":2}]}', [b'{"n":1}', b'{"n":2}'], 0),
        (b'[{"records":[{"n":1}]},{"records":[{"n":2}]}]', [b'{"n":1}', b'{"n":2}'], 0),
        (b'{"n":1}', [b'{"n":1}'], 0),
        (b'[{"n":1},{"n":2}]', [b'{"n":1}', b'{"n":2}'], 0),
        (b'{"kind":"EventList","items":[{"kind":"Event"}]}', [b'{"kind":"Event"}'], 0),
        (b'{"records":[]}', [], 0),
        (b'{"records":[1,"x",null]}', [b"1", b'"x"', b"null"], 0),
        (b'{"records":{"n":1}}', [], 1),
        (b"{", [], 1),
        (b"", [], 1),
        (b'[[[[[[{"n":1}]]]]]]', [], 1),
        (b'{"pad":"' + b"x" * (1 << 20) + b'"}', [], 1),
    ],
    ids=range(12),
)
def test_messages_are_unwrapped(message: bytes, records: list[bytes], problems: int) -> None:
    """Envelopes, lists of those, single records; what is none of them is refused whole."""
    parts = list(parts_of(message))
    assert [part.raw for part in parts if not part.problem] == records
    assert len([part for part in parts if part.problem]) == problems
