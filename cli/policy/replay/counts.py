"""Counts in what two bundles differ: what `sallyport policy replay` answers."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from admission.replay.outcomes import Effect, ReplayOutcome, compare_outcomes
from core.base.ids import uuid7_time
from core.decision.document import DecisionDocument
from core.decision.document_outlook import document_requester

FORMAT: Final = 1
"""Version of the JSON (docs/reference/policy-replay.schema.json)."""

MOST_EXAMPLES: Final = 5
MOST_TIMES: Final = 400
"""Hours that reviews are counted by; where there are more, they are counted by day."""

MOST_LISTED: Final = 50
"""Rules, namespaces and requesters that are listed of one effect; the rest is counted together."""

_DAY: Final = len("2026-11-22")
_HOUR: Final = len("2026-11-22T14")

ADVICE: Final[Mapping[Effect, str]] = {
    Effect.NEWLY_REFUSED: "Let the rule warn first (action: warn in the file of --rules), "
    "tell these requesters, or write a PolicyException for what must stay.",
    Effect.NEWLY_ADMITTED: "See that this is meant: a rule that refused it is gone, weaker, "
    "or holds in fewer namespaces.",
    Effect.WOULD_REFUSE: "Nothing is refused there now; `sallyport rollout status` shows it.",
    Effect.NEWLY_WARNED: "People see these warnings in kubectl: see that they say what to do.",
    Effect.NO_LONGER_WARNED: "See that this is meant.",
    Effect.NEWLY_SANDBOXED: "They would run in the sandbox, or be refused where they cannot: "
    "try one of each in it before.",
    Effect.NO_LONGER_SANDBOXED: "See that this is meant: they would run without the sandbox.",
    Effect.FAILED: "Mend the candidate: what its policies fail on is refused as an error.",
}


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Frozen, camelCase."""


class Of(_Part, frozen=True):
    """A bundle."""

    file: str
    """Empty for the built-in one; of one that is published, what it is called."""
    revision: str


class Count(_Part, frozen=True):
    """How many reviews, by a rule, a namespace, a requester or a time."""

    name: str
    """Empty for what lies in no namespace; `…` for all that are not listed."""
    reviews: int


class Changed(_Part, frozen=True):
    """What the candidate would change in one way."""

    effect: Effect
    reviews: int
    rules: list[Count]
    namespaces: list[Count]
    requesters: list[Count]
    """Whose requests they were, by pseudonym; of what a controller made, who asked for it."""
    examples: list[str]
    """Ids of decisions, the newest first."""
    advice: str
    times: list[Count] = []
    """By hour, the earliest first (`2026-11-22T14`, UTC); of more than 400 hours by day."""


class Left(_Part, frozen=True):
    """Reviews about which nobody can say what the candidate would do."""

    reason: str
    reviews: int
    examples: list[str]
    rule: str = ""
    """Of one rule alone: the rest of what the candidate says of them counts."""
    failure: bool = True
    """Whether they keep the answer from being whole: not so of what nobody could judge then."""


class Replayed(_Part, frozen=True):
    """What a candidate would change of what was asked for."""

    format: int
    base: Of
    base_note: str
    """Why it is the base, and what is not known of it, for a person."""
    candidate: Of
    since: str
    until: str
    namespace: str
    reviews: int
    """Recorded in that time."""
    compared: int
    beside: int
    """About what no bundle is asked."""
    distinct: int
    """Different inputs among them: each was judged once by each bundle."""
    changes: list[Changed]
    left: list[Left]
    """What could not be judged, or not wholly."""
    not_reproduced: int
    """Reviews by the base bundle itself that it would answer otherwise now: the record lacks
    something that mattered."""
    not_reproduced_examples: list[str]
    verdict: str

    def of(self, effect: Effect) -> int:
        """Return the number of reviews that have an effect."""
        return next((each.reviews for each in self.changes if each.effect is effect), 0)

    @property
    def whole(self) -> bool:
        """Whether every review that was judged could be judged again."""
        return not any(each.failure for each in self.left) and not self.not_reproduced


class _Tally:
    """Counts of one effect."""

    def __init__(self) -> None:
        self.reviews = 0
        self.by: dict[str, Counter[str]] = {
            what: Counter() for what in ("rules", "namespaces", "requesters")
        }
        self._hours: Counter[str] = Counter()
        self.examples: list[str] = []

    def add(self, decision: str, rules: Iterable[str], namespace: str, requester: str) -> None:
        """Count one review."""
        self.reviews += 1
        self._hours[uuid7_time(decision)[:_HOUR]] += 1
        self.by["rules"].update(rules)
        self.by["namespaces"][namespace] += 1
        self.by["requesters"][requester] += 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(decision)

    def times(self) -> list[Count]:
        """Return the counts by hour, or by day."""
        found = self._hours
        if len(found) > MOST_TIMES:
            found = Counter()
            for hour, count in self._hours.items():
                found[hour[:_DAY]] += count
        return [Count(name=each, reviews=found[each]) for each in sorted(found)]

    def counts(self, what: str) -> list[Count]:
        """Return the most frequent, and the rest together."""
        ordered = sorted(self.by[what].items(), key=lambda one: (-one[1], one[0]))
        rest = sum(count for _, count in ordered[MOST_LISTED:])
        listed = [Count(name=name, reviews=count) for name, count in ordered[:MOST_LISTED]]
        return [*listed, Count(name="…", reviews=rest)] if rest else listed


class Tallies:
    """Counts of all effects, and of what could not be judged."""

    def __init__(self) -> None:
        self.reviews = self.compared = self.beside = 0
        self.unlike: list[str] = []
        self.unlike_count = 0
        self._effects: dict[Effect, _Tally] = defaultdict(_Tally)
        self._left: dict[tuple[str, str, bool], _Tally] = defaultdict(_Tally)

    def compare(
        self, document: DecisionDocument, was: ReplayOutcome, becomes: ReplayOutcome
    ) -> None:
        """Count what changes for one review, of which both bundles say what becomes of it."""
        self.note(document, compare_outcomes(was, becomes))

    def note(self, document: DecisionDocument, changes: Mapping[Effect, frozenset[str]]) -> None:
        """Count what changes for one review."""
        self.compared += 1
        for effect, rules in changes.items():
            namespace = document.request.namespace
            self._effects[effect].add(document.id, rules, namespace, document_requester(document))

    def leave(self, decision: str, reason: str, rule: str = "", *, failure: bool = True) -> None:
        """Count a review that cannot be judged, or not by one rule."""
        self._left[reason, rule, failure].add(decision, (), "", "")

    def not_reproduced(self, decision: str) -> None:
        """Count one that the base bundle itself would answer otherwise."""
        self.unlike_count += 1
        if len(self.unlike) < MOST_EXAMPLES:
            self.unlike.append(decision)

    def changes(self) -> list[Changed]:
        """Return the effects that there are, in their order."""
        return [
            Changed(
                effect=effect,
                reviews=tally.reviews,
                rules=tally.counts("rules"),
                namespaces=tally.counts("namespaces"),
                requesters=tally.counts("requesters"),
                examples=tally.examples,
                advice=ADVICE[effect],
                times=tally.times(),
            )
            for effect in Effect
            if (tally := self._effects.get(effect))
        ]

    def left(self) -> list[Left]:
        """Return the reasons for leaving reviews out, the most frequent first."""
        ordered = sorted(self._left.items(), key=lambda one: (-one[1].reviews, one[0]))
        return [
            Left(
                reason=reason,
                reviews=tally.reviews,
                examples=tally.examples,
                rule=rule,
                failure=failure,
            )
            for (reason, rule, failure), tally in ordered
        ]
