"""Documents are found however they are spread over lines, and damage costs one problem each."""

import io
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.access.sources.documents import find_whole_end, split_documents
from audit.access.sources.files import LogFiles, StandardInput
from tests.unit.audit.access.sources.hourly_blobs import FIRST, Seen, hour_name, told
from tests.unit.audit.access.sources.test_streams import all_of

Records = Sequence[dict[str, Any]]

RECORDS: Records = [
    {"TimeGenerated": "2026-11-01T10:00:00Z", "n": n, "Uri": 'https://a/"{[}]\\"', "more": [{}, []]}
    for n in range(3)
]


def indented(value: Any, **kwargs: Any) -> str:
    """Return JSON over several lines."""
    return json.dumps(value, indent=2, **kwargs)


def page(records: Records) -> dict[str, Any]:
    """Return a page of a REST answer, as Azure Monitor and Microsoft Graph give them."""
    return {"value": list(records), "nextLink": "https://management.azure.com/next"}


def answer(records: Records) -> dict[str, Any]:
    """Return an answer of Log Analytics' query API: tables of columns and rows."""
    columns = [{"name": name, "type": "dynamic"} for name in records[0]]
    rows = [list(record.values()) for record in records]
    return {"tables": [{"name": "PrimaryResult", "columns": columns, "rows": rows}]}


def graph(records: Records) -> dict[str, Any]:
    """Return a page of Microsoft Graph: what is before `value` is long."""
    context = "https://graph.microsoft.com/v1.0/$metadata#auditLogs/directoryAudits"
    return {"@odata.context": context, "@odata.nextLink": "https://x/" + "y" * 200, **page(records)}


SHAPES: dict[str, Callable[[Records], str]] = {
    "lines": lambda records: "".join(json.dumps(one) + "\n" for one in records),
    "lines that end as on Windows": lambda records: "".join(
        json.dumps(one) + "\r\n" for one in records
    ),
    "no line between": lambda records: "".join(json.dumps(one) for one in records),
    "a space between": lambda records: " ".join(json.dumps(one) for one in records),
    "indented one after another": lambda records: "\n".join(map(indented, records)),
    "indented with tabs": lambda records: "\n".join(
        json.dumps(one, indent="\t") for one in records
    ),
    "indented, as on Windows": lambda records: "\r\n".join(map(indented, records)).replace(
        "\n", "\r\n"
    ),
    "an indented list": indented,
    "a list by lines": lambda records: "[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n",
    "commas first": lambda records: "[" + "\n,".join(map(json.dumps, records)) + "]",
    "two lists": lambda records: indented(records[:1]) + "\n" + indented(records[1:]),
    "an indented page": lambda records: indented(page(records)),
    "a page in a line": lambda records: json.dumps(page(records)),
    "pages": lambda records: indented(page(records[:1])) + "\n" + json.dumps(page(records[1:])),
    "a page of Microsoft Graph": lambda records: json.dumps(graph(records)),
    "an indented page of Microsoft Graph": lambda records: indented(graph(records)),
    "an answer of Log Analytics": lambda records: json.dumps(answer(records)),
    "an indented answer of Log Analytics": lambda records: indented(answer(records)),
    "indented envelopes": lambda records: "\n".join(indented({"records": [r]}) for r in records),
    "lines, then indented": lambda records: (
        json.dumps(records[0]) + "\n" + "\n".join(map(indented, records[1:])) + "\n"
    ),
    "a byte order mark": lambda records: "\ufeff" + "\n".join(map(indented, records)),
}


def values(lines: Sequence[bytes]) -> list[Any]:
    """Return what records say."""
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("shape", SHAPES)
async def test_every_shape_gives_the_records_in_it(shape: str, tmp_path: Path, seen: Seen) -> None:
    """From a file, from standard input, and from a blob of an hour; nothing is refused."""
    content = SHAPES[shape](RECORDS).encode()
    path = tmp_path / "a.json"
    path.write_bytes(content)
    records, problems, _ = told(await all_of(LogFiles("files", "aks-1", [path])))
    assert (values(records), problems) == (RECORDS, [])
    given_in = StandardInput("stdin", "aks-1", io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")))
    records, problems, _ = told(await all_of(given_in))
    assert (values(records), problems) == (RECORDS, [])
    seen.put(hour_name(0), content)
    records, problems, _ = await seen.read()
    assert (values(records), problems) == (RECORDS, [])
    assert await seen.read() == ([], [], [])


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    """An empty folder, long after its hours."""
    return Seen(tmp_path / "hours")


async def test_a_document_that_grows_is_waited_for_and_what_is_before_it_is_read(
    seen: Seen,
) -> None:
    """However it is cut while it is written, each record comes once."""
    content = SHAPES["indented one after another"](RECORDS).encode()
    seen.now = FIRST.timestamp() + 60
    found: list[bytes] = []
    cuts = [0, *range(7, len(content), 31), len(content)]
    for begin, end in pairwise(cuts):
        seen.put(hour_name(0), content[begin:end])
        records, problems, gaps = await seen.read()
        assert (problems, gaps) == ([], [])
        found += records
    assert values(found) == RECORDS


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        (indented(RECORDS[0])[:-9], 1),
        (indented(RECORDS[0])[:-9] + "\n" + indented(RECORDS[1]), 1),
        (indented(RECORDS[0]).replace(":", ";") + "\n" + json.dumps(RECORDS[1]) + "\n", 1),
        (json.dumps(RECORDS[0])[:-40] + "\n" + SHAPES["lines"](RECORDS[1:]), 1),
        ('{"a": [{"n": 1},\n' + SHAPES["lines"](RECORDS), 1),
    ],
    ids=["cut off", "cut off before another", "damaged", "half a line", "half a list"],
)
def test_a_damaged_document_is_one_problem(content: str, problems: int) -> None:
    """Its lines stay together, and what follows it is read."""
    found = [document for _, document in split_documents(content.encode())]
    broken = [document for document in found if not _is_json(document)]
    assert len(broken) == problems
    assert len(found) - problems == content.count('"more"') - sum(b'"more"' in b for b in broken)


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def test_many_ends_that_are_not_there_cost_no_more_than_a_few() -> None:
    """A megabyte of halves is split in a moment, each into its line."""
    content = b'{"a": [1,\n' * 100_000
    assert sum(1 for _ in split_documents(content)) == 100_000


WORDS = st.text('ab"\\\n{}[]:, ', max_size=4)


@settings(max_examples=50)
@given(
    st.lists(
        st.dictionaries(WORDS, st.lists(WORDS, max_size=3), max_size=3), min_size=1, max_size=4
    ),
    st.lists(st.sampled_from([None, 0, 1]), min_size=4, max_size=4),
    st.data(),
)
def test_wherever_content_is_cut_the_documents_are_the_same(
    documents: list[dict[str, Any]], indents: list[int | None], data: st.DataObject
) -> None:
    """What is before the cut, and what is from it on, are together what all of it is."""
    texts = [json.dumps(one, indent=indents[n]) for n, one in enumerate(documents)]
    content = ("\n".join(texts) + "\n").encode()
    whole = [document for _, document in split_documents(content)]
    assert [json.loads(document) for document in whole] == documents
    cut = find_whole_end(content[: data.draw(st.integers(0, len(content)))])
    parts = (content[:cut], content[cut:])
    assert [document for part in parts for _, document in split_documents(part)] == whole
