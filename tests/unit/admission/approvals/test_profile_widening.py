"""A profile becomes wider only as two people have approved it, where the installation says so."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from core.approvals.approvals import account_of, profile_uid
from core.approvals.profile_widening import profile_digest
from core.base.names import API_VERSION
from core.decision.decision import Decision, Verdict
from core.decision.request import Kind, Operation
from core.people.subject import Subject
from core.people.two_person import ApprovalTerms
from core.profiles.container_profiles import parse_profile
from identity.subjects import Controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.approvals.test_exceptions import ANN, AUTHOR, BEN, END, NOW
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import Folder, raw, request

PROFILE = Kind("ContainerProfile", "v1alpha1", "sallyport.dev")
Make = Callable[..., Watched]


def profile(*privileges: str, uid: str = "") -> dict[str, Any]:
    """Return a profile; with a UID, as a cluster holds it."""
    metadata = {"name": "gpu", **({"uid": uid} if uid else {})}
    spec = {"rank": 1, "catalogue": 2, "privileges": list(privileges)}
    return {
        "apiVersion": API_VERSION,
        "kind": "ContainerProfile",
        "metadata": metadata,
        "spec": spec,
    }


def consent(of: dict[str, Any], who: Subject, uid: str = "") -> dict[str, Any]:
    """Return an approval of a profile as a cluster holds it."""
    name, digest = who.username.partition("@")[0], profile_digest(parse_profile(raw(of)))
    annotations = {
        "sallyport.dev/approver-account": msgspec.json.encode(account_of(who)).decode(),
        "sallyport.dev/approved-uid": profile_uid(uid),
        "sallyport.dev/approved-digest": digest,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterApproval",
        "metadata": {"name": name, "uid": f"of-{name}", "annotations": annotations},
        "spec": {
            "for": {"kind": "ContainerProfile", "name": "gpu", "digest": digest},
            "expiresAt": END,
        },
    }


@pytest.fixture
def world(folder: Folder) -> Make:
    """A cluster in which Ann and Ben may approve profiles; and more objects."""
    for who in (ANN, BEN):
        folder.grant(f"User:{who.username}", "profiles", verb="approve", resource="approvaltiers")

    def make(*items: dict[str, Any], **more: Any) -> Watched:
        folder.documents.extend(items)
        return Watched(folder.cluster(), **more)

    return make


async def decide(  # noqa: PLR0913, PLR0917
    cluster: Watched,
    engine: EmbeddedEngine,
    new: dict[str, Any],
    old: dict[str, Any] | None = None,
    now: float = NOW,
    terms: ApprovalTerms | None = None,
) -> Decision:
    """Judge the author's writing it."""
    gatherer = Gatherer(
        cluster, engine, Controllers(), terms or ApprovalTerms(profiles=True), clock=lambda: now
    )
    more: dict[str, Any] = {"operation": Operation.UPDATE, "old_object": raw(old)} if old else {}
    asked = request(new, AUTHOR, kind=PROFILE, name="gpu", namespace="")
    asked = msgspec.structs.replace(asked, **more)
    return await Judge(gatherer).validate(asked, budget=10)


async def test_nobody_is_asked_unless_the_installation_says_so(
    world: Make, engine: EmbeddedEngine
) -> None:
    """It is off by default."""
    decision = await decide(world(), engine, profile("host/network"), terms=ApprovalTerms())
    assert (decision.verdict, decision.allowed) == (Verdict.ALLOW, True)


async def test_two_who_may_still_approve_let_it_in_until_they_end(
    world: Make, engine: EmbeddedEngine
) -> None:
    """To the second; another digest, or another UID, is not what they approved."""
    wide, there = profile("host/*"), profile("host/pid", uid="u1")
    cluster = world(*(consent(wide, who, "u1") for who in (ANN, BEN)))
    assert (await decide(cluster, engine, wide, there)).verdict is Verdict.ALLOW
    for new, old, now in (
        (wide, there, NOW + 3600),
        (wide, profile("host/pid", uid="u2"), NOW),
        (wide, None, NOW),
        (profile("host/**"), there, NOW),
    ):
        decision = await decide(cluster, engine, new, old, now)
        assert decision.verdict is Verdict.DENY
        assert [finding.rule for finding in decision.findings] == ["approvals/widening"]
        assert "2 people have approved it as it is" in decision.message


async def test_an_approver_without_the_tier_counts_for_nothing(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """It is asked when the profile is written, not when it was approved."""
    wide = profile("host/*")
    folder.documents.extend(consent(wide, who) for who in (ANN, BEN))
    decision = await decide(Watched(folder.cluster()), engine, wide)
    assert "no longer has the right to approve" in decision.message


async def test_what_is_narrower_asks_nobody(world: Make, engine: EmbeddedEngine) -> None:
    """Nor where nobody could be asked."""
    cluster = world(fails=frozenset("*"))
    narrow, there = profile("host/pid"), profile("host/*", uid="u1")
    assert (await decide(cluster, engine, narrow, there)).verdict is Verdict.ALLOW


async def test_what_was_unreadable_allowed_nothing(world: Make, engine: EmbeddedEngine) -> None:
    """The profile before may be of another release: then the new one is wider in all it has."""
    there = profile("host/*", uid="u1")
    there["spec"]["more"] = json.loads("{}")
    decision = await decide(world(), engine, profile("host/pid"), there)
    assert (decision.verdict, "is new" in decision.message) == (Verdict.DENY, True)
