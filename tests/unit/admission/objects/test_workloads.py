"""A workload is judged as the Pods are that it would make, and for whom the docs say."""

import copy
from itertools import islice
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.decision.decision import Decision, Verdict
from core.decision.request import Kind
from core.kubernetes.pod_templates import PodTemplate
from core.kubernetes.workload_kinds import WORKLOADS, GroupKind
from core.kubernetes.workload_pods import templates_of
from core.people.subject import Subject, service_account_subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.harness.worlds.pods import pods
from tests.unit.admission.world import ALICE, Folder, decide, pod, request
from tests.unit.core.kubernetes.workload_samples import Json, wrapped

DEPLOYMENT = ("apps", "Deployment")
KINDS = [kind for kind, workload in WORKLOADS.items() if workload.places]
WHOLE = [
    kind
    for kind in KINDS
    if not any(each.partial for each in templates_of(*kind, wrapped(kind, pod())))
]
"""Kinds whose templates say all; of the others only what is there is certain."""

GENERATED = list(islice(pods(20261121), 400))
DEPLOYMENTS = service_account_subject("kube-system", "deployment-controller")
TRAINER = service_account_subject("train", "trainer")


def template(**spec: Any) -> Json:
    """Return a Pod template that needs no privilege but its image, with changes."""
    made = pod(**spec)
    return {"metadata": {"labels": {"app": "x"}}, "spec": made["spec"]}


def kind_of(kind: GroupKind) -> Kind:
    """Return a kind with the version that its webhook's rule names first."""
    return Kind(kind[1], WORKLOADS[kind].versions[0], kind[0])


def asked(kind: GroupKind, made: object, subject: Subject = ALICE, **more: Any) -> Any:
    """Return a request about a workload."""
    place: Any = {} if WORKLOADS[kind].namespaced else {"namespace": ""}
    return request(made, subject, kind=kind_of(kind), **place, **more)


async def judged(
    engine: EmbeddedEngine, folder: Folder, kind: GroupKind, made: object, **more: Any
) -> Decision:
    """Return the decision on a workload."""
    return await decide(folder.cluster(), engine, asked(kind, made, **more))


def needs(decision: Decision) -> set[tuple[str, str]]:
    """Return rule and privilege of all that is needed."""
    return {(need.rule, need.privilege) for need in decision.evidence.needs}


async def of_pod(engine: EmbeddedEngine, folder: Folder, made: Json) -> Decision:
    """Return the decision on a bare Pod."""
    return await decide(folder.cluster(), engine, request(made))


@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind[1])
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(made=st.sampled_from(GENERATED))
async def test_a_workload_needs_what_the_bare_pod_does(
    kind: GroupKind, made: tuple[str, Json], engine: EmbeddedEngine, folder: Folder
) -> None:
    """Same verdict, same needs, each at the place where it stands in the workload."""
    _, bare = made
    own = await of_pod(engine, folder, bare)
    whole = await judged(engine, folder, kind, wrapped(kind, bare))
    assert whole.verdict is own.verdict
    assert needs(whole) == needs(own)
    places = templates_of(*kind, wrapped(kind, bare))
    expected = {place.place(need.path) for place in places for need in own.evidence.needs}
    assert {need.path for need in whole.evidence.needs} == expected


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in WHOLE], ids=lambda kind: kind[1])
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(made=st.sampled_from(GENERATED))
async def test_of_what_others_fill_in_only_what_is_there_counts(
    kind: GroupKind, made: tuple[str, Json], engine: EmbeddedEngine, folder: Folder
) -> None:
    """Nothing is asked that the bare Pod would not need, and nothing that is there is missed."""
    _, bare = made
    own = await of_pod(engine, folder, bare)
    whole = await judged(engine, folder, kind, wrapped(kind, bare))
    assert needs(whole) <= needs(own)
    for each in templates_of(*kind, wrapped(kind, bare)):
        there = {need for need in own.evidence.needs if each.says(need.path)}
        found = {need.privilege for need in whole.evidence.needs}
        if each.path.endswith("emplate"):
            assert {need.privilege for need in there} <= found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[1])
async def test_what_is_bad_is_refused_at_the_workload(
    kind: GroupKind, engine: EmbeddedEngine, folder: Folder
) -> None:
    """With the path from the object's root; a good one is admitted."""
    folder.profile("good", 10).grant("Group:researchers", "good")
    bad = copy.deepcopy(template())
    bad["spec"]["containers"][0]["securityContext"]["privileged"] = True
    refused = await judged(engine, folder, kind, wrapped(kind, bad))
    assert refused.verdict is Verdict.DENY, refused.message
    for finding in refused.findings:
        assert says(wrapped(kind, bad), finding.path), finding.path
    good = await judged(engine, folder, kind, wrapped(kind, template()))
    assert good.verdict is Verdict.ALLOW, good.message


def says(value: Json, path: str) -> bool:
    """Return whether there is something at a path of an object."""
    return PodTemplate("", value).says(path)


