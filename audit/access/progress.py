"""What people's statements about findings come to: state, owner, notes. Pure.

The ledger has each statement as `control` recorded it, with the marks of who made it, which the
gate took from the request. Here it is decided which count:

- A finding's subject, its principal or a human behind it, changes neither its state nor its owner:
  their notes are kept, and what they asked for is told. Where a finding names object ids, nobody
  closes it of whom kube-apiserver gave none: it may be about them.
- A high or critical finding is closed (a false alarm, or accepted until a time) once two people
  say the same of it, with no other state said between. It is accepted until the earlier time.
- Whatever is said, no detection sees it: what happens next is a finding of its own.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from core.base.times import milliseconds_of
from core.people.two_person import PEOPLE_NEEDED, Person, join_people
from core.weights.audit_statements import CLOSING, KIND, SELF, FindingState, StatementSpec
from core.weights.documents.events import Finding, Severity
from core.weights.documents.object_change import ObjectChange

TWO_PEOPLE: Final = frozenset({Severity.HIGH, Severity.CRITICAL})
"""Findings so grave are closed by two people."""

MOST_STATEMENTS: Final = 20
"""Of one person on one finding that are looked at, the last ones: nobody pushes out another's."""

MOST_PEOPLE: Final = 50
"""Who say something of one finding; of more, nobody else is heard."""

STATE_WORDS: Final[Mapping[FindingState, str]] = {
    FindingState.NEW: "new",
    FindingState.INVESTIGATING: "investigating",
    FindingState.CONTAINED: "contained",
    FindingState.FALSE_ALARM: "false alarm",
    FindingState.ACCEPTED: "accepted",
}


