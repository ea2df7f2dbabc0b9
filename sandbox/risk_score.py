"""The risk score of an object: its signals, and what it may have by an exception only. Pure.

What the chosen profile grants adds nothing: most of it cannot run in a sandbox, so all that rights
allow would end refused (docs/adr/0028).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Protocol

import msgspec

from core.base.safe_text import replace_unprintable
from core.decision.decision import Need
from core.sandbox.decision import Signal, WeighedSignal

UNKNOWN_POINTS: Final = 100
"""Of a signal whose rule says nothing of points: more than any threshold that a site sets."""

_LONGEST: Final = 200
"""Characters of a reason: an image's name may be longer."""


class RiskRule(Protocol):
    """What is read of a rule's METADATA (`policies.bundle.format.Rule`)."""

    @property
    def points(self) -> int:
        """What a signal of the rule adds."""

    @property
    def message(self) -> str:
        """What it says, with `{value}` for what it speaks of."""

    def risk_of(self, privilege: str) -> int:
        """Return what a privilege of the rule adds where it is had by an exception only."""


class RiskScore(msgspec.Struct, frozen=True, gc=False):
    """What counted, the heaviest first, and the sum."""

    counted: tuple[WeighedSignal, ...] = ()
    score: int = 0


NO_RISK: Final = RiskScore()


def score_risk(
    signals: Collection[Signal],
    excused: Collection[Need],
    rules: Mapping[str, RiskRule],
    points: Mapping[str, int],
) -> RiskScore:
    """Weigh signals and excused needs by their rules; `points` are the site's own, by rule.

    Each rule counts once, at the first place that it names and with the most points there: a Pod
    of ten containers is not ten times as risky. What has no points does not count.
    """
    if not (signals or excused):
        return NO_RISK
    heaviest: dict[str, WeighedSignal] = {}
    for each in (*_of_signals(signals, rules, points), *_of_excused(excused, rules, points)):
        found = heaviest.get(each.rule)
        if each.points > (found.points if found else 0):
            heaviest[each.rule] = each
    counted = tuple(sorted(heaviest.values(), key=lambda each: (-each.points, each.rule)))
    return RiskScore(counted, sum(each.points for each in counted))


def _of_signals(
    signals: Iterable[Signal], rules: Mapping[str, RiskRule], points: Mapping[str, int]
) -> Iterator[WeighedSignal]:
    for signal in signals:
        rule = rules.get(signal.rule)
        own = rule.points if rule else UNKNOWN_POINTS
        message = rule.message if rule else "adds to its risk"
        reason = _worded(message, signal.value)
        yield WeighedSignal(signal.rule, points.get(signal.rule, own), signal.path, reason)


def _of_excused(
    excused: Iterable[Need], rules: Mapping[str, RiskRule], points: Mapping[str, int]
) -> Iterator[WeighedSignal]:
    for need in excused:
        rule = rules.get(need.rule)
        own = rule.risk_of(need.privilege) if rule else UNKNOWN_POINTS
        reason = _worded("has {value} by an exception", need.privilege)
        yield WeighedSignal(need.rule, points.get(need.rule, own), need.path, reason)


def _worded(message: str, value: str) -> str:
    return replace_unprintable(message.replace("{value}", value)[:_LONGEST], "?")
