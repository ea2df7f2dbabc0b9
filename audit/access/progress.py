"""What people's statements about findings come to: state, owner, notes. Pure.

The ledger has each statement as `control` recorded it, with the marks of who made it, which the
gate took from the request. Here it is decided which count:

- A finding's subject, its principal or a human behind it, changes neither its state nor its owner:
  their notes are kept, and what they asked for is told.
- A high or critical finding is closed (a false alarm, or accepted until a time) once two people
  say the same of it, with no other state said between. It is accepted until the earlier time.
- Whatever is said, no detection sees it: what happens next is a finding of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from core.base.times import milliseconds_of
from core.people.two_person import PEOPLE_NEEDED, Person, join_people
from core.weights.audit_statements import KIND, SELF, FindingState, StatementSpec
from core.weights.documents.events import Finding, Severity
from core.weights.documents.object_change import ObjectChange

TWO_PEOPLE: Final = frozenset({Severity.HIGH, Severity.CRITICAL})
"""Findings so grave are closed by two people."""

MOST_STATEMENTS: Final = 100
"""Of one finding that are looked at, the last ones."""

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
    waiting: str = ""
    """What one person has asked for that takes a second one; empty where nothing."""
    statements: list[StatementMade] = []
    """The oldest first."""
    more_statements: int = 0
    """Earlier ones that are not looked at."""

    @property
    def is_closed(self) -> bool:
        """Whether nobody need look at it any more."""
        return self.state in {FindingState.FALSE_ALARM.value, FindingState.ACCEPTED.value}


UNTOUCHED: Final = FindingProgress()
"""That of a finding of which nobody has said anything."""


class SignedOff(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Those who have signed a report off."""

    report: str
    """Its digest."""
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
        """The marks of who made it."""
        return frozenset(self.change.by)


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


@dataclass
class Statements:
    """All statements of one cluster, by what they are about."""

    _of_findings: dict[str, list[Statement]] = field(default_factory=dict)
    _of_reports: dict[str, list[Statement]] = field(default_factory=dict)

    def add(self, change: ObjectChange) -> None:
        """Take a change, in the order of the ledger; what is no statement is left out."""
        made = read_statement(change)
        if made is None:
            return
        if made.spec.finding is not None:
            key = f"{change.cluster} {made.spec.finding}"
            self._of_findings.setdefault(key, []).append(made)
        elif made.spec.report is not None:
            self._of_reports.setdefault(made.spec.report, []).append(made)

    def of_finding(self, finding: Finding, now_ms: int) -> FindingProgress:
        """Return how far people are with a finding at a time, in Unix milliseconds."""
        made = self._of_findings.get(f"{finding.cluster} {finding.id}")
        return judge_statements(finding, made, now_ms) if made else UNTOUCHED

    def signed_off(self) -> list[SignedOff]:
        """Return the reports that somebody has signed off, the latest last."""
        found = [_signed_off(report, made) for report, made in self._of_reports.items()]
        return sorted((one for one in found if one.by), key=lambda one: (one.last, one.report))


def judge_statements(finding: Finding, made: Sequence[Statement], now_ms: int) -> FindingProgress:
    """Return what the statements about a finding come to at a time, in Unix milliseconds.

    Of more than MOST_STATEMENTS the last ones count: what closed it before closes it no more.
    """
    ordered = sorted(made, key=lambda one: (one.change.time, one.change.id))
    last = ordered[-MOST_STATEMENTS:]
    judge = _Judge(finding, [one.person for one in last])
    for one in last:
        judge.take(one)
    return judge.result(now_ms, len(ordered) - len(last))


def finding_subject(finding: Finding) -> Person:
    """Return all by whom a finding is: its principal and the humans behind it."""
    return frozenset({finding.who, *finding.requesters} - {""})


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
        if spec.state is None:
            self._tell(made)
        elif spec.closes and self._needs_two and not self._is_second(made):
            self._asked = made
            self._tell(made, "waits for a second person who says the same", counts=False)
        else:
            self._set(made)
            self._tell(made)

    def result(self, now_ms: int, more: int) -> FindingProgress:
        """Return what they come to."""
        state, until = self._state, self._until
        if state is FindingState.ACCEPTED and milliseconds_of(until) <= now_ms:
            state, until = FindingState.NEW, ""
        waiting = ""
        if self._asked is not None and self._asked.spec.state is not None:
            who = label_of(self._asked.person)
            word = STATE_WORDS[self._asked.spec.state]
            waiting = f"{word}, asked for by {who}: a second person must say the same"
        return FindingProgress(
            state=state.value,
            accepted_until=until,
            owner=self._owner,
            since=self._since,
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


def _signed_off(report: str, made: Sequence[Statement]) -> SignedOff:
    ordered = sorted(made, key=lambda one: (one.change.time, one.change.id))
    ordered = [one for one in ordered if one.person][-MOST_STATEMENTS:]
    groups = join_people([one.person for one in ordered])
    first: dict[int, Statement] = {}
    for one in ordered:
        place = next(at for at, group in enumerate(groups) if group >= one.person)
        first.setdefault(place, one)
    signers = list(first.values())
    return SignedOff(
        report=report,
        by=[label_of(one.person) for one in signers],
        last=signers[-1].change.time if signers else "",
        notes=[one.spec.note for one in signers if one.spec.note],
    )