class StatementMade(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One statement about a finding, and whether it counts."""

    time: str
    """RFC 3339, by kube-apiserver's clock."""
    by: str
    """Label of who made it; empty where nobody recorded it."""
    state: str
    """What they said of its state; empty where nothing."""
    owner: str
    note: str
    accepted_until: str
    counts: bool
    why: str
    """Why it changes nothing, or what it waits for; empty where it counts at once."""


class FindingProgress(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How far people are with a finding."""

    state: str = FindingState.NEW.value
    """new, investigating, contained, falseAlarm, accepted."""
    accepted_until: str = ""
    """RFC 3339; empty where it is not accepted."""
    owner: str = ""
    since: str = ""
    """RFC 3339: when the state was last changed; empty where nobody said anything."""
    asked: str = ""
    """The state that one person has asked for and that takes a second one; empty where none is."""
    waiting: str = ""
    """That in words."""
    statements: list[StatementMade] = []
    """The oldest first."""
    more_statements: int = 0
    """Others that are not looked at."""

    @property
    def is_closed(self) -> bool:
        """Whether nobody need look at it any more."""
        return FindingState(self.state) in CLOSING

    @property
    def deciding_note(self) -> str:
        """The note of the last statement that changed the state; empty where none did."""
        notes = [one.note for one in self.statements if one.counts and one.state]
        return notes[-1] if notes else ""


UNTOUCHED: Final = FindingProgress()
"""That of a finding of which nobody has said anything."""


class SignedOff(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Those who have signed a report off."""

    report: str
    """Its digest."""
    cluster: str
    """In which they did: people of two clusters are not counted together."""
    by: list[str]
    """Labels, each person once, the first first."""
    last: str
    """RFC 3339: when the last of them did."""
    notes: list[str]

    @property
    def is_complete(self) -> bool:
        """Whether two people have."""
        return len(self.by) >= PEOPLE_NEEDED


@dataclass(frozen=True)
class Statement:
    """A statement as the ledger has it."""

    change: ObjectChange
    spec: StatementSpec

    @property
    def person(self) -> Person:
        """The marks of who made it; ids are compared without case."""
        return frozenset(mark.lower() for mark in self.change.by)


def read_statement(change: ObjectChange) -> Statement | None:
    """Return the statement that a change recorded; None for any other change.

    A statement that cannot be read counts for nothing: a later release may have written it.
    """
    if change.kind != KIND or change.event != "there":
        return None
    try:
        return Statement(change, msgspec.convert(change.spec, StatementSpec))
    except msgspec.ValidationError:
        return None


class _Heard:
    """The statements about one thing: the last ones of each person."""

    def __init__(self) -> None:
        self._by: dict[Person, deque[Statement]] = {}
        self.left_out = 0

    def add(self, made: Statement) -> None:
        """Take a statement, in the order of the ledger."""
        if made.person not in self._by and len(self._by) >= MOST_PEOPLE:
            self.left_out += 1
            return
        said = self._by.setdefault(made.person, deque(maxlen=MOST_STATEMENTS))
        self.left_out += len(said) == MOST_STATEMENTS
        said.append(made)

    def in_order(self) -> list[Statement]:
        """Return them, the oldest first."""
        made = [one for said in self._by.values() for one in said]
        return sorted(made, key=lambda one: (one.change.time, one.change.id))


@dataclass
class Statements:
    """All statements, by cluster and by what they are about."""

    _of_findings: dict[tuple[str, str], _Heard] = field(default_factory=dict)
    _of_reports: dict[tuple[str, str], _Heard] = field(default_factory=dict)

    def add(self, change: ObjectChange) -> None:
        """Take a change, in the order of the ledger; what is no statement is left out."""
        made = read_statement(change)
        if made is None:
            return
        if made.spec.finding is not None:
            heard, about = self._of_findings, made.spec.finding
        else:
            heard, about = self._of_reports, made.spec.report or ""
        heard.setdefault((change.cluster, about), _Heard()).add(made)

    def of_finding(self, finding: Finding, now_ms: int) -> FindingProgress:
        """Return how far people are with a finding at a time, in Unix milliseconds."""
        heard = self._of_findings.get((finding.cluster, finding.id))
        if heard is None:
            return UNTOUCHED
        return judge_statements(finding, heard.in_order(), now_ms, heard.left_out)

    def signed_off(self) -> list[SignedOff]:
        """Return the reports that somebody has signed off: the complete ones first, the latest."""
        found = [
            _signed_off(cluster, report, heard.in_order())
            for (cluster, report), heard in self._of_reports.items()
        ]
        named = sorted((one for one in found if one.by), key=lambda one: (one.cluster, one.report))
        named.sort(key=lambda one: one.last, reverse=True)
        return sorted(named, key=lambda one: not one.is_complete)


def judge_statements(
    finding: Finding, made: Sequence[Statement], now_ms: int, left_out: int = 0
) -> FindingProgress:
    """Return what the statements about a finding, the oldest first, come to at a time.

    `now_ms` are Unix milliseconds; `left_out` statements are not among them.
    """
    judge = _Judge(finding, [one.person for one in made])
    for one in made:
        judge.take(one)
    return judge.result(now_ms, left_out)


def finding_subject(finding: Finding) -> Person:
    """Return whom a finding is about: its principal and the humans behind it, in lower case."""
    return frozenset(mark.lower() for mark in (finding.who, *finding.requesters) if mark)


def label_of(person: Iterable[str]) -> str:
    """Return what a person is called: the object id where there is one."""
    return min(person, key=lambda mark: (not mark.startswith("oid:"), mark), default="")


class _Judge:
    """Takes the statements about a finding one by one."""

    def __init__(self, finding: Finding, makers: Sequence[Person]) -> None:
        subject = finding_subject(finding)
        self._people = join_people([one for one in makers if one] + ([subject] if subject else []))
        self._subject = subject
        self._needs_two = finding.severity in TWO_PEOPLE
        self._state, self._until, self._since, self._owner = FindingState.NEW, "", "", ""
        self._asked: Statement | None = None
        self._told: list[StatementMade] = []

    def take(self, made: Statement) -> None:
        """Take the next statement."""
        why = self._why_not(made)
        if why:
            self._tell(made, why, counts=False)
            return
        spec = made.spec
        if spec.owner is not None:
            self._owner = label_of(made.person) if spec.owner == SELF else spec.owner
        if spec.state is None or spec.state is self._state is FindingState.FALSE_ALARM:
            self._tell(made)
        elif spec.closes and self._needs_two and not self._is_second(made):
            self._asked = made
            self._tell(made, "waits for a second person who says the same", counts=False)
        else:
            self._set(made)
            self._tell(made)

    def result(self, now_ms: int, more: int) -> FindingProgress:
        """Return what they come to."""
        state, until, since = self._state, self._until, self._since
        if state is FindingState.ACCEPTED and milliseconds_of(until) <= now_ms:
            state, until, since = FindingState.NEW, "", until
        asked = waiting = ""
        if self._asked is not None and self._asked.spec.state is not None:
            asked = self._asked.spec.state.value
            who = label_of(self._asked.person)
            word = STATE_WORDS[self._asked.spec.state]
            waiting = f"{word}, asked for by {who}: a second person must say the same"
        return FindingProgress(
            state=state.value,
            accepted_until=until,
            owner=self._owner,
            since=since,
            asked=asked,
            waiting=waiting,
            statements=self._told,
            more_statements=more,
        )

    def _why_not(self, made: Statement) -> str:
        """Say why a statement changes nothing; empty where it may."""
        if not made.person:
            return "nobody recorded who made it"
        asks = made.spec.state is not None or made.spec.owner is not None
        if asks and self._subject and self._same(made.person, self._subject):
            return "made by whom the finding is about: only the note is kept"
        if made.spec.closes and has_object_id(self._subject) and not has_object_id(made.person):
            return "no object id says that the finding is not about them: it closes nothing"
        return ""

    def _is_second(self, made: Statement) -> bool:
        asked = self._asked
        if asked is None or asked.spec.state is not made.spec.state:
            return False
        return not self._same(asked.person, made.person)

    def _set(self, made: Statement) -> None:
        self._until = made.spec.accepted_until or ""
        if self._asked is not None and self._is_second(made) and self._until:
            self._until = min(self._until, self._asked.spec.accepted_until or self._until)
        self._state = made.spec.state or self._state
        self._since, self._asked = made.change.time, None

    def _same(self, one: Person, other: Person) -> bool:
        return any(group >= one and group >= other for group in self._people)

    def _tell(self, made: Statement, why: str = "", *, counts: bool = True) -> None:
        spec = made.spec
        self._told.append(
            StatementMade(
                time=made.change.time,
                by=label_of(made.person),
                state=spec.state.value if spec.state else "",
                owner=spec.owner or "",
                note=spec.note or "",
                accepted_until=spec.accepted_until or "",
                counts=counts,
                why=why,
            )
        )


def has_object_id(marks: Iterable[str]) -> bool:
    """Return whether one of the marks of somebody is an object id of Entra's."""
    return any(mark.startswith("oid:") for mark in marks)


def first_of_each(people: Sequence[Person]) -> list[int]:
    """Return where each person stands for the first time; where nobody was recorded, nowhere."""
    known = join_people([one for one in people if one])
    first: dict[int, int] = {}
    for at, marks in enumerate(people):
        if marks:
            first.setdefault(next(n for n, one in enumerate(known) if one >= marks), at)
    return list(first.values())


def _signed_off(cluster: str, report: str, made: Sequence[Statement]) -> SignedOff:
    signers = [made[at] for at in first_of_each([one.person for one in made])]
    return SignedOff(
        report=report,
        cluster=cluster,
        by=[label_of(one.person) for one in signers],
        last=signers[-1].change.time if signers else "",
        notes=[one.spec.note for one in signers if one.spec.note],
    )
