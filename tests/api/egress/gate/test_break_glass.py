"""A BreakGlass for egress from its first line to its end: a real gate, and control's account."""

import time
from collections.abc import AsyncIterator
from typing import Final

import pytest

from tests.api.egress.control.field import FLOOR, PATIENCE_S, Field
from tests.api.egress.gate.conftest import enrol, pod, soon
from tests.api.kube.objects import wait_for
from tests.api.people.break_glass.glass import (
    ON_CALL,
    OPENED,
    approve,
    change,
    new_name,
    opens,
    sealed,
    set_up,
)
from tests.api.people.exceptions.exceptions import ANN, AUTHOR, BEN
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.egress_control import controlling, settings_of
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.programs.helm import Helm

OWN: Final = "sallyport-system"
CONTROL: Final = "sallyport-control"
GLASS: Final = {"sallyport-break-glass", "sallyport-break-glass-ipv6"}
_OF_ACCOUNT: Final = frozenset(
    {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
)


@pytest.fixture
async def field(installation: Installation, admin: Client, helm: Helm) -> AsyncIterator[Field]:
    """An enrolled namespace that control keeps, by the account that the chart gives it."""
    account = [
        each
        for each in helm.objects({})
        if each["kind"] in _OF_ACCOUNT and each["metadata"]["name"] == CONTROL
    ]
    await admin.apply(account)
    token = await admin.create_token(CONTROL, OWN)
    kubeconfig = installation.apiserver.kubeconfig_for_token("egress-glass", token)
    await set_up(admin)
    async with controlling(settings_of(kubeconfig, OWN)):
        made = Field(admin, await enrol(admin))
        await made.settle_names()
        yield made


def _repeats(found: dict[str, Json], name: str) -> Json:
    spec = found["sallyport-break-glass"]["spec"]
    head = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
    return {**head, "metadata": {"name": "own", "namespace": name}, "spec": spec}


async def _is_told(person: Client, namespace: str, words: str) -> None:
    """Make Pods until one is told so: the gate hears of a BreakGlass with a delay."""

    async def is_so() -> bool:
        person.warnings.clear()
        await person.create(pod(namespace, f"run-{time.monotonic_ns()}"))
        return words in " ".join(person.warnings)

    await wait_for(is_so, PATIENCE_S)


async def test_two_approve_one_opens_and_deleting_it_closes(
    admin: Client, person: Client, field: Field
) -> None:
    """Its author alone opens nothing; the default deny stays in place all the time."""
    name, author = new_name(), admin.as_user(AUTHOR)
    glass = sealed(field.name, name, egress={})
    del glass["spec"]["rules"]
    await author.create(glass)
    status, said = await change(author, name, OPENED)
    assert status == 403
    assert "is not approved: 0 of 2" in said
    assert (await field.policies()).keys() == FLOOR
    await soon(lambda: person.create(pod(field.name, "before")))

    await approve(admin, name, ANN, BEN)
    await opens(admin.as_user(ON_CALL), name)
    found = await field.settle(lambda now: now.keys() == FLOOR | GLASS)
    await _is_told(person, field.name, f"by BreakGlass {name} until ")
    with pytest.raises(ApiStatusError, match="egress/opens"):
        await person.create(_repeats(found, field.name))
    with pytest.raises(ApiStatusError, match="egress/generated"):
        await person.delete(field.policy("sallyport-break-glass"))

    await admin.delete(glass)
    await field.settle_names()
    await soon(lambda: person.create(pod(field.name, "after")))


async def test_an_approval_that_is_withdrawn_closes(admin: Client, field: Field) -> None:
    """Also one that opened a single workload."""
    name = new_name()
    glass = sealed(field.name, name, egress={"workloads": ["Job/fetch"]})
    await admin.as_user(AUTHOR).create(glass)
    await approve(admin, name, ANN, BEN)
    await opens(admin.as_user(ON_CALL), name)
    found = await field.settle(lambda now: now.keys() == FLOOR | GLASS)
    assert found["sallyport-break-glass"]["spec"]["podSelector"] != {}
    head = {"apiVersion": "sallyport.dev/v1alpha1", "kind": "ClusterApproval"}
    await admin.delete({**head, "metadata": {"name": f"{name}-ben"}})
    await field.settle_names()
    await admin.delete(glass)
