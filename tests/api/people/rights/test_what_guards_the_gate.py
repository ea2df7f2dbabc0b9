"""Marks of namespaces, and the gate's own namespace, hold against who may give rights."""

from collections.abc import Callable

import pytest

from tests.api.people.rights.people import TEAM, Givers, bound
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome
from tests.harness.worlds.rbac import role, rule, service_account

SYSTEM = "sallyport-system"


@pytest.mark.parametrize(
    "labels",
    [
        {"sallyport.dev/mode": "audit"},
        {"sallyport.dev/when-unrecorded": "admit"},
        {"sallyport.dev/when-risk-stale": "allow"},
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
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sallyport-risk-table"}},
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
    own = role("control", rule(["*"], "secrets leases configmaps", "patch"), SYSTEM)
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


@pytest.mark.parametrize("item", OWN, ids=lambda item: item["kind"])
async def test_they_are_not_deleted_among_others_either(
    admin: Client, givers: Givers, made: Callable[[Json], Json], item: Json
) -> None:
    """A collection is deleted under no name: kube-apiserver matches no resourceNames then."""
    item = {**item, "metadata": {**item["metadata"], "namespace": SYSTEM}}
    await givers.administrator.create(made(item))
    group, _, version = item["apiVersion"].rpartition("/")
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    resource = f"{item['kind'].lower()}s"
    may = rule([group], resource, "deletecollection")
    await admin.apply([made(role("sweeper", may, SYSTEM))])
    somebody = {"kind": "User", "name": "sweeper@rights.example.com"}
    await admin.apply([made(bound("sweeper", somebody, namespace=SYSTEM, kind="Role"))])
    sweeper = admin.as_user(somebody["name"])
    verb = {"namespace": SYSTEM, "group": group, "resource": resource}
    await sweeper.wait_until_can("deletecollection", verb)
    path = f"{base}/namespaces/{SYSTEM}/{resource}"
    named = {"fieldSelector": f"metadata.name={item['metadata']['name']}"}
    status, answer = await sweeper.request("DELETE", path, parameters=named)
    assert status == 403
    assert "own-namespace-guard" in answer["message"]


async def test_other_config_maps_are_the_operators(
    givers: Givers, made: Callable[[Json], Json]
) -> None:
    """The policy is about what Sallyport reads; others are changed by who may."""
    metadata = {"name": "site-other", "namespace": SYSTEM}
    other: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    await givers.manager.create(made(other))
    await givers.manager.patch(other, {"data": {"a": "b"}})
    await givers.manager.delete(other)
    await givers.administrator.create(other)
    nameless = {**other, "metadata": {"generateName": "site-risk-", "namespace": SYSTEM}}
    path = f"/api/v1/namespaces/{SYSTEM}/configmaps"
    status, answer = await givers.manager.request("POST", path, nameless)
    assert status == 201
    made(answer | {"apiVersion": "v1", "kind": "ConfigMap"})


async def test_tokens_of_sallyports_accounts_are_for_its_pods(givers: Givers) -> None:
    """One of control's could switch the webhooks off."""
    path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/default/token"
    body: Json = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    status, answer = await givers.manager.request("POST", path, body)
    assert status == 403
    assert "own-namespace-guard" in answer["message"]
    status, _ = await givers.administrator.request("POST", path, body)
    assert status == 201
