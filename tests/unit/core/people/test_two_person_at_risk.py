"""Whoever is at risk approves nothing, opens nothing, and what they wrote can be suspended.

The times are those of an attack: a session is stolen, approvals are given with it, and Entra finds
out up to 48 hours later.
"""

import pytest

from core.people.subject import Subject
from core.people.two_person import (
    Approvable,
    ApprovalTerms,
    Approved,
    AtRisk,
    Consent,
    NotApproved,
    Person,
    RiskOf,
    judge_approval,
    person_of,
    stays_open,
    why_may_not_activate,
    why_may_not_approve,
    why_suspended,
)

AUTHOR = Subject("author@example.com")
ANN = Subject("ann@example.com", extra={"oid": ["6e4b8f0a-1c2d-4e5f-8a9b-0c1d2e3f4a5b"]})
BEN = Subject("ben@example.com")
ADMIN = Subject("masterclient", groups=["system:masters"])
NOW = 1_790_000_000.0
HOUR = 3600.0


def of(*people: Subject, sure_before: float = 0.0) -> RiskOf:
    """Say that these people are at risk."""
    risky: Person = frozenset().union(*(person_of(each) for each in people))
    return lambda marks: AtRisk(sure_before) if risky & set(marks) else None


def is_approved(ann_gave: float, terms: ApprovalTerms, *, endures: bool) -> bool:
    """Return whether what Ann approved then, and Ben long ago, is approved."""
    what = Approvable("uid", "sha256:1", person_of(AUTHOR))
    consents = [
        Consent(each.username, each, "uid", "sha256:1", NOW + HOUR, given=given)
        for each, given in ((ANN, ann_gave), (BEN, 1.0))
    ]
    holders = {ANN.username, BEN.username}
    answer = judge_approval(what, consents, holders, NOW, terms, endures=endures)
    if isinstance(answer, NotApproved):
        assert "is at risk now: it does not count until the risk is gone" in str(answer.reasons)
    return isinstance(answer, Approved)


def test_an_approval_counts_again_once_the_risk_is_gone() -> None:
    """Whenever it was given: nothing of it is lost."""
    assert not is_approved(NOW - HOUR, ApprovalTerms(at_risk=of(ANN)), endures=False)
    assert is_approved(NOW - HOUR, ApprovalTerms(), endures=False)


SURE_BEFORE = NOW - 50 * HOUR
"""The risk arose two hours ago; what it rests on may have happened 48 hours before."""


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        (SURE_BEFORE - 30 * 24 * HOUR, True),
        (SURE_BEFORE - 1, True),
        (SURE_BEFORE, False),
        (NOW - 47 * HOUR, False),
        (NOW - HOUR, False),
        (NOW + HOUR, False),
        (0.0, False),
    ],
    ids=[
        "a month before",
        "just before what can have been stolen",
        "when it may have been stolen",
        "with the stolen session, before it was found out",
        "while the risk lasts",
        "by a clock that is ahead",
        "nobody recorded when",
    ],
)
def test_only_a_break_glass_counts_what_was_approved_long_before(
    given: float, *, counts: bool
) -> None:
    """So it opens while Entra is wrong about many; for all else a risk is a risk."""
    terms = ApprovalTerms(at_risk=of(ANN, sure_before=SURE_BEFORE))
    assert is_approved(given, terms, endures=True) is counts
    assert not is_approved(given, terms, endures=False)


def test_a_risk_of_which_nothing_is_sure_never_counts() -> None:
    """Somebody confirmed that the account is compromised, or nobody knows since when."""
    assert not is_approved(1.0, ApprovalTerms(at_risk=of(ANN)), endures=True)


def test_a_thief_cannot_hide_behind_another_account() -> None:
    """Ann approved with an account that shows no object id; by her other one she is known."""
    without_oid = Subject(ANN.username)
    oid = f"oid:{ANN.extra['oid'][0]}"
    terms = ApprovalTerms(at_risk=lambda marks: AtRisk() if oid in marks else None)
    what = Approvable("uid", "sha256:1", person_of(AUTHOR))
    consents = [
        Consent(str(number), each, "uid", "sha256:1", NOW + HOUR)
        for number, each in enumerate((without_oid, BEN, ANN))
    ]
    answer = judge_approval(what, consents, {"0", "1", "2"}, NOW, terms)
    assert isinstance(answer, NotApproved)
    assert len([each for each in answer.reasons if "is at risk now" in each]) == 2


def test_someone_at_risk_approves_and_opens_nothing() -> None:
    """A person does not; the local admin, whom Entra does not know, does."""
    terms = ApprovalTerms(at_risk=of(ANN, sure_before=NOW))
    assert "at risk" in why_may_not_approve(ANN, terms)
    assert "at risk" in why_may_not_activate(ANN, terms)
    assert not why_may_not_approve(BEN, terms)
    assert not why_may_not_activate(BEN, terms)
    assert not why_may_not_activate(ADMIN, terms)


def test_an_application_is_known_by_its_user_name() -> None:
    """Entra's applications have their object id there, and maybe nowhere else."""
    oid = "0F1E2D3C-4b5a-6978-8796-a5b4c3d2e1f0"
    at_risk = lambda marks: AtRisk() if f"oid:{oid.lower()}" in marks else None  # noqa: E731
    assert "at risk" in why_may_not_approve(Subject(oid), ApprovalTerms(at_risk=at_risk))


def test_what_a_thief_opened_closes() -> None:
    """Opened since it may be stolen: closed while the risk lasts. Opened before: it stays."""
    terms = ApprovalTerms(at_risk=of(ANN, sure_before=SURE_BEFORE))
    ann = person_of(ANN)
    assert not stays_open(ann, NOW - HOUR, terms)
    assert stays_open(ann, SURE_BEFORE - 1, terms)
    assert stays_open(person_of(BEN), NOW - HOUR, terms)
    assert stays_open(person_of(ADMIN), NOW - HOUR, terms)
    assert stays_open(ann, NOW - HOUR, ApprovalTerms())


def test_an_exception_is_suspended_only_where_that_is_set() -> None:
    """For its author or any editor; by a mark of either sort."""
    what = Approvable("uid", "d", person_of(AUTHOR), (person_of(BEN), person_of(ANN)))
    assert not why_suspended(what, ApprovalTerms(at_risk=of(AUTHOR, ANN)))
    assert "its author is at risk" in why_suspended(
        what, ApprovalTerms(at_risk=of(AUTHOR), suspends=True)
    )
    assert "one of its editors" in why_suspended(
        what, ApprovalTerms(at_risk=of(ANN), suspends=True)
    )
    assert not why_suspended(what, ApprovalTerms(at_risk=of(ADMIN), suspends=True))
