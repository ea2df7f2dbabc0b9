"""What is stored and what is public stays as it is, byte for byte, whatever the code is called."""

import gc
import json
from typing import Any

import msgspec
import pytest

from tests.compat.contracts import CONTRACTS, kept_in
from tests.compat.examples import example_of
from tests.compat.releases import GOLDEN, NEXT
from tests.compat.source import source
from tests.compat.stored_values import STORED, content_of
from tests.compat.wire import shapes_of

HERE = GOLDEN / NEXT
PUBLIC = sorted(name for name in CONTRACTS if name.startswith("public/"))


@pytest.fixture(scope="module", autouse=True)
def _imported(_frozen: None) -> None:
    """Look at all the code at once: a thousand modules are no garbage of a test."""
    source()
    gc.collect()
    gc.freeze()


def golden(name: str) -> str:
    """Read a golden file."""
    return (HERE / name).read_text()


@pytest.mark.parametrize("name", sorted(STORED))
def test_what_is_stored_is_written_as_before(name: str) -> None:
    """An example of it gives the same bytes. If they are to change: see `recording`."""
    stored = STORED[name]
    before = content_of(golden(f"stored/{name}.json"))
    assert stored.plain(stored.encode(stored.example())) == stored.plain(before)


@pytest.mark.parametrize("name", sorted(STORED))
def test_what_was_stored_is_read_as_it_was_meant(name: str) -> None:
    """No field is lost or becomes its default: the example comes out of the golden bytes."""
    stored = STORED[name]
    read, meant = stored.decode(content_of(golden(f"stored/{name}.json"))), stored.example()
    if isinstance(meant, bytes):
        read, meant = stored.plain(read), stored.plain(meant)
    assert read == meant


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_is_as_before(name: str) -> None:
    """If it is to change: `python -m tests.compat.recording`, and look at what it changes."""
    assert _differences(json.loads(CONTRACTS[name]()), json.loads(golden(name))) == []


def test_each_golden_file_is_of_something() -> None:
    """None is left of what went, none is missing."""
    assert kept_in(HERE) == set(CONTRACTS)


class _Inner(msgspec.Struct):
    word: str = ""


class _Before(msgspec.Struct):
    number: int = 0
    inner: _Inner = msgspec.field(default_factory=_Inner)
    flag: bool = True


class _Inside(msgspec.Struct):
    word: str = ""


class _Renamed(msgspec.Struct):
    number: int = 0
    inner: _Inside = msgspec.field(default_factory=_Inside)
    flag: bool = True


class _Changed(msgspec.Struct):
    count: int = 0
    inner: _Inner = msgspec.field(default_factory=_Inner)
    flag: bool = True


def test_no_field_of_an_example_has_its_default() -> None:
    """Also one that is true, and those of what is inside."""
    example = example_of(_Before)
    assert example.number
    assert example.inner.word
    assert not example.flag


def test_names_of_classes_make_no_shape_and_names_of_fields_do() -> None:
    """A class may be renamed, with all that it holds; a field may not."""
    assert shapes_of([_Before]) == shapes_of([_Renamed])
    assert shapes_of([_Before]) != shapes_of([_Changed])


def _differences(now: Any, before: Any, at: str = "") -> list[str]:
    """Say what came and what went, and where."""
    if isinstance(now, dict) and isinstance(before, dict):
        return [
            line
            for key in sorted(now.keys() | before.keys())
            for line in _differences(now.get(key), before.get(key), f"{at}.{key}")
        ]
    if isinstance(now, list) and isinstance(before, list):
        news, olds = ([json.dumps(each) for each in some] for some in (now, before))
        known, left = set(olds), set(news)
        came = [f"{at}: + {each}" for each in news if each not in known]
        went = [f"{at}: - {each}" for each in olds if each not in left]
        moved = [f"{at}: another order"] if news != olds and not came and not went else []
        return came + went + moved
    return [] if now == before else [f"{at}: {before!r} became {now!r}"]
