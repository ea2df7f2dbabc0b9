"""Where a Pod that a controller makes comes from, and what follows."""

from typing import Any, Final

import pytest

from admission.requester.facts import MOST_HOPS
from core.decision.decision import Decision, TraceOutcome, Verdict
from core.decision.request import Phase, Request
from core.people.subject import Subject, service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    ALICE,
    BOB,
    Folder,
    judge_of,
    pod,
    request,
    rules,
)

JOBS: Final = service_account_subject("kube-system", "job-controller")
SETS: Final = service_account_subject("kube-system", "replicaset-controller")
CRONS: Final = service_account_subject("kube-system", "cronjob-controller")
STATEFUL: Final = service_account_subject("kube-system", "statefulset-controller")

NOTES: Final = {"sallyport.dev/requester": ALICE.label, "sallyport.dev/profile": "net"}


def reference(api_version: str, kind: str, name: str, uid: str) -> dict[str, Any]:
    """Return a reference to the owner that controls."""
    named = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
    return named | {"controller": True}


def owner(  # noqa: PLR0913  All that tracing reads of an owner.
    folder: Folder,
    api_version: str,
    kind: str,
    uid: str,
    *,
    notes: dict[str, str] | None = None,
    above: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Put an owner into the folder; give the reference to it."""
    metadata: dict[str, Any] = {"name": uid, "namespace": "train", "uid": uid}
    if notes:
        metadata["annotations"] = notes
    if above:
        metadata["ownerReferences"] = [above]
    folder.documents.append({"apiVersion": api_version, "kind": kind, "metadata": metadata})
    return reference(api_version, kind, uid, uid)


def made(above: dict[str, Any], by: Subject, **spec: Any) -> Request:
    """Return the review of a Pod that a controller makes."""
    value = pod(**spec)
    value["metadata"]["ownerReferences"] = [above]
    return request(value, by, phase=Phase.VALIDATING)


@pytest.fixture
def world(folder: Folder) -> Folder:
    """The Pods of train may use net, and a wider profile."""
    folder.profile("net", 20, "host/network").profile("wide", 30, "host/network", "host/pid")
    return folder.grant("ServiceAccount:train/default", "net", "wide")


def told(decision: Decision) -> tuple[str | None, ...]:
    """Return what the decision says of the root: kind, name, UID, requester and profile."""
    root = decision.evidence.root
    assert root is not None
    return root.kind, root.name, root.uid, root.requester, root.profile


async def judged(engine: EmbeddedEngine, world: Folder, asked: Request) -> Decision:
    """Return the decision."""
    return await judge_of(world.cluster(), engine).validate(asked, budget=5.0)


async def test_a_jobs_pod_names_who_submitted_the_job(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Its own decision has the requester's label, by the Job's UID."""
    job = owner(world, "batch/v1", "Job", "j1", notes=NOTES)
    decision = await judged(engine, world, made(job, JOBS))
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.traced is TraceOutcome.NOTED
    assert told(decision) == ("Job", "j1", "j1", ALICE.label, "net")
    assert decision.evidence.requester_kind == "controller"


async def test_a_cron_jobs_pod_is_traced_over_its_job(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Two hops; the Job in between has no note of its own."""
    cron = owner(world, "batch/v1", "CronJob", "c1", notes=NOTES)
    job = owner(world, "batch/v1", "Job", "j1", above=cron)
    decision = await judged(engine, world, made(job, JOBS))
    assert told(decision) == ("CronJob", "c1", "c1", ALICE.label, "net")


async def test_the_nearest_note_is_who_asked(engine: EmbeddedEngine, world: Folder) -> None:
    """An old ReplicaSet has the note of its own template; one that was adopted, of its maker."""
    deployment = owner(world, "apps/v1", "Deployment", "d1", notes=NOTES)
    theirs = {"sallyport.dev/requester": BOB.label, "sallyport.dev/profile": "wide"}
    replicas = owner(world, "apps/v1", "ReplicaSet", "r1", notes=theirs, above=deployment)
    decision = await judged(engine, world, made(replicas, SETS))
    assert told(decision) == ("Deployment", "d1", "d1", BOB.label, "wide")


@pytest.mark.parametrize(
    "forged",
    [
        reference("batch/v1", "Job", "j1", "another-uid"),
        reference("batch/v1", "Job", "gone", "j1"),
        reference("batch/v1", "Job", "j2", "gone"),
    ],
)
async def test_an_owner_that_is_not_there_is_refused(
    engine: EmbeddedEngine, world: Folder, forged: dict[str, Any]
) -> None:
    """Deleted, or made anew under the same name: its Pod would be collected at once."""
    owner(world, "batch/v1", "Job", "j1", notes=NOTES)
    decision = await judged(engine, world, made(forged, JOBS))
    assert rules(decision) == [("notes/owner-gone", None)]
    assert decision.evidence.traced is TraceOutcome.GONE


async def test_an_owner_further_up_that_is_gone_ends_the_way(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """What is orphaned stands for itself; its own note counts."""
    gone = reference("apps/v1", "Deployment", "d1", "d1")
    replicas = owner(world, "apps/v1", "ReplicaSet", "r1", notes=NOTES, above=gone)
    decision = await judged(engine, world, made(replicas, SETS))
    assert told(decision) == ("ReplicaSet", "r1", "r1", ALICE.label, "net")


async def test_a_circle_ends(engine: EmbeddedEngine, world: Folder) -> None:
    """Two Jobs that own one another have no root; the way ends where it began."""
    back = reference("batch/v1", "Job", "j2", "j2")
    first = owner(world, "batch/v1", "Job", "j1", above=back)
    owner(world, "batch/v1", "Job", "j2", above=reference("batch/v1", "Job", "j1", "j1"))
    decision = await judged(engine, world, made(first, JOBS))
    assert told(decision) == ("Job", "j2", "j2", None, None)


async def test_a_long_way_ends(engine: EmbeddedEngine, world: Folder) -> None:
    """Whoever writes references decides how long it is, and each hop may be a request."""
    above = owner(world, "batch/v1", "Job", "j0", notes=NOTES)
    for hop in range(1, MOST_HOPS + 1):
        above = owner(world, "batch/v1", "Job", f"j{hop}", above=above)
    decision = await judged(engine, world, made(above, JOBS))
    assert told(decision) == ("Job", "j1", "j1", None, None)


async def test_another_controllers_pod_is_not_traced(engine: EmbeddedEngine, world: Folder) -> None:
    """A controller that is not the kind's own is an ordinary requester: it lacks the right."""
    job = owner(world, "batch/v1", "Job", "j1", notes=NOTES)
    decision = await judged(engine, world, made(job, STATEFUL, hostNetwork=True))
    assert (decision.verdict, decision.evidence.root) == (Verdict.DENY, None)


async def test_a_persons_pod_is_not_traced(engine: EmbeddedEngine, world: Folder) -> None:
    """Owner references alone prove nothing: whoever wrote it is who asked."""
    world.grant(f"User:{BOB.username}", "net")
    job = owner(world, "batch/v1", "Job", "j1", notes=NOTES)
    decision = await judged(engine, world, made(job, BOB))
    assert (decision.verdict, decision.evidence.root) == (Verdict.ALLOW, None)
    assert BOB.label in decision.subjects


@pytest.mark.parametrize(
    ("label", "verdict"),
    [(None, Verdict.ALLOW), ("service-account", Verdict.ALLOW), ("refuse", Verdict.DENY)],
)
async def test_a_root_without_a_note_follows_the_namespaces_choice(
    engine: EmbeddedEngine, world: Folder, label: str | None, verdict: Verdict
) -> None:
    """Older than the installation: the service account's right decides, and it is reported."""
    labels = {"sallyport.dev/when-unnoted": label} if label else {}
    world.documents.append(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "train", "labels": labels}}
    )
    job = owner(world, "batch/v1", "Job", "j1")
    decision = await judged(engine, world, made(job, JOBS))
    assert (decision.verdict, decision.evidence.traced) == (verdict, TraceOutcome.UNNOTED)
    assert rules(decision) == ([] if label != "refuse" else [("notes/unnoted", None)])