async def test_one_profile_must_cover_all_templates(engine: EmbeddedEngine, folder: Folder) -> None:
    """Two profiles, each enough for one of them, are not."""
    folder.profile("net", 10, "host/network").profile("pid", 11, "host/pid")
    folder.grant("Group:researchers", "net").grant("Group:researchers", "pid")
    kind = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
    made = wrapped(kind, template(hostNetwork=True))
    assert (await judged(engine, folder, kind, made)).profile == "net"
    made["spec"]["leaderWorkerTemplate"]["workerTemplate"] = template(hostPID=True)
    assert (await judged(engine, folder, kind, made)).verdict is Verdict.DENY
    folder.profile("both", 12, "host/*").grant("Group:researchers", "both")
    assert (await judged(engine, folder, kind, made)).profile == "both"


@pytest.mark.parametrize(
    ("requester", "owner", "subjects"),
    [
        (ALICE, None, [ALICE]),
        (ALICE, ("apps/v1", "Deployment"), [ALICE, TRAINER]),
        (DEPLOYMENTS, ("apps/v1", "Deployment"), [TRAINER]),
        (DEPLOYMENTS, ("batch/v1", "CronJob"), [DEPLOYMENTS, TRAINER]),
        (DEPLOYMENTS, None, [DEPLOYMENTS, TRAINER]),
    ],
)
async def test_right_of_requester_or_service_account_counts_for_a_workload(
    requester: Subject,
    owner: tuple[str, str] | None,
    subjects: list[Subject],
    engine: EmbeddedEngine,
    folder: Folder,
) -> None:
    """The requester's, and for a nested workload the service account's, as for a Pod."""
    kind = ("apps", "ReplicaSet")
    made = wrapped(kind, template(serviceAccountName="trainer"))
    if owner:
        reference = {"apiVersion": owner[0], "kind": owner[1], "name": "o", "uid": "u"}
        made["metadata"]["ownerReferences"] = [reference]
    decision = await judged(engine, folder, kind, made, subject=requester)
    assert decision.subjects == [subject.label for subject in subjects]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"containers": []}, "spec.template.spec.containers"),
        ({"containers": "x"}, "spec.template.spec.containers"),
        ({"hostNetwork": "yes"}, "spec.template.spec.hostNetwork"),
        ({"volumes": [{"name": "x", "hostPath": 1}]}, "spec.template.spec.volumes[0].hostPath"),
    ],
)
async def test_what_kubernetes_would_refuse_is_an_error_with_its_field(
    change: Json, field: str, engine: EmbeddedEngine, folder: Folder
) -> None:
    """From the object's root, with the object's kind."""
    decision = await judged(engine, folder, DEPLOYMENT, wrapped(DEPLOYMENT, template(**change)))
    assert (decision.verdict, decision.field) == (Verdict.ERROR, field)
    assert decision.reason.startswith("Deployment: ")


async def test_a_template_of_an_operators_kind_may_leave_things_out(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Its schema takes a template without containers, or without an image."""
    kind = ("kubeflow.org", "PyTorchJob")
    folder.profile("good", 10).grant("Group:researchers", "good")
    empty = wrapped(kind, template(containers=[]))
    assert (await judged(engine, folder, kind, empty)).verdict is Verdict.ALLOW
    imageless = template()
    del imageless["spec"]["containers"][0]["image"]
    decision = await judged(engine, folder, kind, wrapped(kind, imageless))
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.needs == ()


@pytest.mark.parametrize(("owned", "verdict"), [(False, Verdict.DENY), (True, Verdict.ALLOW)])
async def test_a_copied_annotation_names_nothing(
    engine: EmbeddedEngine, folder: Folder, *, owned: bool, verdict: Verdict
) -> None:
    """Deployments copy theirs to their ReplicaSets."""
    folder.profile("net", 10, "host/network").profile("small", 5)
    for name in ("net", "small"):
        folder.grant("ServiceAccount:train/trainer", name)
    made = wrapped(("apps", "ReplicaSet"), template(hostNetwork=True, serviceAccountName="trainer"))
    made["metadata"]["annotations"] = {"sallyport.dev/profile": "small"}
    if owned:
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "o", "uid": "u"}
        made["metadata"]["ownerReferences"] = [reference]
    subject = DEPLOYMENTS if owned else TRAINER
    decision = await judged(engine, folder, ("apps", "ReplicaSet"), made, subject=subject)
    assert decision.verdict is verdict


async def test_too_many_templates_are_no_denial(engine: EmbeddedEngine, folder: Folder) -> None:
    """An error that names the limit."""
    kind = ("jobset.x-k8s.io", "JobSet")
    made = wrapped(kind, template())
    made["spec"]["replicatedJobs"] *= 1001
    decision = await judged(engine, folder, kind, made)
    assert decision.verdict is Verdict.ERROR
    assert "more than 1000 Pod templates" in decision.reason
