"""The controller of egress, with the account that the chart makes, does all of its work."""

from functools import partial
from typing import Final

from core.base import names
from tests.api.egress.control.field import FLOOR, OWN, PATIENCE_S, Field, later
from tests.api.egress.control.pods import pod
from tests.api.kube.objects import wait_for
from tests.harness.fakes.dns_server import dns_server
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.egress_control import controlling, settings_of
from tests.harness.programs.helm import Helm

_OF_ACCOUNT: Final = frozenset(
    {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
)


async def test_it_has_the_rights_it_needs(
    apiserver: ApiServer, client: Client, helm: Helm, field: Field
) -> None:
    """Policies, finalizers, statuses, Events, names, evictions, and the floor of the cluster."""
    account = [
        each
        for each in helm.objects({})
        if each["kind"] in _OF_ACCOUNT and each["metadata"]["name"] == "sallyport-control"
    ]
    assert {each["kind"] for each in account} == _OF_ACCOUNT
    await client.apply(account)
    token = await client.create_token("sallyport-control", OWN)
    kubeconfig = apiserver.kubeconfig_for_token("egress-control", token)
    await client.create(pod(field.name, "old", **{names.EGRESS_ACCOUNT_LABEL: "default"}))
    with dns_server() as dns:
        dns.set(f"{field.name}.example.com", "192.0.2.7")
        resolver = {"servers": [f"127.0.0.1:{dns.port}"]}
        section = {"resolver": resolver, "floor": True, "names": {"quiet": 0}}
        settings = settings_of(kubeconfig, OWN, section)
        async with controlling(settings) as controlled:
            made = await field.allow("name", {"dnsName": f"{field.name}.example.com"})
            until = later(3)
            await field.allow("old", {"cidr": "192.0.2.0/24"}, expiresAt=until, whenExpired="Evict")
            await field.settle_reason("name", "Open")
            await field.settle_reason("old", "Done", "Evicted")
            await field.settle_names("sallyport-allow-name-0")
            floor = await client.get(
                "policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy", "sallyport-floor"
            )
            assert floor["spec"]["tier"] == "Baseline"
            await field.settle_event("Evicted")
            await client.delete(made)
            await field.settle(lambda found: found.keys() == FLOOR)
            assert controlled.egress.queue.failing == 0
    async with controlling(settings_of(apiserver.kubeconfig(), OWN)):
        await wait_for(partial(_floor_is_gone, client), PATIENCE_S)


async def _floor_is_gone(client: Client) -> bool:
    path = "/apis/policy.networking.k8s.io/v1alpha2/clusternetworkpolicies"
    _, found = await client.request("GET", path)
    return not found["items"]
