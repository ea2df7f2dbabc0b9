"""The notes of workloads: what the mutating pass records, and what the validating one demands."""

import copy
from typing import Any, Final

import msgspec
import pytest

from core.decision.decision import Decision, Verdict
from core.decision.request import Kind, Operation, Phase, Request
from core.people.subject import Subject, service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.requester.test_owner_chain import owner
from tests.unit.admission.world import ALICE, BOB, OTHER, Folder, judge_of, pod, request, rules

DEPLOYMENTS: Final = service_account_subject("kube-system", "deployment-controller")
CRONS: Final = service_account_subject("kube-system", "cronjob-controller")
DEPLOYMENT: Final = Kind("Deployment", "v1", "apps")
JOB: Final = Kind("Job", "v1", "batch")
REPLICAS: Final = Kind("ReplicaSet", "v1", "apps")


def notes(requester: str = ALICE.label, profile: str = "net") -> dict[str, str]:
    """Return the annotations of a note."""
    return {"sallyport.dev/requester": requester, "sallyport.dev/profile": profile}


BOBS: Final = notes(BOB.label)


def workload(
    kind: Kind = DEPLOYMENT,
    *,
    annotations: dict[str, str] | None = None,
    above: dict[str, Any] | None = None,
    replicas: int = 1,
    **spec: Any,
) -> dict[str, Any]:
    """Return a workload whose template is a Pod of the tests."""
    template = pod(**spec)
    metadata: dict[str, Any] = {"name": "llama", "namespace": "train"}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    if above:
        metadata["ownerReferences"] = [above]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "spec": {"template": {"spec": template["spec"]}}
        | ({} if kind.kind == "Job" else {"replicas": replicas}),
    }


def asked(
    made: dict[str, Any], by: Subject = ALICE, *, old: dict[str, Any] | None = None, **more: Any
) -> Request:
    """Return kube-apiserver's review of a workload."""
    operation = Operation.UPDATE if old else Operation.CREATE
    fields = {"kind": DEPLOYMENT, "name": "llama", "phase": Phase.VALIDATING} | more
    return request(made, by, old=old, operation=operation, **fields)


@pytest.fixture
def world(folder: Folder) -> Folder:
    """Alice may use net and wide, Bob net; so may the Pods of train."""
    folder.profile("net", 20, "host/network").profile("wide", 30, "host/network", "host/pid")
    folder.grant(f"User:{ALICE.username}", "net", "wide").grant(f"User:{BOB.username}", "net")
    return folder.grant("ServiceAccount:train/default", "net", "wide")


async def both(
    engine: EmbeddedEngine, world: Folder, review: Request
) -> tuple[dict[str, str], Decision]:
    """Return what the mutating pass records, and the decision of the validating pass after it."""
    judge = judge_of(world.cluster(), engine)
    recorded = (await judge.mutate(review, budget=5.0)).recorded
    made = copy.deepcopy(_value(review))
    there = made["metadata"].get("annotations", {})
    made["metadata"]["annotations"] = there | recorded
    final = asked(made, review.subject, old=_old(review), kind=review.kind, dry_run=review.dry_run)
    return recorded, await judge.validate(final, budget=5.0)


def _value(review: Request) -> dict[str, Any]:
    assert review.object is not None
    value: dict[str, Any] = msgspec.json.decode(review.object)
    return value


def _old(review: Request) -> dict[str, Any] | None:
    return msgspec.json.decode(review.old_object) if review.old_object else None


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    "annotations",
    [None, {}, {"other": "x"}, BOBS, {"sallyport.dev/requester": "oid:somebody"}],
)
async def test_whoever_creates_a_workload_is_noted(
    engine: EmbeddedEngine, world: Folder, annotations: dict[str, str] | None, *, dry_run: bool
) -> None:
    """Whatever its manifest says, copied or made up; a dry run is the same."""
    review = asked(workload(annotations=annotations, hostNetwork=True), dry_run=dry_run)
    recorded, decision = await both(engine, world, review)
    assert recorded == notes()
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "net")


