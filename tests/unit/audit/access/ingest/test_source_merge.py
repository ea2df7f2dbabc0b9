"""Several sources come in one row; one that fails is begun anew from the ledger's places."""

import asyncio
from collections.abc import AsyncGenerator, Mapping

import pytest

from audit.access.model.batch import RecordBatch
from audit.access.sources.merger import SourceMerger
from core.base.errors import SourceError


class Made:
    """A source that gives numbers, and fails at first where it is told to."""

    def __init__(self, name: str, count: int, fails_at: int = -1) -> None:
        self.name = name
        self.count = count
        self.fails_at = fails_at

    async def stretches(self, places: Mapping[str, str]) -> AsyncGenerator[RecordBatch, None]:
        """Yield what comes after a place."""
        for number in range(int(places.get(f"{self.name}:k", "0")), self.count):
            if number == self.fails_at:
                self.fails_at = -1
                raise SourceError(f"{self.name} is away")
            yield RecordBatch(self.name, "k", str(number), str(number + 1), ())


async def taken(merging: SourceMerger, places: dict[str, str]) -> list[str]:
    """Take all in; a place is kept once its stretch is."""
    found = []
    async for stretch in merging.stretches():
        if stretch is not None:
            found.append(stretch.source)
            places[stretch.name] = stretch.end
    return found


async def test_all_that_all_bring() -> None:
    """It ends when the last has ended."""
    places: dict[str, str] = {}
    sources = [Made("a", 5), Made("b", 3)]
    found = await taken(SourceMerger(sources, lambda: at(places), idle_s=1), places)
    assert (found.count("a"), found.count("b")) == (5, 3)
    assert await taken(SourceMerger(sources, lambda: at(places), idle_s=1), places) == []


async def test_one_that_fails_is_begun_anew() -> None:
    """Nothing of it is left out, and the problem is told until it brings something again."""
    places: dict[str, str] = {}
    merging = SourceMerger(
        [Made("a", 5, 2), Made("b", 3)], lambda: at(places), again_s=0.05, idle_s=1
    )
    found = await taken(merging, places)
    assert set(found) == {"a", "b"}
    assert places == {"a:k": "5", "b:k": "3"}
    assert not merging.problems


async def test_by_hand_it_ends_with_the_first_that_fails() -> None:
    """Whoever waits for the command hears of it."""
    places: dict[str, str] = {}
    merging = SourceMerger([Made("a", 5, 2)], lambda: at(places), again_s=None, idle_s=1)
    with pytest.raises(SourceError, match="a is away"):
        await taken(merging, places)


async def test_says_when_nothing_comes() -> None:
    """None stands for a while in which nothing came."""

    class Silent:
        name = "silent"

        async def stretches(self, places: Mapping[str, str]) -> AsyncGenerator[RecordBatch, None]:
            await asyncio.sleep(30)
            yield RecordBatch(self.name, "k", "", places.get("", "1"), ())

    merging = SourceMerger([Silent()], lambda: at({}), idle_s=0.02)
    async for stretch in merging.stretches():
        assert stretch is None
        break


async def at(places: dict[str, str]) -> dict[str, str]:
    """Return a copy of the places, as the ledger does."""
    return dict(places)
