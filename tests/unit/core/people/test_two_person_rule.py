"""What needs approval counts once two people have approved it who did not write it."""

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from core.people.subject import Subject, service_account_subject
from core.people.two_person import (
    Approvable,
    ApprovalTerms,
    Approved,
    AtRisk,
    Consent,
    NotApproved,
    is_writer,
    judge_approval,
    person_of,
    read_people,
    read_person,
    why_may_not_activate,
    why_may_not_approve,
    write_people,
    write_person,
)

OID = "00000000-0000-4000-8000-00000000000"
AUTHOR = Subject("author@example.com", extra={"oid": [f"{OID}0"]})
ANN = Subject("ann@example.com", extra={"oid": [f"{OID}1"]})
BEN = Subject("ben@example.com", extra={"oid": [f"{OID}2"]})
CID = Subject("cid@example.com")
APPLICATION = Subject(f"{OID}A", extra={"oid": [f"{OID}a"]})
"""As AKS names those of Entra that have no user principal name."""
WHAT = Approvable("uid-1", "sha256:1", person_of(AUTHOR))
LATE = 1000.0


def consent(who: Subject, approval: str = "", **more: Any) -> Consent:
    """Return an approval of WHAT that lasts."""
    fields: dict[str, Any] = {"uid": "uid-1", "digest": "sha256:1", "expires": LATE} | more
    return Consent(approval=approval or who.username, approver=who, **fields)


def ask(
    *consents: Consent,
    what: Approvable = WHAT,
    holders: Collection[str] | None = None,
    now: float = 0.0,
    terms: ApprovalTerms | None = None,
) -> Approved | NotApproved:
    """Ask the rule; without `holders` all may approve still."""
    held = {each.approval for each in consents} if holders is None else holders
    return judge_approval(what, consents, held, now, terms or ApprovalTerms())


def reasons(answer: Approved | NotApproved) -> Sequence[str]:
    """Return why not."""
    assert isinstance(answer, NotApproved)
    return answer.reasons


def test_two_others_are_enough() -> None:
    """Two people who did not write it put it in force, and are named by their labels."""
    assert ask(consent(ANN), consent(BEN)) == Approved((f"oid:{OID}1", f"oid:{OID}2"))


@pytest.mark.parametrize("consents", [[], [consent(ANN)], [consent(ANN, "a"), consent(ANN, "b")]])
def test_fewer_than_two_different_people_do_not_approve(consents: list[Consent]) -> None:
    """Nobody, one person, and one person twice are too few."""
    assert isinstance(ask(*consents), NotApproved)


@pytest.mark.parametrize(
    "twin",
    [
        Subject("ANN@example.com"),
        Subject("ann@example.com", extra={"oid": [f"{OID}7"]}),
        Subject("other@example.com", extra={"oid": [f"{OID}1"]}),
    ],
    ids=["another case", "another object id", "another user name"],
)
def test_two_accounts_with_a_mark_in_common_are_one_person(twin: Subject) -> None:
    """A user name or an object id that both have makes them one."""
    assert isinstance(ask(consent(ANN), consent(twin, "b")), NotApproved)


def test_accounts_that_a_third_links_are_one_person() -> None:
    """Whoever shows a link between two accounts makes both count once."""
    linked = Subject("ann@example.com", extra={"oid": [f"{OID}2"]})
    assert isinstance(ask(consent(ANN), consent(BEN), consent(linked, "c")), NotApproved)


@pytest.mark.parametrize(
    "writer", [AUTHOR, Subject("AUTHOR@example.com"), Subject("x", extra=AUTHOR.extra)], ids=str
)
def test_the_author_counts_for_nothing(writer: Subject) -> None:
    """By whatever account: one other is not two."""
    answer = ask(consent(writer, "a"), consent(ANN))
    assert reasons(answer)[0].startswith("1 of 2")
    assert "its author or an editor" in reasons(answer)[1]


