"""Each approval says why it does not count; together they say until when the object is approved."""

from collections.abc import Collection

import pytest

from core.people.two_person import (
    Approvable,
    ApprovalTerms,
    Approved,
    AtRisk,
    Consent,
    ConsentLapse,
    approved_until,
    judge_approval,
    judge_consents,
    person_of,
)
from tests.unit.core.people.test_two_person_rule import ANN, APPLICATION, AUTHOR, BEN, WHAT, consent

DOUBTED = ApprovalTerms(at_risk=lambda marks: AtRisk() if person_of(BEN) & set(marks) else None)


@pytest.mark.parametrize(
    ("one", "holders", "terms", "lapse"),
    [
        (consent(ANN), {ANN.username}, ApprovalTerms(), None),
        (consent(AUTHOR), {AUTHOR.username}, ApprovalTerms(), ConsentLapse.OWN),
        (consent(ANN, digest="sha256:2"), {ANN.username}, ApprovalTerms(), ConsentLapse.CHANGED),
        (consent(ANN, withdrawn=True), {ANN.username}, ApprovalTerms(), ConsentLapse.WITHDRAWN),
        (consent(ANN, expires=10.0), {ANN.username}, ApprovalTerms(), ConsentLapse.EXPIRED),
        (
            consent(APPLICATION),
            {APPLICATION.username},
            ApprovalTerms(),
            ConsentLapse.NEVER_APPROVES,
        ),
        (consent(ANN), (), ApprovalTerms(), ConsentLapse.NO_RIGHT),
        (consent(BEN), {BEN.username}, DOUBTED, ConsentLapse.AT_RISK),
    ],
)
def test_each_approval_says_why_it_does_not_count(
    one: Consent, holders: Collection[str], terms: ApprovalTerms, lapse: ConsentLapse | None
) -> None:
    """A reason for programs, and one for people exactly where there is one."""
    (judged,) = judge_consents(WHAT, [one], holders, 10.0, terms)
    assert (judged.lapse, bool(judged.why)) == (lapse, lapse is not None)


def test_approvals_of_another_object_are_not_judged() -> None:
    """Those of an earlier object of the same name have another UID."""
    other = Consent("x", ANN, "uid-2", "sha256:1", 1000.0)
    assert judge_consents(WHAT, [other], {"x"}, 0.0, ApprovalTerms()) == ()


def test_nobody_approves_their_own_where_there_is_no_author() -> None:
    """A change that is not written yet has none: whoever writes it is compared then."""
    change = Approvable("profile:none", "sha256:1", frozenset())
    consents = [consent(each, uid="profile:none", digest="sha256:1") for each in (AUTHOR, ANN)]
    holders = {each.approval for each in consents}
    judged = judge_consents(change, consents, holders, 0.0, ApprovalTerms())
    assert [(each.lapse, each.person) for each in judged] == [(None, 0), (None, 1)]


@pytest.mark.parametrize(
    ("consents", "until"),
    [
        ([], None),
        ([consent(ANN, expires=50.0)], None),
        ([consent(ANN, expires=50.0), consent(ANN, "again", expires=90.0)], None),
        ([consent(ANN, expires=50.0), consent(BEN, expires=90.0)], 50.0),
        (
            [
                consent(ANN, expires=50.0),
                consent(ANN, "again", expires=80.0),
                consent(BEN, expires=90.0),
            ],
            80.0,
        ),
        ([consent(ANN, expires=50.0), consent(AUTHOR, expires=90.0)], None),
    ],
)
def test_it_is_approved_until_one_approval_too_many_ends(
    consents: list[Consent], until: float | None
) -> None:
    """Counted by people: the rule says the same a moment before, and no longer from then on."""
    holders = {each.approval for each in consents}
    judged = judge_consents(WHAT, consents, holders, 0.0, ApprovalTerms())
    assert approved_until(judged) == until
    for now in (0.0, (until or 0.0) - 0.1, until or 0.0):
        answer = judge_approval(WHAT, consents, holders, now, ApprovalTerms())
        assert isinstance(answer, Approved) == (until is not None and now < until)