@pytest.mark.parametrize(
    ("profile", "spec", "found"),
    [
        ("net", {"hostNetwork": True}, []),
        ("net", {"hostPID": True}, [("notes/root", None)]),
        ("wide", {"hostPID": True}, []),
        ("deleted", {}, [("notes/root", None)]),
    ],
)
async def test_the_roots_profile_must_exist_and_cover(
    engine: EmbeddedEngine,
    world: Folder,
    profile: str,
    spec: dict[str, Any],
    found: list[tuple[str, str | None]],
) -> None:
    """Besides the service account's right, which covers all of it here."""
    notes = NOTES | {"sallyport.dev/profile": profile}
    job = owner(world, "batch/v1", "Job", "j1", notes=notes)
    decision = await judged(engine, world, made(job, JOBS, **spec))
    assert rules(decision) == found


async def test_the_ceiling_does_not_hide_what_the_root_may_have(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """The Pod's own profile must lie in the ceiling; the root's must only cover."""
    world.namespace("train", ceiling="wide")
    job = owner(world, "batch/v1", "Job", "j1", notes=NOTES)
    fits = await judged(engine, world, made(job, JOBS, hostNetwork=True))
    assert (fits.verdict, fits.profile) == (Verdict.ALLOW, "wide")
    beyond = await judged(engine, world, made(job, JOBS, hostPID=True))
    assert rules(beyond) == [("notes/root", None)]


async def test_an_owner_that_cannot_be_had_is_an_error(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Never a denial: nobody knows who asked."""
    job = owner(world, "batch/v1", "Job", "j1", notes=NOTES)
    judge = judge_of(Watched(world.cluster(), lost="owners"), engine)
    decision = await judge.validate(made(job, JOBS), budget=5.0)
    assert (decision.verdict, decision.error_kind) == (Verdict.ERROR, "owner")


async def test_notes_of_a_kind_without_a_webhook_are_ignored(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Anyone may write them there; the Job below it has none."""
    custom = owner(world, "example.com/v1", "Experiment", "e1", notes=NOTES)
    job = owner(world, "batch/v1", "Job", "j1", above=custom)
    decision = await judged(engine, world, made(job, JOBS))
    assert told(decision) == ("Job", "j1", "j1", None, None)


async def test_a_file_is_not_traced(engine: EmbeddedEngine, world: Folder) -> None:
    """What nobody submitted has no root yet."""
    job = reference("batch/v1", "Job", "j1", "j1")
    value = pod()
    value["metadata"]["ownerReferences"] = [job]
    decision = await judged(engine, world, request(value, JOBS))
    assert (decision.verdict, decision.evidence.traced) == (Verdict.ALLOW, None)
