"""What the record keeps of a decision: all that it was made of."""

from core.decision.decision import AccessReview, Named, ProfileAttempt, Verdict
from core.people.subject import service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    ALICE,
    PULLS,
    Folder,
    decide,
    pod,
    request,
)


async def test_an_admission_keeps_needs_and_the_answers_that_counted(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The profiles tried before the chosen one, with what they were refused for."""
    folder.profile("aaa", 50, "host/network", includes="pss-restricted")
    folder.profile("bbb", 60, "host/network", includes="pss-restricted")
    folder.grant("User:alice@example.com", "bbb")
    decision = await decide(folder.cluster(), engine, request(pod(hostNetwork=True)))
    evidence = decision.evidence
    assert decision.profile == "bbb"
    assert {need.privilege for need in evidence.needs} == {PULLS, "host/network"}
    assert evidence.tried == (
        ProfileAttempt("aaa", usable=False),
        ProfileAttempt("bbb", usable=True),
    )
    assert AccessReview(ALICE, "aaa", allowed=False) in evidence.access
    assert AccessReview(ALICE, "bbb", allowed=True) in evidence.access
    assert evidence.projection.startswith(b'{"containers"')
    assert evidence.evaluation_seconds > 0


async def test_a_refusal_keeps_what_each_profile_lacks(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Those that cover all come first, then the closest; the rest is counted."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    folder.grant("User:alice@example.com", "pss-restricted")
    decision = await decide(folder.cluster(), engine, request(pod(hostNetwork=True)))
    tried = {each.profile: each for each in decision.evidence.tried}
    assert decision.verdict is Verdict.DENY
    assert tried["net"] == ProfileAttempt("net", frozenset(), usable=False)
    assert tried["pss-restricted"] == ProfileAttempt(
        "pss-restricted", frozenset({"host/network"}), usable=True
    )


async def test_the_ceiling_and_the_named_profile_are_kept(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """They decided, so the record shows them."""
    folder.namespace("train", ceiling="pss-baseline,pss-restricted")
    folder.grant("User:alice@example.com", "pss-baseline")
    made = pod(annotations={"sallyport.dev/profile": "pss-baseline"})
    evidence = (await decide(folder.cluster(), engine, request(made))).evidence
    assert evidence.ceiling == ("pss-baseline", "pss-restricted")
    path = "metadata.annotations[sallyport.dev/profile]"
    assert evidence.named == Named("pss-baseline", path)
    assert evidence.access == (AccessReview(ALICE, "pss-baseline", allowed=True),)


async def test_a_running_pod_stands_on_its_service_account(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Nothing says who made it; whoever reads it is not asked."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    folder.grant("User:alice@example.com", "net")
    made = pod(hostNetwork=True)
    decision = await decide(folder.cluster(), engine, request(made, running=True))
    assert decision.evidence.subjects == (service_account_subject("train", "default"),)
    assert decision.verdict is Verdict.DENY


async def test_a_note_on_a_running_root_stands_for_its_makers_right(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The profile must still exist and cover it; nobody's right is asked."""
    noted = {"sallyport.dev/profile": "pss-restricted"}
    cluster = Watched(folder.cluster())
    decision = await decide(cluster, engine, request(pod(annotations=noted), running=True))
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "pss-restricted")
    assert cluster.asked == []
    worse = request(pod(annotations=noted, hostNetwork=True), running=True)
    assert (await decide(cluster, engine, worse)).verdict is Verdict.DENY


async def test_a_note_on_a_running_pod_that_is_owned_proves_nothing(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Its template's author wrote it: the service account's right is asked all the same."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    noted = {"sallyport.dev/profile": "net"}
    made = pod(annotations=noted, owner=("batch/v1", "Job"), hostNetwork=True)
    decision = await decide(folder.cluster(), engine, request(made, running=True))
    assert decision.verdict is Verdict.DENY


async def test_a_note_where_nothing_is_enforced_proves_nothing(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The gate admitted the Pod whatever its maker's right was."""
    folder.namespace("train", mode="audit").profile("net", 60, "host/network")
    made = pod(annotations={"sallyport.dev/profile": "net"})
    decision = await decide(folder.cluster(), engine, request(made, running=True))
    assert decision.verdict is Verdict.WARN
    assert decision.evidence.subjects == (service_account_subject("train", "default"),)
