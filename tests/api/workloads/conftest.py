"""A cluster of this folder's own: the controllers of Kubernetes' workloads, and the gate."""

from collections.abc import AsyncIterator, Iterator

import pytest

from core.kubernetes.workload_kinds import WORKLOADS
from tests.api.admission.conftest import install
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.guarded_apiserver import Installation, guarded_with_controllers
from tests.harness.worlds.rbac import grant, rule, user

TRAIN = "train"
CONTROLLERS = (
    "daemonset-controller deployment-controller replicaset-controller statefulset-controller "
    "job-controller cronjob-controller replicationcontroller-controller"
)


@pytest.fixture(scope="package")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """kube-apiserver, the controllers, and the gate with all webhooks that are shipped."""
    with guarded_with_controllers(tmp_path_factory.mktemp, install, CONTROLLERS.split()) as found:
        yield found


@pytest.fixture
async def admin(installation: Installation) -> AsyncIterator[Client]:
    """A cluster administrator; in the namespace `train` Alice and the service account may work."""
    async with connect(installation.apiserver) as client:
        await client.create_namespace(TRAIN)
        await client.create_service_account("default", TRAIN)
        groups = sorted({each.group for each in WORKLOADS.values()})
        for namespace in (TRAIN, None):
            works = rule(groups, "*", "*")
            await client.apply(grant("alice-works", works, user("alice"), namespace=namespace))
        yield client


@pytest.fixture
def alice(admin: Client) -> Client:
    """Who may do everything in `train` but what needs a privilege of the cluster."""
    return admin.as_user("alice")


def definition(kind: tuple[str, str]) -> Json:
    """Return a CustomResourceDefinition for a kind of the table that takes what is sent."""
    workload = WORKLOADS[kind]
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": version,
            "served": True,
            "storage": version == workload.versions[0],
            "schema": {"openAPIV3Schema": schema},
        }
        for version in workload.versions
    ]
    names = {
        "kind": workload.kind,
        "plural": workload.resource,
        "singular": workload.kind.lower(),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{workload.resource}.{workload.group}",
            # Groups of *.k8s.io are kept for what the community has approved.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": workload.group,
            "scope": "Namespaced" if workload.namespaced else "Cluster",
            "names": names,
            "versions": versions,
        },
    }
