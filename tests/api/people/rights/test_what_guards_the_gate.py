"""Marks of namespaces, and the gate's own namespace, hold against who may give rights."""

from collections.abc import Callable

import pytest

from tests.api.people.rights.asking import TEAM, Givers, bound
from tests.harness.client import ApiStatusError, Client, Json, Outcome
from tests.harness.rbac import role, rule, service_account

SYSTEM = "sallyport-system"


@pytest.mark.parametrize(
    "labels",
    [
        {"sallyport.dev/mode": "audit"},
        {"sallyport.dev/when-unrecorded": "admit"},
        {"control-plane": "true"},
        {"kubernetes.azure.com/managedby": "aks"},
    ],
    ids=str,
)
async def test_namespaces_keep_their_marks(givers: Givers, labels: dict[str, str]) -> None:
    """Who may give rights may not exempt namespaces for it."""
    team: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}}
    for client in (givers.researcher, givers.manager):
        with pytest.raises(ApiStatusError, match="exempt"):
            await client.patch(team, {"metadata": {"labels": labels}})


OWN: list[Json] = [
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sallyport-ca"}},
    {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "sallyport-control"},
    },
]


@pytest.mark.parametrize("item", OWN, ids=lambda item: item["kind"])
async def test_sallyports_keys_and_lease_are_its_own(
    admin: Client, givers: Givers, made: Callable[[Json], Json], item: Json
) -> None:
    """Nobody else creates, changes or deletes them, but who may exempt the namespace."""
    item = {**item, "metadata": {**item["metadata"], "namespace": SYSTEM}}
    guarded = "own-namespace-guard"
    with pytest.raises(ApiStatusError, match=guarded):
        await givers.manager.create(item)
    elsewhere = {**item, "metadata": {**item["metadata"], "namespace": TEAM}}
    assert (await givers.manager.dry_run(elsewhere)).outcome is Outcome.ALLOWED
    await givers.administrator.create(made(item))
    with pytest.raises(ApiStatusError, match=guarded):
        await givers.manager.patch(item, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(ApiStatusError, match=guarded):
        await givers.manager.delete(item)
    control = f"system:serviceaccount:{SYSTEM}:sallyport-control"
    own = role("control", rule(["*"], "secrets leases", "patch"), SYSTEM)
    await admin.apply([made(own)])
    to_control = bound(
        "control", service_account("sallyport-control", SYSTEM), namespace=SYSTEM, kind="Role"
    )
    await admin.apply([made(to_control)])
    verb = {"namespace": SYSTEM, "resource": "secrets"}
    await admin.as_user(control).wait_until_can("patch", verb)
    await admin.as_user(control).patch(item, {"metadata": {"labels": {"a": "b"}}})
    collector = "system:serviceaccount:kube-system:generic-garbage-collector"
    await admin.as_user(collector).delete(item)
    await admin.create(item)


async def test_tokens_of_sallyports_accounts_are_for_its_pods(givers: Givers) -> None:
    """One of control's could switch the webhooks off."""
    path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/default/token"
    body: Json = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    status, answer = await givers.manager.request("POST", path, body)
    assert status == 403
    assert "own-namespace-guard" in answer["message"]
    status, _ = await givers.administrator.request("POST", path, body)
    assert status == 201
