"""The gate beside a real node: what it judges risky runs under gVisor, and nothing else does."""

from collections.abc import Iterator
from http import HTTPStatus

import pytest

from tests.api.admission.conftest import install
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.guarded_apiserver import guarded
from tests.harness.programs.node.node import Node
from tests.harness.worlds.rbac import grant, rule, user
from tests.node.conftest import GVISOR
from tests.node.pods import WHERE, Ran, ended, named, pod, run, spec

REQUIRED, BY_RISK, PLAIN = "sandbox-required", "sandbox-by-risk", "sandbox-none"
MODE = "sallyport.dev/sandbox"
RISKY = {"app.kubernetes.io/name": "code-interpreter"}
"""Runs what a model writes: the rule sandbox/code/generated reaches the threshold by itself."""


@pytest.fixture(scope="module")
def _gate(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The gate with all that is shipped, asked by the node's kube-apiserver."""
    with guarded(node.apiserver, tmp_path_factory.mktemp("gate"), install):
        yield


@pytest.fixture
async def alice(_gate: None, admin: Client) -> Client:
    """Who may create Pods and Jobs in three namespaces, and has the profile that everyone has."""
    works = rule(["", "batch"], "pods pods/log events jobs", "get list create delete")
    for namespace, mode in ((REQUIRED, "required"), (BY_RISK, "by-risk"), (PLAIN, None)):
        await admin.create_namespace(namespace, {MODE: mode} if mode else None)
        await admin.apply(grant("works", works, user("alice"), namespace=namespace))
    person = admin.as_user("alice", ("system:authenticated",))
    for namespace in (REQUIRED, BY_RISK, PLAIN):
        resource = {"group": "", "resource": "pods", "namespace": namespace}
        await person.wait_until_can("create", resource)
    return person


def assert_under_gvisor(ran: Ran) -> None:
    """Fail unless a Pod was given the class, and its kernel is gVisor's."""
    assert ran.runtime_class == GVISOR
    assert ran.under_gvisor, ran.printed


def assert_under_runc(ran: Ran) -> None:
    """Fail unless a Pod has no class, and sees the machine's kernel."""
    assert ran.runtime_class is None
    assert "gvisor" not in ran.printed.lower()


async def test_a_pod_of_a_namespace_that_requires_it_runs_under_gvisor(alice: Client) -> None:
    """Its author said nothing of a RuntimeClass."""
    assert_under_gvisor(await run(alice, pod(REQUIRED, "silent")))


async def test_a_risky_pod_runs_under_gvisor(alice: Client) -> None:
    """Where risk decides, what runs a model's code reaches the threshold."""
    assert_under_gvisor(await run(alice, pod(BY_RISK, "risky", labels=RISKY)))


async def test_a_pod_of_low_risk_beside_it_runs_under_runc(alice: Client) -> None:
    """The same Pod in the same namespace, but for what makes it risky."""
    assert_under_runc(await run(alice, pod(BY_RISK, "harmless")))


async def test_a_risky_pod_where_nobody_asks_runs_under_runc(alice: Client) -> None:
    """Without a mode of namespace or profile nothing changes for those who upgrade."""
    assert_under_runc(await run(alice, pod(PLAIN, "unasked", labels=RISKY)))


async def test_its_author_can_ask_for_the_sandbox(alice: Client) -> None:
    """By the label on the Pod, in a namespace that asks for nothing."""
    assert_under_gvisor(await run(alice, pod(PLAIN, "asked", labels={MODE: "required"})))


async def test_the_pod_of_a_risky_job_runs_under_gvisor(alice: Client, admin: Client) -> None:
    """Its author sees the class in the Job's template, and the controller's Pod has it."""
    template = {"metadata": {"labels": {**RISKY, "job": "risky"}}, "spec": spec(WHERE)}
    job: Json = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "risky", "namespace": BY_RISK},
        "spec": {"backoffLimit": 0, "template": template},
    }
    made = await alice.create(job)
    assert made["spec"]["template"]["spec"]["runtimeClassName"] == GVISOR
    assert_under_gvisor(await ended(admin, BY_RISK, await named(admin, BY_RISK, "job=risky")))


async def test_what_gvisor_cannot_run_is_refused(alice: Client, admin: Client) -> None:
    """Nobody, not an administrator, gets it unsandboxed: feature, field and reason are named."""
    with pytest.raises(ApiStatusError) as refused:
        await admin.create(pod(REQUIRED, "host", hostNetwork=True))
    assert refused.value.status == HTTPStatus.FORBIDDEN
    assert "sandbox/incompatible" in refused.value.message
    assert "spec.hostNetwork" in refused.value.message
    with pytest.raises(ApiStatusError) as gone:
        await admin.get("v1", "Pod", "host", REQUIRED)
    assert gone.value.status == HTTPStatus.NOT_FOUND
