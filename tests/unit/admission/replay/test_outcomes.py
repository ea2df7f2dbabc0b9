"""What becomes of a recorded review under another bundle, all else as it was."""

from typing import Any

import msgspec
import pytest

from admission.replay.evaluation import BundleAnswer
from admission.replay.outcomes import (
    Effect,
    ReplayBase,
    ReplayEnd,
    ReplayOutcome,
    UnknownReason,
    compare_outcomes,
    replay_decision,
)
from core.decision.decision import Action, Finding, Need, Verdict
from core.decision.document import (
    AccessAnswer,
    Asked,
    DecisionDocument,
    Isolated,
    Revisions,
    TriedProfile,
)
from kube.cluster.folder import FolderCluster, read_profiles
from policies import SHIPPED_PROFILES

ALICE = "user:2bd806c97f0e00af"
PROFILES = FolderCluster(None, shipped=read_profiles([SHIPPED_PROFILES])).profiles()
GROUND = ReplayBase(PROFILES, "base")
NETWORK = "host/network"
PULLS = "image/from/docker.io/library"
NEEDS = {PULLS: (1, "privileges/image/registry")}
SITE = "rules/acme/labels"


def need(privilege: str) -> Need:
    """Return a need."""
    return Need(f"privileges/{privilege.rpartition('/')[0]}", privilege, "spec")


def finding(rule: str, action: Action = Action.DENY, privilege: str | None = None) -> Finding:
    """Return a finding."""
    return Finding(rule, action, "spec", "is wrong", "Mend it.", privilege)


def document(**more: Any) -> DecisionDocument:
    """Return the record of a Pod that was admitted by pss-restricted."""
    fields: dict[str, Any] = {
        "format": 1,
        "id": "01a1fdfa-4600-741a-844b-d5e85b7c5f0f",
        "time": "2026-11-21T12:00:00.000Z",
        "cluster": "c1",
        "source": "validate",
        "request": Asked(uid="u", operation="CREATE", kind="Pod", version="v1", namespace="train"),
        "requester": ALICE,
        "subjects": [ALICE],
        "verdict": Verdict.ALLOW,
        "allowed": True,
        "profile": "pss-restricted",
        "needs": [need(each) for each in NEEDS],
        "tried": [TriedProfile(profile="pss-restricted", usable=True)],
        "access_reviews": [answer("pss-restricted", allowed=True)],
        "revisions": Revisions(policy="base"),
    }
    return DecisionDocument(**fields | more)


def answer(profile: str, *, allowed: bool) -> AccessAnswer:
    """Return what an access review answered."""
    return AccessAnswer(subject=ALICE, profile=profile, namespace="train", allowed=allowed)


def said(*more: str, **fields: Any) -> BundleAnswer:
    """Return what a bundle says: that the Pod needs what every Pod does, and more."""
    needs = NEEDS | {each: (1, need(each).rule) for each in more}
    return BundleAnswer(needs=needs, **fields)


def end(
    made: DecisionDocument, candidate: BundleAnswer, base: BundleAnswer | None = None
) -> ReplayOutcome | UnknownReason:
    """Return what becomes of it."""
    return replay_decision(made, candidate, base or said(), GROUND)


REFUSED = said(site_denied=frozenset({SITE}))


def test_what_a_rule_denies_is_refused_where_it_is_enforced() -> None:
    """And warned of elsewhere; an emergency lets it in."""
    assert end(document(), REFUSED) == ReplayOutcome(ReplayEnd.REFUSED, frozenset({SITE}))
    warns = end(document(mode="warn", if_enforced="admitted"), REFUSED)
    assert warns == ReplayOutcome(ReplayEnd.WARNED, frozenset({SITE}))
    broken = end(document(break_glass=["now@u"]), REFUSED)
    assert broken == ReplayOutcome(ReplayEnd.WARNED, frozenset({SITE}))


def test_what_other_checks_said_stays() -> None:
    """Egress, risk and weights are none of a bundle's business."""
    made = document(
        verdict=Verdict.DENY, allowed=False, findings=[finding("identity/risk"), finding(SITE)]
    )
    assert end(made, said()) == ReplayOutcome(ReplayEnd.REFUSED, frozenset({"identity/risk"}))


def test_an_exception_that_was_used_still_excuses() -> None:
    """The base denies it and the record does not say so: that was excused."""
    made = document(exceptions=["labels@u"])
    assert end(made, REFUSED, base=REFUSED) == ReplayOutcome(ReplayEnd.ADMITTED)
    other = replay_decision(made, REFUSED, REFUSED, ReplayBase(PROFILES, "another"))
    assert other is UnknownReason.EXCUSED


