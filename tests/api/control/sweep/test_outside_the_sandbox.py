"""What runs outside the sandbox that its namespace demands: counted, recorded, reported."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from admission.judge import Judge
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from cli.flags import read_flags
from cli.sandbox.run import Report, read_report
from core.base.ids import uuid7_unix_ms
from core.decision.document import DecisionDocument, decode_document
from tests.api.control.sweep.conftest import SWEEP, SweptCluster
from tests.api.control.sweep.sweep_run import Swept
from tests.harness.programs.client import Client, Json
from tests.harness.programs.etcd import put_pods
from tests.harness.programs.sweeper import CLUSTER
from tests.harness.worlds.pods import RESTRICTED

LATER: Final = "019aa6c6-39bb-791c-8ca7-e02b195e0b08"
BOXED: Final = "swept-boxed"
OPEN: Final = "swept-open"
CLASS: Final = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "gvisor"},
    "handler": "runsc",
}
BOXING: Final = {
    "apiVersion": "sallyport.dev/v1alpha1",
    "kind": "ContainerProfile",
    "metadata": {"name": "swept-boxing"},
    "spec": {"catalogue": 1, "rank": 900, "privileges": ["**"], "sandbox": "required"},
}
NOTED: Final = {"sallyport.dev/requester": "user:2bd806c97f0e00af"} | {
    "sallyport.dev/profile": "swept-boxing"
}
OWNER: Final = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7f9c6", "uid": "u-web"}


@pytest.fixture
async def namespaces(admin: Client) -> AsyncIterator[None]:
    """One that demands the sandbox, one that does not; and the class."""
    await admin.apply([CLASS])
    await admin.create_namespace(BOXED, {"sallyport.dev/sandbox": "required"})
    await admin.create_namespace(OPEN)
    yield
    await admin.delete(CLASS)


def pod_of(name: str, namespace: str = BOXED, **spec: Any) -> Json:
    """Return a Pod that runs, of a Deployment, and needs no privilege."""
    pod = RESTRICTED.pod()
    pod["metadata"] = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{name}",
        "labels": {"pod-template-hash": "7f9c6"},
        "ownerReferences": [OWNER | {"controller": True}],
    }
    pod["spec"] |= {"serviceAccountName": "default", **spec}
    return pod | {"status": {"phase": "Running"}}


async def report_of(swept: Swept, folder: Path) -> Report:
    """Return what the command reports of what was recorded."""
    url = f"sqlite:///{folder / 'ledger.db'}"
    async with Store(url, lambda: uuid7_unix_ms(SWEEP) / 1000) as store:
        await store.deliver(CLUSTER, swept.frames.kept)
    return await read_report(read_flags(None, ledger=url), None, None)


@pytest.mark.usefixtures("namespaces")
async def test_a_pod_without_its_class_is_reported(
    cluster: SweptCluster, swept: Swept, tmp_path: Path
) -> None:
    """Older than the demand: without the class, with another, or with what cannot run there.

    Not what has the class, what has ended, nor what nobody demands it of.
    """
    await put_pods(
        cluster.server.etcd_url,
        [
            pod_of("bare"),
            pod_of("other", runtimeClassName="plain"),
            pod_of("shared", hostPID=True),
            pod_of("inside", runtimeClassName="gvisor"),
            pod_of("inside-shared", runtimeClassName="gvisor", hostPID=True),
            pod_of("ended") | {"status": {"phase": "Succeeded"}},
            pod_of("elsewhere", OPEN),
        ],
    )
    await swept.run()
    assert swept.metric("sallyport_sandbox_missing") == 3
    report = await report_of(swept, tmp_path)
    assert [(row.pod, row.runtime) for row in report.pods] == [
        ("bare", None),
        ("other", "plain"),
        ("shared", None),
    ]
    assert [[finding.path for finding in row.first] for row in report.pods] == [
        [],
        ["spec.runtimeClassName"],
        ["spec.hostPID"],
    ]
    for row in report.pods:
        assert (row.namespace, row.workload, row.why) == (BOXED, "Deployment/web", "required")
        assert (row.sandbox, row.requester) == ("gvisor", None)
        assert row.recreate == f"kubectl rollout restart deployment/web -n {BOXED}"
    assert [sweep.pods for sweep in report.sweeps] == [6]


def made_by(owner: Json, name: str) -> Json:
    """Return a Pod that runs where nobody but its workload's profile demands a sandbox."""
    pod = pod_of(name, OPEN)
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    pod["metadata"]["ownerReferences"] = [reference | {"controller": True}]
    return pod


