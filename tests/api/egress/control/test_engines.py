"""The controller with the other engines, and from one engine to another."""

import asyncio

from tests.api.egress.control.field import OWN, PATIENCE_S, Field
from tests.api.kube.objects import wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.egress_control import controlling, settings_of

CILIUM = "/apis/cilium.io/v2/namespaces/{}/ciliumnetworkpolicies"


async def cilium_policies(field: Field) -> dict[str, Json]:
    """Return the CiliumNetworkPolicies of a namespace, by name."""
    _, found = await field.client.request("GET", CILIUM.format(field.name))
    return {each["metadata"]["name"]: each for each in found["items"]}


async def test_from_networkpolicies_to_cilium_and_back(apiserver: ApiServer, field: Field) -> None:
    """The policies of one engine go once those of the other are there; none is written twice."""
    await field.allow("one", {"dnsName": "*.example.com"}, {"cidr": "192.0.2.0/24"})
    await field.allow("two", {"pods": {"podSelector": {"matchLabels": {"app": "a"}}}})
    kubeconfig = apiserver.kubeconfig()
    async with controlling(settings_of(kubeconfig, OWN)):
        await field.settle_names("sallyport-allow-one-0", "sallyport-allow-two-0")
        partly = await field.settle_reason("one", "PartlyOpen")
        assert "NetworkPolicies know no names" in partly["message"]
        await field.allow("none", {"dnsName": "*.example.net"})
        closed = await field.settle_reason("none", "Closed")
        assert "NetworkPolicies know no names" in closed["message"]
    async with controlling(settings_of(kubeconfig, OWN, {"engine": "cilium"})) as controlled:
        await field.settle(lambda found: not found)
        await field.settle_reason("one", "Open")
        found = await cilium_policies(field)
        assert "sallyport-default-deny" in found
        assert {name.rpartition("-")[0] for name in found} >= {
            "sallyport-allow-one",
            "sallyport-allow-two",
        }
        versions = {name: each["metadata"] for name, each in (await cilium_policies(field)).items()}
        looks = controlled.metric("sallyport_egress_looks_total")
        controlled.egress.queue.add(field.name, urgent=True)
        await wait_for(
            lambda: controlled.metric("sallyport_egress_looks_total") > looks, PATIENCE_S
        )
        await asyncio.sleep(0.3)
        after = await cilium_policies(field)
        assert {name: each["metadata"] for name, each in after.items()} == versions
        policy: Json = {"apiVersion": "cilium.io/v2", "kind": "CiliumNetworkPolicy"}
        policy["metadata"] = {"name": "sallyport-default-deny", "namespace": field.name}
        before = found["sallyport-default-deny"]["spec"]
        await field.client.patch(
            policy, {"specs": [{**before, "egress": [{"toEntities": ["all"]}]}]}
        )

        async def is_mended() -> bool:
            now = (await cilium_policies(field))["sallyport-default-deny"]
            return now["spec"] == before and "specs" not in now

        await wait_for(is_mended, PATIENCE_S)
    async with controlling(settings_of(kubeconfig, OWN)):
        await field.settle_names("sallyport-allow-one-0", "sallyport-allow-two-0")

        async def are_gone() -> bool:
            return not await cilium_policies(field)

        await wait_for(are_gone, PATIENCE_S)


async def test_a_namespace_that_is_deleted_keeps_no_allowlist(
    apiserver: ApiServer, client: Client, field: Field
) -> None:
    """In a namespace on its way out nothing is made any more, and no finalizer holds it."""
    async with controlling(settings_of(apiserver.kubeconfig(), OWN)) as controlled:
        intent = await field.allow("one", {"cidr": "192.0.2.0/24"})
        await field.settle_names("sallyport-allow-one-0")
        space: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": field.name}}
        await client.delete(space)
        await client.delete(field.policy("sallyport-default-deny"))
        await client.delete(intent)

        async def is_gone() -> bool:
            path = f"/apis/sallyport.dev/v1alpha1/namespaces/{field.name}/egressallowlists"
            _, found = await client.request("GET", path)
            return not found["items"]

        await wait_for(is_gone, PATIENCE_S)
        assert "sallyport-default-deny" not in await field.policies()
        assert controlled.egress.queue.failing == 0
