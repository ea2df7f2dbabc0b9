"""Look backs of every release stay readable: `golden/look-back-N.json` is one of format N."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from core.risk.look_back import (
    FORMAT,
    Item,
    LookBackDocument,
    Sort,
    State,
    StoreReads,
    decode_look_back,
    encode_look_back,
)

GOLDEN = Path(__file__).parent / "golden"
SCHEMA = Path(__file__).parents[4] / "docs" / "reference" / "look-back.schema.json"

FIRST = LookBackDocument(
    format=1,
    id="01a1fdfa-4600-741a-844b-d5e85b7c5f0f",
    cluster="5f0c3c1e-6f0b-4c39-9d0e-2a5c7c4f9f10",
    subject="oid:11111111-2222-4333-8444-555555555501",
    begin="2026-11-19T11:00:00Z",
    end="2026-11-21T12:00:00Z",
    standing="high",
    since="2026-11-21T11:59:00Z",
    events=["0f1e2d3c-0000-4000-8000-000000000001"],
    event_types=["unfamiliarFeatures"],
    items=[
        Item(
            sort=Sort.ENTERED,
            state=State.THERE,
            at="2026-11-19T14:00:00Z",
            how="entered",
            kind="Pod",
            group="apps",
            namespace="train",
            name="llm-0",
            uid="c7d3f5a0-1b8e-4f0a-8a57-70f86f3c2b11",
            acts=2,
            decision="01a1f8a1-c360-7d1d-844b-d5e85b7c5f0f",
            pods=3,
        )
    ],
    more_items=4,
    more_acts=5,
    gone={"workload": 6},
    older=7,
    namespaces={"train": 1},
    suspended=["train/hole"],
    gaps=["there is no auditor"],
    reads=[
        StoreReads(
            store="frontier",
            reads=9,
            bytes=48318382080,
            first="2026-11-20T01:00:00.000Z",
            last="2026-11-20T02:00:00.000Z",
            ungranted=2,
            by_pods=8,
            unsure=1,
        )
    ],
)


@pytest.mark.parametrize(
    "path", sorted(GOLDEN.glob("look-back-*.json")), ids=lambda each: each.name
)
def test_each_releases_document_is_read(path: Path) -> None:
    """With all that this release knows of it."""
    assert decode_look_back(path.read_bytes()) == FIRST


def test_this_release_writes_its_own_format() -> None:
    """Whoever changes what is written adds a golden file, and raises FORMAT where it must be."""
    golden = GOLDEN / f"look-back-{FORMAT}.json"
    assert json.loads(encode_look_back(FIRST)) == json.loads(golden.read_text())


def test_fields_of_a_later_release_are_skipped() -> None:
    """Release N reads N + 1."""
    later = {**json.loads(encode_look_back(FIRST)), "format": FORMAT + 1, "later": [1]}
    found = decode_look_back(json.dumps(later).encode())
    assert msgspec.structs.replace(found, format=FORMAT) == FIRST


def test_a_document_keeps_to_the_schema() -> None:
    """The published one."""
    jsonschema.validate(json.loads(encode_look_back(FIRST)), json.loads(SCHEMA.read_text()))
