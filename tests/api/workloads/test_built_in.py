"""Kubernetes' own workloads: refused at once where they are bad, and their Pods come where not."""

import asyncio
import copy
import time
from datetime import UTC, datetime

import pytest

from core.kubernetes.workload_kinds import WORKLOADS, GroupKind
from tests.api.workloads.conftest import TRAIN
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome
from tests.harness.worlds.pods import RESTRICTED
from tests.unit.core.kubernetes.workload_samples import wrapped

BUILT_IN = [kind for kind, workload in WORKLOADS.items() if workload.built_in]
MAKING = [kind for kind in BUILT_IN if kind[1] != "PodTemplate"]
POD_TIMEOUT_S = 90.0
MISSED_S = 120.0


def template(name: str, **spec: object) -> Json:
    """Return a restricted Pod template with its own label, also for nodes that are not ready."""
    made = RESTRICTED.pod()
    toleration = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {**made["spec"], "tolerations": [toleration], **spec},
    }


def sample(kind: GroupKind, name: str, **spec: object) -> Json:
    """Return a workload of a kind that Kubernetes takes."""
    pods = template(name, **spec)
    if kind[0] == "batch":
        pods["spec"]["restartPolicy"] = "Never"
    made = wrapped(kind, pods)
    made["metadata"] = {"name": name, "namespace": TRAIN}
    if kind[0] == "apps":
        made["spec"]["selector"] = {"matchLabels": {"app": name}}
    if kind[1] == "StatefulSet":
        made["spec"]["serviceName"] = name
    if kind[1] == "CronJob":
        made["spec"]["schedule"] = "* * * * *"
    return made


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind[1])
async def test_a_bad_template_is_refused_when_it_is_submitted(
    kind: GroupKind, alice: Client
) -> None:
    """As the bare Pod is, with the path from the workload's root; a good one is taken."""
    bare = await alice.dry_run(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "bare", "namespace": TRAIN},
            "spec": template("bare", hostPID=True)["spec"],
        }
    )
    refused = await alice.dry_run(sample(kind, "bad", hostPID=True))
    assert (bare.outcome, refused.outcome) == (Outcome.DENIED, Outcome.DENIED)
    path = WORKLOADS[kind].places[0].path
    assert f"{path}.spec.hostPID" in refused.message
    taken = await alice.dry_run(sample(kind, "good"))
    assert taken.outcome is Outcome.ALLOWED, taken.message


async def test_pods_of_what_is_admitted_are_admitted(admin: Client, alice: Client) -> None:
    """Made by the real controllers, of every kind, with ReplicaSets and Jobs in between."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    await admin.apply([node])
    names = {f"made-{kind[1].lower()}": kind for kind in MAKING}
    for name, kind in names.items():
        await alice.create(sample(kind, name))
    await _let_a_minute_have_been_missed(admin)
    missing = set(names)
    deadline = time.monotonic() + POD_TIMEOUT_S
    while missing and time.monotonic() < deadline:
        for name in sorted(missing):
            path = f"/api/v1/namespaces/{TRAIN}/pods?labelSelector=app%3D{name}"
            status, found = await admin.request("GET", path)
            if status == 200 and found["items"]:
                missing.discard(name)
        await asyncio.sleep(0.2)
    assert missing == set()
    await admin.delete(node)
    for name, kind in names.items():
        await admin.delete(sample(kind, name))


async def _let_a_minute_have_been_missed(admin: Client) -> None:
    """Have the CronJob's controller make up for it at once: nobody waits for the next minute."""
    path = f"/apis/batch/v1/namespaces/{TRAIN}/cronjobs/made-cronjob/status"
    then = datetime.fromtimestamp(time.time() - MISSED_S, UTC)
    patch = {"status": {"lastScheduleTime": then.isoformat(timespec="seconds")}}
    merge = "application/merge-patch+json"
    status, answer = await admin.request("PATCH", path, patch, content_type=merge)
    assert status == 200, answer


DIRECT = [kind for kind in MAKING if kind[1] not in {"Deployment", "CronJob", "DaemonSet"}]


@pytest.mark.parametrize("kind", DIRECT, ids=lambda kind: kind[1])
async def test_pods_are_judged_again_by_their_service_account(
    kind: GroupKind, admin: Client
) -> None:
    """What its author may have, and its service account may not, is refused at the Pod."""
    made = sample(kind, "beyond", hostPID=True)
    await admin.create(made)
    try:
        message = await _failure(admin, kind[1])
    finally:
        await admin.delete(made)
    assert 'webhook "mutate.sallyport.dev" denied the request' in message
    assert "service account train:default" in message


async def _failure(admin: Client, kind: str) -> str:
    """Return what the kind's controller reports of a Pod that it could not make."""
    deadline = time.monotonic() + POD_TIMEOUT_S
    while time.monotonic() < deadline:
        _, found = await admin.request("GET", f"/api/v1/namespaces/{TRAIN}/events")
        for event in found["items"]:
            of = event["involvedObject"]
            if event["reason"] == "FailedCreate" and (of["kind"], of["name"]) == (kind, "beyond"):
                return str(event["message"])
        await asyncio.sleep(0.3)
    raise TimeoutError(f"no {kind} reports that its Pod was refused")


async def test_an_update_that_rolls_nothing_out_is_never_refused(
    admin: Client, alice: Client
) -> None:
    """Also of what its updater may not have: replicas, suspension, labels; a template is judged."""
    deployment = sample(("apps", "Deployment"), "strong", hostPID=True)
    job = sample(("batch", "Job"), "started", hostPID=True)
    for made in (deployment, job):
        await admin.create(made)
    await alice.patch(deployment, {"spec": {"replicas": 3, "paused": True}})
    await alice.patch(deployment, {"metadata": {"labels": {"a": "b"}, "finalizers": []}})
    await alice.patch(job, {"spec": {"suspend": True, "parallelism": 2}})
    await alice.patch(job, {"spec": {"suspend": False}})
    restart = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}
    await alice.patch(deployment, {"spec": {"template": restart}})
    containers = copy.deepcopy(deployment["spec"]["template"]["spec"]["containers"])
    containers[0]["command"] = ["sh", "-c", "anything"]
    with pytest.raises(ApiStatusError, match="may not use the profile pss-privileged"):
        await alice.patch(deployment, {"spec": {"template": {"spec": {"containers": containers}}}})
    for made in (deployment, job):
        await alice.delete(made)