def test_an_editor_counts_for_nothing() -> None:
    """Whoever changed it later wrote it too."""
    edited = Approvable("uid-1", "sha256:1", person_of(AUTHOR), (person_of(BEN),))
    assert isinstance(ask(consent(ANN), consent(BEN), what=edited), NotApproved)
    assert isinstance(ask(consent(ANN), consent(CID), what=edited), Approved)


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (consent(BEN, digest="sha256:0"), "before it changed"),
        (consent(BEN, expires=0.0), "has expired"),
        (consent(BEN, withdrawn=True), "withdrawn"),
        (consent(service_account_subject("ns", "bot")), "service account"),
        (consent(Subject("system:admin")), "identity of the cluster"),
        (consent(Subject("dev", groups=["system:masters"])), "system:masters"),
        (consent(Subject("masterclient")), "shared account"),
        (consent(Subject("ClusterAdmin")), "shared account"),
        (consent(Subject("kubernetes-admin")), "shared account"),
        (consent(APPLICATION), "application of Entra ID"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_approval_that_does_not_count_says_why(second: Consent, why: str) -> None:
    """The other one alone is not enough, and the reason names the approver's label."""
    answer = ask(consent(ANN), second)
    assert why in reasons(answer)[1]
    assert reasons(answer)[1].startswith(second.approver.label)


def test_an_application_is_no_person() -> None:
    """However clean it is: nobody knows who holds its key. Whoever has another name is one."""
    assert "application of Entra ID" in why_may_not_approve(APPLICATION, ApprovalTerms())
    assert "application of Entra ID" in why_may_not_activate(APPLICATION, ApprovalTerms())
    for person in (ANN, Subject(f"{OID}a"), Subject(f"{OID}b", extra=APPLICATION.extra)):
        assert not why_may_not_approve(person, ApprovalTerms())
        assert not why_may_not_activate(person, ApprovalTerms())


def test_an_approval_of_another_object_is_not_looked_at() -> None:
    """An object that was deleted and created again starts from none."""
    again = Approvable("uid-2", "sha256:1", person_of(AUTHOR))
    assert reasons(ask(consent(ANN), consent(BEN), what=again)) == (
        "0 of 2 people have approved it as it is",
    )


def test_an_approval_ends_with_its_second() -> None:
    """It counts until the second that it names, and not at it."""
    both = (consent(ANN), consent(BEN))
    assert isinstance(ask(*both, now=LATE - 0.001), Approved)
    assert isinstance(ask(*both, now=LATE), NotApproved)


def test_the_right_is_asked_now() -> None:
    """Who may no longer approve does not count any more."""
    answer = ask(consent(ANN), consent(BEN), holders={ANN.username})
    assert "no longer has the right" in reasons(answer)[1]


@pytest.mark.parametrize("mark", [f"oid:{OID}2", *sorted(person_of(BEN)), BEN.label])
def test_someone_at_risk_does_not_count_until_the_risk_is_gone(mark: str) -> None:
    """By any mark, also by one that another of their accounts alone has."""
    both = (consent(ANN), consent(BEN))
    answer = ask(
        *both, terms=ApprovalTerms(at_risk=lambda marks: AtRisk() if mark in marks else None)
    )
    assert "is at risk now" in str(reasons(answer))
    assert isinstance(ask(*both, terms=ApprovalTerms(at_risk=lambda _: None)), Approved)


def test_without_an_author_nothing_is_approved() -> None:
    """What was made while no webhook recorded anything is never in force."""
    unknown = Approvable("uid-1", "sha256:1", frozenset())
    assert "nobody recorded its author" in reasons(ask(consent(ANN), consent(BEN), what=unknown))[0]


def test_shared_accounts_are_the_installations() -> None:
    """An operator's own list holds too, whatever the case."""
    terms = ApprovalTerms(shared_accounts=frozenset({"ann@example.com"}))
    assert why_may_not_approve(Subject("Ann@Example.com"), terms)
    assert not why_may_not_approve(BEN, terms)


@pytest.mark.parametrize("people", [(), (ANN,), (ANN, CID, service_account_subject("a", "b"))])
def test_people_are_read_as_they_were_written(people: tuple[Subject, ...]) -> None:
    """Annotations hold marks, never a person's name."""
    written = write_people(map(person_of, people))
    assert read_people(written) == tuple(map(person_of, people))
    assert "@" not in written
    for subject in people:
        assert read_person(write_person(person_of(subject))) == person_of(subject)


def test_writers_are_found_by_any_mark() -> None:
    """The author without the object id is the author still."""
    assert is_writer(person_of(Subject("author@example.com")), WHAT)
    assert not is_writer(person_of(ANN), WHAT)
