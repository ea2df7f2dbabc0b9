"""How well behaviour is told apart in a synthetic year: alerts, precision, recall."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from audit.behaviour.cluster_habits import WARM_S, ClusterHabits
from core.risk.model import Behaviour
from tests.harness.worlds.year.acts import START, Year
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
