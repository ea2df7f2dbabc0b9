"""What runs outside the sandbox that its namespace demands: counted, recorded, reported."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from audit.ledger.store.store import Store
from cli.flags import read_flags
from cli.sandbox_report import Report, read_report
from core.document import unix_ms
from tests.api.control.sweep.conftest import SWEEP, SweptCluster
from tests.api.control.sweep.swept import Swept
from tests.harness.client import Client, Json
from tests.harness.etcd import put_pods
from tests.harness.pods import RESTRICTED
from tests.harness.sweeper import CLUSTER

BOXED: Final = "swept-boxed"
OPEN: Final = "swept-open"
CLASS: Final = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "gvisor"},
    "handler": "runsc",
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
    """Give a Pod that runs, of a Deployment, and needs no privilege."""
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
    """Give what the command reports of what was recorded."""
    url = f"sqlite:///{folder / 'ledger.db'}"
    async with Store(url, lambda: unix_ms(SWEEP) / 1000) as store:
        await store.deliver(CLUSTER, swept.frames.kept)
    return await read_report(read_flags(None, ledger={"url": url}), None, None)


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