def test_more_needs_are_judged_by_the_rights_of_then() -> None:
    """A profile that covers them is enough where its right was asked and given."""
    more = said(NETWORK)
    allowed = document(access_reviews=[answer("pss-privileged", allowed=True)])
    assert end(allowed, more) == ReplayOutcome(ReplayEnd.ADMITTED)
    refused = document(
        access_reviews=[
            *(answer(each.name, allowed=False) for each in PROFILES.ordered),
            answer("pss-restricted", allowed=True),
        ]
    )
    assert end(refused, more) == ReplayOutcome(ReplayEnd.REFUSED, frozenset({"privileges/host"}))
    assert end(document(), more) is UnknownReason.RIGHTS


def test_fewer_needs_are_admitted_by_a_profile_of_then() -> None:
    """Of what was refused for a privilege that the candidate does not find."""
    made = document(
        verdict=Verdict.DENY,
        allowed=False,
        profile=None,
        needs=[need(PULLS), need(NETWORK)],
        findings=[finding("privileges/host", privilege=NETWORK)],
    )
    base, candidate = said(NETWORK), said()
    was, becomes = (end(made, each, base=base) for each in (base, candidate))
    assert isinstance(was, ReplayOutcome)
    assert isinstance(becomes, ReplayOutcome)
    assert compare_outcomes(was, becomes) == {Effect.NEWLY_ADMITTED: frozenset({"privileges/host"})}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"verdict": Verdict.ERROR, "error_kind": "deadline"}, UnknownReason.NOT_JUDGED),
        ({"more_needs": 3}, UnknownReason.CUT),
        ({"more_access_reviews": 3}, UnknownReason.CUT),
        ({"tried": [TriedProfile(profile="ours")]}, UnknownReason.PROFILES),
    ],
)
def test_what_cannot_be_known_is_said(change: dict[str, Any], why: UnknownReason) -> None:
    """Never taken for an admission."""
    assert end(document(**change), said(NETWORK)) is why


def test_needs_of_another_bundle_in_a_template_are_not_known() -> None:
    """A template may leave open what it needs, and only the bundle of then shows where."""
    asked = msgspec.structs.replace(document().request, kind="Job", group="batch")
    made = document(request=asked, revisions=Revisions(policy="older"))
    assert end(made, said(NETWORK)) is UnknownReason.PARTIAL
    assert end(made, said()) == ReplayOutcome(ReplayEnd.ADMITTED)


def test_what_a_template_leaves_open_does_not_count() -> None:
    """The bundle of then found it too, and it did not count."""
    assert end(document(), said(NETWORK), base=said(NETWORK)) == ReplayOutcome(ReplayEnd.ADMITTED)


def test_a_ceiling_still_holds() -> None:
    """No right exceeds it, whatever was asked."""
    made = document(
        ceiling=["pss-restricted"], access_reviews=[answer("pss-privileged", allowed=True)]
    )
    assert end(made, said(NETWORK)) == ReplayOutcome(
        ReplayEnd.REFUSED, frozenset({"privileges/host"})
    )


def test_a_score_that_reaches_the_threshold_sandboxes() -> None:
    """What the signals of both bundles differ by is added to the score of then."""
    made = document(isolation=Isolated(mode="by-risk", score=30, threshold=50))
    was, becomes = (
        end(made, said(score=10), said(score=10)),
        end(made, said(score=30), said(score=10)),
    )
    assert isinstance(was, ReplayOutcome)
    assert isinstance(becomes, ReplayOutcome)
    assert compare_outcomes(was, becomes) == {Effect.NEWLY_SANDBOXED: frozenset()}


def test_what_is_not_enforced_is_told_apart() -> None:
    """Nothing is refused there, and would be if it enforced."""
    made = document(mode="audit", if_enforced="admitted")
    was, becomes = end(made, said()), end(made, REFUSED)
    assert isinstance(was, ReplayOutcome)
    assert isinstance(becomes, ReplayOutcome)
    assert compare_outcomes(was, becomes) == {Effect.WOULD_REFUSE: frozenset({SITE})}


def test_warnings_come_and_go() -> None:
    """By rule."""
    was = ReplayOutcome(ReplayEnd.WARNED, warning=frozenset({"rules/a/a"}))
    becomes = ReplayOutcome(ReplayEnd.WARNED, warning=frozenset({"rules/a/b"}))
    assert compare_outcomes(was, becomes) == {
        Effect.NEWLY_WARNED: frozenset({"rules/a/b"}),
        Effect.NO_LONGER_WARNED: frozenset({"rules/a/a"}),
    }
