"""Who is refused again and again fills nothing: what is beyond the budget is counted."""

import tracemalloc
from collections import Counter
from dataclasses import dataclass, field

import pytest

from audit.ledger.records.refusal_budget import (
    MOST_AGGREGATES,
    MOST_SHARES,
    OTHERS,
    SEAL_S,
    SHARES_IN_ALL,
    RefusalBudget,
    RefusalCount,
    Share,
)
from core.base.errors import NotRecordedError
from core.base.ids import uuid7
from core.decision.decision import Action, Decision, Finding, Verdict

N = 10
MALLORY = Share("train", "user:mallory")
ALICE = Share("train", "user:alice")


@dataclass
class World:
    """A budget, its clock, and how full the spool is."""

    now: float = 0.0
    fill: float = 0.0
    budget: RefusalBudget = field(init=False)
    sealed: list[RefusalCount] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.budget = RefusalBudget(N, lambda: self.fill, lambda: self.now)

    def refuse(self, share: Share, seen: str, *rules: str, at: int = 1000) -> bool:
        """Refuse something; say whether it has a record."""
        return self.budget.keeps(share, refusal(*rules), seen, at)

    def seal(self, *, ends: bool = False) -> list[RefusalCount]:
        """Seal what is due."""
        self.sealed = []
        self.budget.seal(self.sealed.append, ends=ends)
        return self.sealed


def refusal(*rules: str, verdict: Verdict = Verdict.DENY) -> Decision:
    """Return a refusal by these rules."""
    findings = [Finding(rule, Action.DENY, "spec", "m", "r") for rule in rules or ("r",)]
    return Decision(id=uuid7(1), verdict=verdict, allowed=False, findings=findings)


def test_the_first_of_each_minute_have_records() -> None:
    """Also where they are all alike; in the next minute again."""
    world = World()
    assert [world.refuse(MALLORY, "a") for _ in range(N + 1)] == [True] * N + [False]
    world.now += 60
    assert world.refuse(MALLORY, "a")


def test_beyond_them_each_distinct_refusal_has_one_record() -> None:
    """By its rules and its object; and of distinct ones no more than as many again."""
    world = World()
    for _ in range(N):
        world.refuse(MALLORY, "a")
    assert world.refuse(MALLORY, "b")
    assert not world.refuse(MALLORY, "b")
    assert world.refuse(MALLORY, "b", "other/rule")
    kept = [world.refuse(MALLORY, f"made up {number}") for number in range(1000)]
    assert kept.count(True) == N - 2
    assert world.refuse(ALICE, "a"), "others have their own budget"


def test_aggregates_say_how_many_of_what_and_when() -> None:
    """Those like one on record name it; others are counted by their rules."""
    world = World()
    for number in range(3 * N):
        world.refuse(MALLORY, f"o-{number}", "a/rule", at=1000 + number)
    for number in range(5):
        world.refuse(MALLORY, "o-0", "a/rule", at=2000 + number)
    assert world.seal() == []
    world.now += SEAL_S
    made = {(each.kind.rules, each.kind.projection): each for each in world.seal()}
    others, like = made[("a/rule",), ""], made[("a/rule",), "o-0"]
    assert (others.count, others.first_ms, others.last_ms, others.kept) == (N, 1020, 1029, "")
    assert (like.count, like.first_ms, like.last_ms) == (5, 2000, 2004)
    assert like.kept
    assert like.kind.share == MALLORY
    assert world.seal(ends=True) == []


def test_a_flood_of_any_names_is_bounded() -> None:
    """Records, shares, aggregates: none of them grows with the flood; nothing is lost."""
    world = World()
    sent = kept = 0
    tracemalloc.start()
    for number in range(20_000):
        share = Share(f"ns-{number % 900}", f"user:{number % 7000}")
        kept += world.refuse(share, f"o-{number}", f"rule/{number % 300}")
        sent += 1
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept <= SHARES_IN_ALL * N + MOST_SHARES + 1
    assert memory < 2_000_000, "bytes"
    assert world.budget.waiting <= MOST_AGGREGATES + 2
    counted = sum(each.count for each in world.seal(ends=True))
    assert kept + counted == sent
    assert world.budget.aggregated == counted


def test_one_share_does_not_take_all_aggregates() -> None:
    """However many rules it breaks."""
    world = World()
    for number in range(500):
        world.refuse(MALLORY, f"o-{number}", f"rule/{number}")
    for _ in range(N + 1):
        world.refuse(ALICE, "a")
    shares = Counter(each.kind.share for each in world.seal(ends=True))
    assert shares[MALLORY] <= 9
    assert shares[ALICE] == 1
    assert OTHERS not in shares


@pytest.mark.parametrize(("fill", "kept"), [(0.0, N), (0.375, N // 2), (0.49, 1), (0.5, 0)])
def test_a_spool_that_fills_is_kept_for_what_is_admitted(fill: float, kept: int) -> None:
    """The largest shares lose first: each share has less, until none has any."""
    world = World(fill=fill)
    assert sum(world.refuse(MALLORY, "a") for _ in range(100)) == kept
    assert world.refuse(ALICE, "a") == (kept > 0)


def test_what_is_not_taken_is_counted_on() -> None:
    """A spool that is nearly full, or does not take it, has it later."""
    world = World(fill=0.8)
    world.refuse(MALLORY, "a")
    world.now += SEAL_S
    assert world.seal() == []
    world.fill = 0.6

    def refuse(_: RefusalCount) -> None:
        raise NotRecordedError("full")

    world.budget.seal(refuse)
    world.refuse(MALLORY, "a")
    world.now += SEAL_S
    assert [each.count for each in world.seal()] == [2]


def test_an_error_is_never_counted_as_a_denial() -> None:
    """Nor the other way round."""
    world = World(fill=0.6)
    world.refuse(MALLORY, "a")
    world.budget.keeps(MALLORY, refusal(verdict=Verdict.ERROR), "a", 1000)
    assert {each.kind.verdict for each in world.seal(ends=True)} == {Verdict.DENY, Verdict.ERROR}