async def deployed(admin: Client, name: str, annotations: Json) -> Json:
    """Return the ReplicaSet of a Deployment with these notes."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": RESTRICTED.pod()["spec"]}
    made: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": OPEN, "annotations": annotations},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }
    deployment = await admin.create(made)
    owner = {key: deployment["metadata"][key] for key in ("name", "uid")}
    owner |= {"apiVersion": "apps/v1", "kind": "Deployment", "controller": True}
    metadata = {"name": f"{name}-7f9c6", "namespace": OPEN, "ownerReferences": [owner]}
    return await admin.create(made | {"kind": "ReplicaSet", "metadata": metadata})


@pytest.mark.usefixtures("namespaces")
async def test_a_sandbox_that_only_the_workloads_profile_demands_is_missed(
    cluster: SweptCluster, admin: Client, swept: Swept, tmp_path: Path
) -> None:
    """The Pods of the noted Deployment are found, over its ReplicaSet; nobody else's are."""
    await admin.apply([BOXING])
    boxed = await deployed(admin, "boxed", NOTED)
    plain = await deployed(admin, "plain", {})
    gone = boxed | {"metadata": boxed["metadata"] | {"uid": "of-another"}}
    pods = [made_by(boxed, "boxed-0"), made_by(boxed, "boxed-1"), made_by(plain, "plain-0")]
    inside = made_by(boxed, "boxed-inside")
    inside["spec"]["runtimeClassName"] = "gvisor"
    await put_pods(cluster.server.etcd_url, [*pods, inside, made_by(gone, "orphan")])
    await until_known(swept, "swept-boxing")
    await swept.run()
    await admin.delete(BOXING)
    report = await report_of(swept, tmp_path)
    assert [(row.pod, row.why, row.sandbox) for row in report.pods] == [
        ("boxed-0", "required", "gvisor"),
        ("boxed-1", "required", "gvisor"),
    ]
    assert swept.metric("sallyport_sandbox_missing") == 2
    assert report.sweeps[0].not_judged == 0


@pytest.mark.usefixtures("namespaces")
async def test_an_owner_that_cannot_be_read_is_an_error_of_its_pods(
    cluster: SweptCluster, admin: Client, swept: Swept, tmp_path: Path
) -> None:
    """Counted, never silence; and only where its note could demand a sandbox, else nobody asks.

    The account may read no Jobs.
    """
    job: Json = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "uid": "u-a"}}
    in_boxed = made_by(job, "boxed-of-a-job")
    in_boxed["metadata"]["namespace"] = BOXED
    await put_pods(cluster.server.etcd_url, [made_by(job, "of-a-job"), in_boxed])
    await swept.run()
    report = await report_of(swept, tmp_path)
    assert (report.sweeps[0].not_judged, [row.pod for row in report.pods]) == (
        0,
        ["boxed-of-a-job"],
    )
    await admin.apply([BOXING])
    await until_known(swept, "swept-boxing")
    later = swept.later(LATER).at(uuid7_unix_ms(LATER) / 1000)
    await later.run()
    await admin.delete(BOXING)
    report = await report_of(later, tmp_path)
    assert (report.sweeps[0].not_judged, [row.pod for row in report.pods]) == (
        1,
        ["boxed-of-a-job"],
    )
    errors = [(each.request.name, each.error_kind) for each in decisions(later) if each.error_kind]
    assert errors == [("of-a-job", "owner")]


async def until_known(swept: Swept, profile: str) -> None:
    """Wait until the sweep's judge knows a profile."""
    judge = swept.parts.judge
    assert isinstance(judge, Judge)
    async with asyncio.timeout(60):
        while profile not in judge.gatherer.cluster.profiles().by_name:  # noqa: ASYNC110 -- a watch has no event of ours
            await asyncio.sleep(0.02)


def decisions(swept: Swept) -> list[DecisionDocument]:
    """Return what was recorded of Pods."""
    return [decode_document(each) for each in swept.frames.of(FrameKind.DECISION).values()]
