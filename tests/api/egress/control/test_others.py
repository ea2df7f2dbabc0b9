"""What the controller of egress does with policies that others wrote in enrolled namespaces."""

import asyncio
import time

import pytest

from control.egress.plan import Apply
from control.egress.writer import NameTakenError
from core.base import names
from kube.leader.lease import Leadership
from tests.api.egress.control.field import FLOOR, OWN, PATIENCE_S, Field, cidrs
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.egress_control import Controlled, controlling, settings_of

ONE = "sallyport-allow-one-0"


@pytest.mark.usefixtures("controlled")
async def test_a_policy_of_others_is_left_alone(field: Field, client: Client) -> None:
    """One that has the name of a generated one stays as it is; the allowlist says so, once."""
    await field.settle_names()
    theirs = {**field.policy(ONE), "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}
    stored = await client.create(theirs)
    await field.allow("one", {"cidr": "192.0.2.0/24"})
    ready = await field.settle_reason("one", "NameTaken")
    assert ONE in ready["message"]
    found = (await field.policies())[ONE]
    assert (found["metadata"], found["spec"]) == (stored["metadata"], stored["spec"])
    await field.settle_event("NameTaken")
    await client.delete(theirs)
    found = await field.settle(lambda now: cidrs(now.get(ONE, theirs)) == ["192.0.2.0/24"])
    assert found.keys() == FLOOR | {ONE}
    await field.settle_reason("one", "Open")


async def test_a_policy_that_others_made_a_moment_ago_is_not_touched(
    field: Field, controlled: Controlled
) -> None:
    """Where the watch has not shown it yet: not for a moment is it marked as ours."""
    await field.settle_names()
    theirs = {
        **field.policy("another"),
        "spec": {"podSelector": {}, "policyTypes": ["Egress"], "ingress": [{}]},
    }
    stored = await field.client.create(theirs)
    leadership = Leadership(1, time.monotonic() + 60, time.monotonic)
    ours = field.policy("another")
    ours["spec"] = {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]}
    ours["metadata"] |= {"labels": {names.MANAGED_BY_LABEL: "sallyport"}}
    with pytest.raises(NameTakenError, match="another"):
        await controlled.egress.floor.writer.do(leadership, Apply(ours, None))
    found = (await field.policies())["another"]
    assert found["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


async def test_what_others_open_is_told_and_left(client: Client, controlled: Controlled) -> None:
    """A policy older than the enrolment that opens more than allowlists say; less is not told."""
    field = Field(client, new_name("egress"))
    await field.prepare("open")
    block = {"ipBlock": {"cidr": "192.0.2.0/24"}}
    rule = {"to": [block], "ports": [{"protocol": "TCP", "port": 443}]}
    spec = {"podSelector": {}, "policyTypes": ["Egress"], "egress": [rule]}
    theirs = await client.create({**field.policy("theirs"), "spec": spec})
    await field.prepare("deny")

    event = await field.settle_event("OpensMore")
    assert "192.0.2.0/24" in event["message"]
    assert event["involvedObject"]["name"] == "theirs"
    found = (await field.policies())["theirs"]
    assert found["metadata"]["resourceVersion"] == theirs["metadata"]["resourceVersion"]

    def count() -> float:
        return controlled.metric("sallyport_egress_foreign_policies")

    await wait_for(lambda: count() == 1, PATIENCE_S)
    selector = {"matchLabels": {names.EGRESS_ACCOUNT_LABEL: "default"}}
    await client.patch(theirs, {"spec": {"podSelector": selector}})
    await field.allow("one", {"cidr": "192.0.2.0/23"})
    await wait_for(lambda: count() == 0, PATIENCE_S)


@pytest.mark.usefixtures("controlled")
async def test_a_name_that_others_took_leaves_the_namespace_open_and_is_told(
    client: Client,
) -> None:
    """Whoever had a policy called as the default deny keeps it; an Event says what that means."""
    field = Field(client, new_name("egress"))
    await field.prepare("open")
    theirs = {**field.policy("sallyport-default-deny"), "spec": {"podSelector": {}}}
    await client.create(theirs)
    await field.prepare("deny")

    assert "stays open" in (await field.settle_event("OpensMore"))["message"]
    await client.delete(theirs)
    await field.settle_names()


async def test_what_others_open_is_deleted_where_the_operator_says_so(
    apiserver: ApiServer, field: Field
) -> None:
    """Once no allowlist opens it any more; one that also closes the way in goes on closing it."""
    block = {"ipBlock": {"cidr": "192.0.2.0/24"}}
    rule = {"to": [block], "ports": [{"protocol": "TCP", "port": 443}]}
    selector = {"matchLabels": {names.EGRESS_ACCOUNT_LABEL: "default"}}
    spec = {"podSelector": selector, "policyTypes": ["Egress"], "egress": [rule]}
    both = {**spec, "policyTypes": ["Egress", "Ingress"]}
    intent = await field.allow("one", {"cidr": "192.0.2.0/24"})
    settings = settings_of(apiserver.kubeconfig(), OWN, {"foreign_policies": "delete"})
    async with controlling(settings):
        await field.settle_names(ONE)
        await field.client.create({**field.policy("theirs"), "spec": spec})
        await field.client.create({**field.policy("closes"), "spec": both})
        await asyncio.sleep(1)
        assert {"theirs", "closes"} <= (await field.policies()).keys()
        await field.client.delete(intent)
        await field.settle(lambda found: "theirs" not in found and ONE not in found)
        closed = {"podSelector": selector, "policyTypes": ["Ingress"]}
        await field.settle(lambda found: found["closes"]["spec"] == closed)
        told = await field.events("Deleted")
    assert all("192.0.2.0/24" in each["message"] for each in told)
    assert {each["involvedObject"]["name"] for each in told} == {"theirs", "closes"}