async def test_an_author_may_name_a_profile(engine: EmbeddedEngine, world: Folder) -> None:
    """The annotation on a new workload is a wish, judged as one."""
    wish = {"sallyport.dev/profile": "wide"}
    recorded, decision = await both(engine, world, asked(workload(annotations=wish)))
    assert (recorded, decision.profile) == (notes(profile="wide"), "wide")
    _, refused = await both(engine, world, asked(workload(annotations=wish), BOB))
    assert rules(refused) == [("profiles/named", None)]


async def test_nothing_is_noted_on_what_is_refused(engine: EmbeddedEngine, world: Folder) -> None:
    """The refusal speaks of what it needs, and of no note that is missing."""
    recorded, decision = await both(engine, world, asked(workload(hostPID=True), BOB))
    assert recorded == {}
    assert rules(decision) == [("privileges/host/pid", "host/pid")]


async def test_without_the_mutating_pass_it_is_refused(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """The message says what to do."""
    decision = await judge_of(world.cluster(), engine).validate(asked(workload()), budget=5.0)
    assert rules(decision) == [("notes/requester", None), ("notes/profile", None)]
    assert "mutating webhook does not run" in decision.message


@pytest.mark.parametrize("mode", ["warn", "audit"])
async def test_a_missing_note_refuses_nothing_where_nothing_is_enforced(
    engine: EmbeddedEngine, world: Folder, mode: str
) -> None:
    """It is a finding like any other."""
    world.namespace("train", mode=mode)
    decision = await judge_of(world.cluster(), engine).validate(asked(workload()), budget=5.0)
    assert (decision.verdict, decision.allowed) == (Verdict.WARN, True)


async def test_whoever_changes_the_template_is_noted(engine: EmbeddedEngine, world: Folder) -> None:
    """The profile of before is kept while it covers and may be used."""
    old = workload(annotations=notes(profile="net"))
    review = asked(workload(annotations=notes(), image=OTHER), BOB, old=old)
    recorded, decision = await both(engine, world, review)
    assert recorded == BOBS
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "net")


@pytest.mark.parametrize(
    ("before", "by", "spec", "after"),
    [
        ("wide", BOB, {}, "net"),
        ("wide", ALICE, {}, "wide"),
        ("net", ALICE, {"hostPID": True}, "wide"),
        ("deleted", ALICE, {"hostNetwork": True}, "net"),
    ],
)
async def test_a_note_that_no_longer_stands_is_chosen_anew(  # noqa: PLR0913, PLR0917
    engine: EmbeddedEngine, world: Folder, before: str, by: Subject, spec: Any, after: str
) -> None:
    """Not usable, not covering, or deleted: the note of before is no wish of the author's."""
    old = workload(annotations=notes(profile=before))
    changed = workload(annotations=notes(profile=before), image=OTHER, **spec)
    recorded, decision = await both(engine, world, asked(changed, by, old=old))
    assert recorded == notes(by.label, after)
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, after)


