"""No history of an object is approved that fewer than two independent people have approved."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from core.people.subject import Subject
from core.people.two_person import (
    Approvable,
    ApprovalTerms,
    Approved,
    AtRisk,
    Consent,
    Person,
    judge_approval,
    person_of,
)

PEOPLE = 4
_OID = "00000000-0000-4000-8000-00000000000"
_LASTS = 10


def accounts(person: int) -> list[Subject]:
    """Return the accounts of one person: all have a mark in common, else nobody could know.

    Of some people it is the user name, of the others the object id.
    """
    oid = {"oid": [f"{_OID}{person}"]}
    name = f"p{person}@example.com"
    if person % 2:
        return [Subject(name, extra=oid), *(Subject(f"{n}-{name}", extra=oid) for n in "ab")]
    other = {"oid": [f"{_OID}{person + PEOPLE}"]}
    return [Subject(name, extra=oid), Subject(name.upper()), Subject(name, extra=other)]


@dataclass
class Model:
    """The object and its approvals as the cluster holds them; and, beside it, what is true."""

    uid: int = 0
    content: int = 0
    author: Person = frozenset()
    editors: tuple[Person, ...] = ()
    consents: list[Consent] = field(default_factory=list)
    writers: set[int] = field(default_factory=set)
    agreed: set[tuple[int, int, int, int]] = field(default_factory=set)
    """Person, uid, content and the time at which they agreed."""
    now: int = 0

    def create(self, person: int, account: Subject, content: int) -> None:
        """Delete it and create it again."""
        self.uid += 1
        self.content, self.author, self.editors = content, person_of(account), ()
        self.writers = {person}

    def edit(self, person: int, account: Subject, content: int) -> None:
        """Change what it says."""
        if content != self.content:
            self.editors += (person_of(account),)
            self.writers.add(person)
            self.content = content

    def approve(self, person: int, account: Subject, content: int) -> None:
        """Approve what it says now."""
        del content
        self.agreed.add((person, self.uid, self.content, self.now))
        self.consents.append(
            Consent(
                approval=str(len(self.consents)),
                approver=account,
                uid=str(self.uid),
                digest=str(self.content),
                expires=self.now + _LASTS,
            )
        )

    def wait(self, person: int, account: Subject, content: int) -> None:
        """Let time pass."""
        del person, account
        self.now += 4 * content

    def verdict(self, holders: Sequence[str], terms: ApprovalTerms) -> bool:
        """Ask the rule."""
        what = Approvable(str(self.uid), str(self.content), self.author, self.editors)
        return isinstance(judge_approval(what, self.consents, holders, self.now, terms), Approved)

    def independent(self) -> set[int]:
        """Return those who did not write it and have agreed to what it says, not too long ago."""
        return {
            person
            for person, uid, content, when in self.agreed
            if (uid, content) == (self.uid, self.content)
            and person not in self.writers
            and self.now < when + _LASTS
        }


_events = st.lists(
    st.tuples(
        st.sampled_from(["create", "edit", "approve", "approve", "approve", "wait"]),
        st.integers(0, PEOPLE - 1),
        st.integers(0, 2),
        st.integers(0, 2),
    ),
    max_size=14,
)


def _play(events: Sequence[tuple[str, int, int, int]]) -> Model:
    model = Model()
    model.create(0, accounts(0)[0], 0)
    for event, person, account, content in events:
        getattr(model, event)(person, accounts(person)[account], content)
    return model


@given(_events)
def test_fewer_than_two_independent_people_approve_nothing(
    events: list[tuple[str, int, int, int]],
) -> None:
    """Whatever is created, edited and approved, in whatever order and by whatever accounts."""
    model = _play(events)
    everyone = [each.approval for each in model.consents]
    assert not model.verdict(everyone, ApprovalTerms()) or len(model.independent()) >= 2


@given(_events, st.integers(0, PEOPLE - 1), st.data())
def test_taking_rights_and_raising_risk_never_approve(
    events: list[tuple[str, int, int, int]], person: int, data: st.DataObject
) -> None:
    """What is approved with fewer holders, or with someone at risk, is approved without."""
    model = _play(events)
    everyone = [each.approval for each in model.consents]
    some = [each for each in everyone if data.draw(st.booleans())]
    risky = person_of(accounts(person)[0])
    at_risk = ApprovalTerms(at_risk=lambda marks: AtRisk() if risky & set(marks) else None)
    for verdict in (model.verdict(some, ApprovalTerms()), model.verdict(everyone, at_risk)):
        assert not verdict or model.verdict(everyone, ApprovalTerms())


@given(_events)
def test_two_independent_people_by_their_first_accounts_approve(
    events: list[tuple[str, int, int, int]],
) -> None:
    """The rule is not only strict: whoever has one account and has agreed is counted."""
    model = _play([(event, person, 0, content) for event, person, _, content in events])
    everyone = [each.approval for each in model.consents]
    assert model.verdict(everyone, ApprovalTerms()) is (len(model.independent()) >= 2)
