"""How well behaviour is told apart in a synthetic year with planted attacks.

The constants of `audit.behaviour` were chosen on years of the seeds 1 to 3; none of those is
reported or asserted here.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from audit.behaviour.cluster_habits import WARM_S, ClusterHabits
from core.risk.model import Behaviour
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import read_bundle
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.year.acts import START, Scale, Year
from tests.harness.worlds.year.attacks import KINDS, Attack


@dataclass
class Score:
    """What came of a year. An alert is a behaviour of an identity that begins to count."""

    people: int
    days: float
    """On which something could be told: after the warm-up."""
    attacks_each: int
    acts: int = 0
    seconds: float = 0.0
    """Of CPU, spent on learning."""
    true: Counter[Behaviour] = field(default_factory=Counter)
    false: Counter[Behaviour] = field(default_factory=Counter)
    found: Mapping[str, dict[Behaviour, set[str]]] = field(
        default_factory=lambda: {kind: defaultdict(set) for kind in KINDS}
    )
    """By kind of attack and behaviour, who was found."""
    most: dict[tuple[str, str], int] = field(default_factory=dict)
    """By attack, the most points that counted at one time."""
    isolated: Counter[int] = field(default_factory=Counter)
    """By points: days of identities (people) on which as many counted, with no attack."""

    @property
    def alerts_a_day(self) -> float:
        """False alerts a day, for 2,000 people."""
        return self.false.total() / self.days / self.people * 2000

    def precision(self, behaviour: Behaviour) -> float:
        """Of the alerts of a behaviour, the share that attacks raised."""
        total = self.true[behaviour] + self.false[behaviour]
        return self.true[behaviour] / total if total else 1.0

    def recall(self, kind: str, behaviour: Behaviour | None = None) -> float:
        """Of the attacks of a kind, the share that raised the behaviour, or any."""
        by = self.found[kind]
        who = by[behaviour] if behaviour else set().union(*by.values())
        return len(who) / self.attacks_each

    def reach(self, kind: str, points: int) -> float:
        """Of the attacks of a kind, the share in which so many points counted at one time."""
        most = [found for (one, _), found in self.most.items() if one == kind]
        return sum(found >= points for found in most) / self.attacks_each


def score(year: Year, points: Mapping[Behaviour, int]) -> Score:
    """Learn a year, and compare what counted with what was planted."""
    habits = ClusterHabits(b"salt")
    scale = year.scale
    result = Score(scale.people, scale.days - WARM_S / 86_400, scale.attacks)
    counting: dict[bytes, dict[Behaviour, float]] = defaultdict(dict)
    days: dict[tuple[bytes, int], int] = {}
    for act, attack in year.acts():
        began = time.thread_time()
        fresh = habits.learn(act, act.at)
        result.seconds += time.thread_time() - began
        result.acts += 1
        if not fresh:
            continue
        signals = counting[act.who]
        signals.update(_until(habits, act.who))
        together = sum(points[each] for each, until in signals.items() if until > act.at)
        _count(result, attack, fresh, together)
        if attack is None and not act.is_machine:
            day = (act.who, int((act.at - START) // 86_400))
            days[day] = max(days.get(day, 0), together)
    result.isolated.update(days.values())
    return result


def _until(habits: ClusterHabits, who: bytes) -> Mapping[Behaviour, float]:
    return habits.acting.of(who)


def _count(result: Score, attack: Attack | None, fresh: Behaviour, together: int) -> None:
    for each in Behaviour:
        if each not in fresh:
            continue
        if attack is None:
            result.false[each] += 1
        else:
            result.true[each] += 1
            result.found[attack.kind][each].add(attack.who)
    if attack is not None:
        key = (attack.kind, attack.who)
        result.most[key] = max(result.most.get(key, 0), together)


SEED = size(ci=11, proof=101)
ALERTS_A_DAY = 250.0
"""For 2,000 people. In a short year more of them still are new to the cluster."""

RECALL = {
    "stolen session at night": 0.5,
    "insider in other namespaces": 0.6,
    "copying out by exec": 0.6,
    "probing for rights": 0.5,
    "mining": 0.8,
    "wider profile": 0.6,
    "identity made for it": 0.9,
    "copying slowly": 0.0,
    "slow mimic": 0.0,
}
"""By kind of attack, the least share that raises anything; the last two know what is counted."""


def points() -> dict[Behaviour, int]:
    """Return the points of each behaviour in the built-in policies."""
    rules = read_bundle(BUILT_IN_BUNDLE).rules
    return {
        each: rules[f"sandbox/behaviour/{each.words[0].replace('-', '_')}"].points
        for each in Behaviour
    }


@pytest.fixture(scope="module")
def scored() -> Score:
    """A year of 100 people and 60 days; in proofs, of 2,000 and 365."""
    scale = Scale(
        people=size(100, 2000),
        days=size(75, 365),
        attacks=size(5, 40),
        first_attack=size(42, 45),
    )
    return score(Year(SEED, scale), points())


@pytest.mark.proof
def test_a_year_is_told_apart_as_well_as_is_said(scored: Score) -> None:
    """Each kind of attack but the slow mimic raises something, and false alerts stay few."""
    if PROOF:
        record("behaviour", evidence(scored))
    assert scored.alerts_a_day < ALERTS_A_DAY
    for kind, least in RECALL.items():
        assert scored.recall(kind) >= least, kind
    assert scored.acts > size(10_000, 8_000_000)


def test_no_behaviour_isolates_alone_and_the_rarest_two_do() -> None:
    """Modest points: below the threshold of 50 each; the two that are rarest together reach it."""
    of = points()
    assert max(of.values()) < 50
    assert of[Behaviour.EXEC_BURST] + of[Behaviour.DENIALS] >= 50
    frequent = (Behaviour.NEW_NAMESPACE, Behaviour.NEW_PROFILE, Behaviour.UNUSUAL_HOUR)
    assert sum(of[each] for each in frequent) < 50


def test_a_year_is_the_same_again_for_its_seed_and_in_order() -> None:
    """What is reported can be made again; attacks are in it."""
    scale = Scale(people=30, days=70, attacks=1, first_attack=42)
    first, again, other = (list(Year(seed, scale).acts()) for seed in (7, 7, 8))
    told = [
        [(act.at, act.who, attack and attack.kind) for act, attack in year]
        for year in (first, again, other)
    ]
    assert told[0] == told[1] != told[2]
    assert [at for at, _, _ in told[0]] == sorted(at for at, _, _ in told[0])
    assert {kind for _, _, kind in told[0]} == {*KINDS, None}


def evidence(scored: Score) -> Iterator[str]:
    """Yield the lines of the evidence."""
    yield f"- Year of seed {SEED}: {scored.people:,} people, 365 days, {scored.acts:,} acts;"
    yield f"  {scored.attacks_each} attacks of each of {len(KINDS)} kinds, each on another identity"
    yield f"- Learning: {scored.seconds / scored.acts * 1e6:.1f} µs of CPU an act"
    yield f"- False alerts a day, for 2,000 people: {scored.alerts_a_day:.1f}. An alert is a"
    yield "  behaviour of an identity that begins to count; pipelines' are among them"
    yield ""
    yield "Attacks are some hundred times as frequent here as in life, so precision in life is"
    yield "lower: what does not depend on that are false alerts a day and recall."
    yield ""
    yield "| Behaviour | Points | Of attacks | False | False a day | Precision |"
    yield "| --- | --- | --- | --- | --- | --- |"
    of = points()
    for each in Behaviour:
        false = scored.false[each]
        a_day = false / scored.days / scored.people * 2000
        yield (
            f"| {each.words[0]} | {of[each]} | {scored.true[each]} | {false:,} | {a_day:.2f} | "
            f"{scored.precision(each):.3f} |"
        )
    yield ""
    yield "| Attack | Raised anything | by | 25 points | 40 points | 50 points |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for kind in KINDS:
        shares = {each: scored.recall(kind, each) for each in Behaviour}
        by = ", ".join(f"{each.words[0]} {share:.2f}" for each, share in shares.items() if share)
        reached = " | ".join(f"{scored.reach(kind, number):.2f}" for number in (25, 40, 50))
        yield f"| {kind} | {scored.recall(kind):.2f} | {by or '–'} | {reached} |"
    yield ""
    yield "Days of people on which as many points counted at one time, with no attack:"
    yield ""
    yield "| Points | Days | a day, for 2,000 people |"
    yield "| --- | --- | --- |"
    for number, days in sorted(scored.isolated.items()):
        yield f"| {number} | {days:,} | {days / scored.days / scored.people * 2000:.2f} |"