async def test_an_update_of_anything_else_leaves_the_note(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Whoever scales or labels it is not who asked for its Pods, and needs no right."""
    nobody = Subject("nobody@example.com")
    old = workload(annotations=notes())
    review = asked(workload(annotations=notes(), replicas=9), nobody, old=old)
    recorded, decision = await both(engine, world, review)
    assert (recorded, decision.verdict) == ({}, Verdict.ALLOW)


async def test_a_note_that_was_dropped_is_put_back(engine: EmbeddedEngine, world: Folder) -> None:
    """`kubectl replace` sends the author's file, which has none."""
    old = workload(annotations=notes())
    recorded, decision = await both(engine, world, asked(workload(replicas=9), BOB, old=old))
    assert (recorded, decision.verdict) == (notes(), Verdict.ALLOW)


@pytest.mark.parametrize(
    ("annotations", "found"),
    [
        (BOBS, ["notes/requester"]),
        (notes(profile="wide"), ["notes/profile"]),
        (notes(BOB.label, "wide"), ["notes/requester", "notes/profile"]),
    ],
)
async def test_a_note_changes_only_with_the_template(
    engine: EmbeddedEngine, world: Folder, annotations: dict[str, str], found: list[str]
) -> None:
    """Not even to one's own name: who asked for the Pods stays who asked."""
    old = workload(annotations=notes())
    review = asked(workload(annotations=annotations), BOB, old=old)
    _, decision = await both(engine, world, review)
    assert [rule for rule, _ in rules(decision)] == found


async def test_what_is_older_than_the_installation_stays_without(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Its updates are admitted; a note that nobody decided is not."""
    old = workload()
    review = asked(workload(replicas=9), BOB, old=old)
    recorded, decision = await both(engine, world, review)
    assert (recorded, decision.verdict) == ({}, Verdict.ALLOW)
    _, forged = await both(engine, world, asked(workload(annotations=notes()), BOB, old=old))
    assert rules(forged) == [("notes/requester", None), ("notes/profile", None)]


async def test_a_deployments_replica_set_may_carry_a_copy(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Its controller copies annotations together with the template; nothing is patched."""
    above = owner(world, "apps/v1", "Deployment", "d1", notes=BOBS)
    review = asked(workload(REPLICAS, annotations=notes(), above=above), DEPLOYMENTS, kind=REPLICAS)
    recorded, decision = await both(engine, world, review)
    assert (recorded, decision.verdict) == ({}, Verdict.ALLOW)


async def test_a_note_in_a_job_template_passes_for_nobody(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """A CronJob's author may write any annotation into what its controller makes."""
    above = owner(world, "batch/v1", "CronJob", "c1", notes=notes())
    forged = workload(JOB, annotations=BOBS, above=above)
    _, decision = await both(engine, world, asked(forged, CRONS, kind=JOB))
    assert rules(decision) == [("notes/requester", None)]
    honest = workload(JOB, annotations=notes(), above=above)
    _, decision = await both(engine, world, asked(honest, CRONS, kind=JOB))
    assert decision.verdict is Verdict.ALLOW


async def test_a_person_who_makes_a_job_for_a_cron_job_is_noted(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """`kubectl create job --from`, or a forged reference: its Pods name who made the Job."""
    above = owner(world, "batch/v1", "CronJob", "c1", notes=notes())
    review = asked(workload(JOB, above=above), BOB, kind=JOB)
    recorded, decision = await both(engine, world, review)
    assert recorded == notes(BOB.label, "net")
    assert decision.verdict is Verdict.ALLOW


async def test_an_older_job_may_not_be_put_under_somebody_elses_cron_job(
    engine: EmbeddedEngine, world: Folder
) -> None:
    """Without a note of its own its Pods would name the CronJob's author."""
    above = owner(world, "batch/v1", "CronJob", "c1", notes=notes())
    review = asked(workload(JOB, above=above), BOB, old=workload(JOB), kind=JOB)
    _, decision = await both(engine, world, review)
    assert rules(decision) == [("notes/owner", None)]


async def test_adoption_keeps_the_note_of_the_maker(engine: EmbeddedEngine, world: Folder) -> None:
    """The Deployment controller takes over a ReplicaSet that somebody else made."""
    above = owner(world, "apps/v1", "Deployment", "d1", notes=notes())
    adopted = workload(REPLICAS, annotations=BOBS, above=above)
    orphan = workload(REPLICAS, annotations=BOBS)
    for made, old in ((adopted, orphan), (orphan, adopted)):
        review = asked(made, DEPLOYMENTS, old=old, kind=REPLICAS)
        recorded, decision = await both(engine, world, review)
        assert (recorded, decision.verdict) == ({}, Verdict.ALLOW)


async def test_the_namespaces_profile_is_not_noted(engine: EmbeddedEngine, world: Folder) -> None:
    """The note would outlive the namespace's choice."""
    world.namespace("train", profile="net")
    recorded, decision = await both(engine, world, asked(workload()))
    assert recorded == {"sallyport.dev/requester": ALICE.label}
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "net")


async def test_a_file_needs_no_note(engine: EmbeddedEngine, world: Folder) -> None:
    """`sallyport review` judges what its author writes."""
    review = asked(workload(), phase=None)
    decision = await judge_of(world.cluster(), engine).validate(review, budget=5.0)
    assert decision.verdict is Verdict.ALLOW
