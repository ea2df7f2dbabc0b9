"""A recorded decision is judged again for another requester: its needs of then, rights of now."""

import msgspec
import pytest

from core.base.errors import DeadlineError, LedgerError
from core.decision.decision import Need, Verdict
from core.decision.document import DecisionDocument
from core.decision.request import Operation
from core.people.subject import Subject, service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.explain.test_explanations import document_of
from tests.unit.admission.world import (
    ALICE,
    BOB,
    NAMESPACE,
    Folder,
    judge_of,
    pod,
    request,
)


async def test_a_recorded_decision_is_judged_again_for_another(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """By what was recorded that it needs, and the rights of now."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    folder.grant(f"User:{BOB.username}", "net")
    cluster = folder.cluster()
    document = await document_of(cluster, engine, request(pod(hostNetwork=True)))
    judge = judge_of(cluster, engine)
    for subject, verdict in ((ALICE, Verdict.DENY), (BOB, Verdict.ALLOW)):
        _, decision = await judge.rejudge(document, subject, budget=5.0)
        assert decision.verdict is verdict


async def test_service_accounts_still_count_when_judged_again(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A workload's Pod needs its service account's right too, whoever asks."""
    folder.profile("net", 60, "host/network", includes="pss-restricted")
    folder.grant(f"User:{BOB.username}", "net")
    cluster = folder.cluster()
    made = pod(hostNetwork=True, owner=("batch/v1", "Job"))
    document = await document_of(cluster, engine, request(made, Subject("operator")))
    _, decision = await judge_of(cluster, engine).rejudge(document, BOB, budget=5.0)
    assert decision.verdict is Verdict.DENY
    assert decision.evidence.subjects == (BOB, service_account_subject("train", "default"))


async def test_a_mark_of_a_namespace_is_not_judged_again(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A Namespace has no needs on record: without them it must not pass for a Pod with none."""
    marked = {"metadata": {"name": "train", "labels": {"sallyport.dev/mode": "audit"}}}
    asked = request(marked, kind=NAMESPACE, namespace="train", name="train")
    cluster = folder.cluster()
    document = await document_of(cluster, engine, asked)
    assert document.verdict is Verdict.DENY
    with pytest.raises(LedgerError, match=r"is about a Namespace; .*: give the manifest instead$"):
        await judge_of(cluster, engine).rejudge(document, BOB, budget=5.0)


@pytest.mark.parametrize("group", ["apps", "core.example"])
async def test_only_pods_of_the_core_are_judged_again(
    engine: EmbeddedEngine, folder: Folder, group: str
) -> None:
    """Another group may have a kind Pod."""
    cluster = folder.cluster()
    document = await document_of(cluster, engine, request(pod()))
    asked = msgspec.structs.replace(document.request, group=group)
    document = msgspec.structs.replace(document, request=asked)
    with pytest.raises(LedgerError, match="give the manifest instead"):
        await judge_of(cluster, engine).rejudge(document, BOB, budget=5.0)


async def test_what_is_not_all_on_record_is_not_judged_again(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Left alone, not judged, or with more needs than are kept."""
    cluster = folder.cluster()
    left = await document_of(cluster, engine, request(pod(), operation=Operation.DELETE))
    whole = await document_of(cluster, engine, request(pod(hostNetwork=True)))
    broken = await document_of(cluster, engine, request({"spec": {"containers": 5}}))
    documents: list[DecisionDocument] = [
        left,
        broken,
        msgspec.structs.replace(whole, needs=[Need("r", "host/pid", "spec")], more_needs=1),
        msgspec.structs.replace(whole, needs=[Need("r", "volume/hostPath:rw/aaa…", "spec")]),
    ]
    for document in documents:
        with pytest.raises(LedgerError, match="does not record all that its object needs"):
            await judge_of(cluster, engine).rejudge(document, BOB, budget=5.0)


async def test_a_cluster_that_is_too_slow_is_a_deadline_error(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """One of the errors that callers know."""
    cluster = folder.cluster()
    document = await document_of(cluster, engine, request(pod()))
    judge = judge_of(Watched(cluster, delay=60), engine)
    with pytest.raises(DeadlineError, match=r"did not answer within 0\.1 s"):
        await judge.rejudge(document, BOB, budget=0.1)
