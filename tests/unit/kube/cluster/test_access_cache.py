"""Answers are remembered briefly, asked once, and never mixed up."""

import asyncio

import pytest

from core.base.errors import AccessReviewError
from core.people.subject import Subject
from kube.cluster.access_reviews import AccessCache, AccessQuestion


class Asker:
    """Says yes to `alice`, no to others, fails for `broken`; waits for `gate` if there is one."""

    def __init__(self) -> None:
        self.asked: list[AccessQuestion] = []
        self.gate: asyncio.Event | None = None
        self.now = 100.0

    async def ask(self, question: AccessQuestion) -> bool:
        """Answer by the user's name."""
        self.asked.append(question)
        if self.gate:
            await self.gate.wait()
        if question.subject.username == "broken":
            raise AccessReviewError("no answer")
        return question.subject.username == "alice"

    def cache(self, size: int = 100) -> AccessCache:
        """Return a cache in front of it, with its clock."""
        return AccessCache(
            self.ask, size=size, allow_age_s=10, deny_age_s=3, clock=lambda: self.now
        )


def question(user: str = "alice", name: str = "p") -> AccessQuestion:
    """Return a question."""
    return AccessQuestion(Subject(user), "use", "containerprofiles", name, "ns")


@pytest.mark.parametrize(("user", "age"), [("alice", 10.0), ("bob", 3.0)])
async def test_an_answer_is_kept_for_its_age(user: str, age: float) -> None:
    """A yes for allow_age_s, a no for deny_age_s, each from when it was asked."""
    asker = Asker()
    cache = asker.cache()
    await cache.allowed(question(user))
    asker.now += age - 0.01
    await cache.allowed(question(user))
    assert len(asker.asked) == 1
    asker.now += 0.01
    await cache.allowed(question(user))
    assert len(asker.asked) == 2
    assert (cache.hits, cache.misses, cache.errors) == (1, 2, 0)


async def test_the_age_counts_from_the_question_not_from_the_answer() -> None:
    """An answer that took long may be that old already."""
    asker = Asker()
    asker.gate = asyncio.Event()
    cache = asker.cache()
    waiting = asyncio.create_task(cache.allowed(question()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asker.now += 9
    asker.gate.set()
    assert await waiting
    asker.now += 1
    await cache.allowed(question())
    assert len(asker.asked) == 2


async def test_an_error_is_never_remembered() -> None:
    """Everyone who waits gets the error; the next one asks anew."""
    asker = Asker()
    cache = asker.cache()
    for count in (1, 2):
        with pytest.raises(AccessReviewError):
            await cache.allowed(question("broken"))
        assert len(asker.asked) == count
    assert (cache.errors, len(cache)) == (2, 0)


async def test_a_gang_asks_once() -> None:
    """A thousand identical questions at the same time are one request."""
    asker = Asker()
    asker.gate = asyncio.Event()
    cache = asker.cache()
    waiting = [asyncio.create_task(cache.allowed(question())) for _ in range(1000)]
    await asyncio.sleep(0.01)
    asker.gate.set()
    assert all(await asyncio.gather(*waiting))
    assert (len(asker.asked), cache.misses, cache.hits) == (1, 1, 999)


async def test_one_who_gives_up_stops_nobody_else() -> None:
    """The first waiter's cancellation, and even all waiters', leaves the question under way."""
    asker = Asker()
    asker.gate = asyncio.Event()
    cache = asker.cache()
    first, second = (asyncio.create_task(cache.allowed(question())) for _ in range(2))
    await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.sleep(0.01)
    assert first.cancelled()
    asker.gate.set()
    assert await second
    assert len(asker.asked) == 1


async def test_an_error_that_nobody_waits_for_is_counted_and_not_loose() -> None:
    """No one must hear of an exception that was never retrieved."""
    asker = Asker()
    asker.gate = asyncio.Event()
    cache = asker.cache()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await cache.allowed(question("broken"))
    asker.gate.set()
    await asyncio.sleep(0.01)
    assert cache.errors == 1


async def test_the_least_recently_used_answer_goes() -> None:
    """The size is bounded; what is used stays."""
    asker = Asker()
    cache = asker.cache(size=2)
    await cache.allowed(question(name="a"))
    await cache.allowed(question(name="b"))
    await cache.allowed(question(name="a"))
    await cache.allowed(question(name="c"))
    assert len(cache) == 2
    await cache.allowed(question(name="a"))
    assert [one.name for one in asker.asked] == ["a", "b", "c"]
    await cache.allowed(question(name="b"))
    assert [one.name for one in asker.asked] == ["a", "b", "c", "b"]


def test_everything_that_matters_is_in_the_key() -> None:
    """Any difference in the question is another key; the order of groups is none."""
    subject = Subject("u", "1", ["a", "b"], {"k": ["v"]})
    base = AccessQuestion(subject, "use", "r", "n", "ns")
    others = [
        AccessQuestion(Subject("v", "1", ["a", "b"], {"k": ["v"]}), "use", "r", "n", "ns"),
        AccessQuestion(Subject("u", "2", ["a", "b"], {"k": ["v"]}), "use", "r", "n", "ns"),
        AccessQuestion(Subject("u", "1", ["a"], {"k": ["v"]}), "use", "r", "n", "ns"),
        AccessQuestion(Subject("u", "1", ["ab"], {"k": ["v"]}), "use", "r", "n", "ns"),
        AccessQuestion(Subject("u", "1", ["a", "b"], {"k": ["w"]}), "use", "r", "n", "ns"),
        AccessQuestion(Subject("u", "1", ["a", "b"], {"l": ["v"]}), "use", "r", "n", "ns"),
        AccessQuestion(Subject("u", "1", ["a", "b"]), "use", "r", "n", "ns"),
        AccessQuestion(subject, "exempt", "r", "n", "ns"),
        AccessQuestion(subject, "use", "s", "n", "ns"),
        AccessQuestion(subject, "use", "r", "m", "ns"),
        AccessQuestion(subject, "use", "r", "n", ""),
        AccessQuestion(subject, "use", "rn", "", "ns"),
    ]
    assert len({base.key, *(other.key for other in others)}) == len(others) + 1
    same = Subject("u", "1", ["b", "a", "b"], {"k": ["v"]})
    assert AccessQuestion(same, "use", "r", "n", "ns").key == base.key


async def test_close_leaves_nothing_running() -> None:
    """Questions under way are stopped."""
    asker = Asker()
    asker.gate = asyncio.Event()
    cache = asker.cache()
    waiting = asyncio.create_task(cache.allowed(question()))
    await asyncio.sleep(0.01)
    await cache.close()
    assert (await asyncio.gather(waiting, return_exceptions=True))[0]
    assert asyncio.all_tasks() == {asyncio.current_task()}
