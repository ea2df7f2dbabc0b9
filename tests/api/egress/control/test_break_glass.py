"""A BreakGlass opens the egress of the namespaces that it names, and it closes at its end."""

import time
from collections.abc import Callable
from http import HTTPStatus

import pytest

from control.egress.queue import LAST_RETRY_S
from core.base import names
from core.base.errors import ClusterError
from tests.api.egress.control.field import FLOOR, OWN, PATIENCE_S, Field
from tests.api.egress.control.glass import (
    ANN,
    BEN,
    activate,
    approve,
    break_glass,
    let_approve,
    seal,
)
from tests.api.egress.control.test_engines import cilium_policies
from tests.api.egress.control.test_weights import store, told
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.egress_control import Controlled, controlling, settings_of

__all__ = ["store"]

GLASS = {"sallyport-break-glass", "sallyport-break-glass-ipv6"}
ONE = "sallyport-allow-one-0"
FAILED_LONG = 8
"""After so many failures a namespace waits for a minute."""


@pytest.fixture(autouse=True)
async def _approvers(client: Client) -> None:
    await let_approve(client, ANN, BEN)


@pytest.fixture
async def other(client: Client) -> Field:
    """Another enrolled namespace."""
    made = Field(client, new_name("egress"))
    await made.prepare()
    return made


async def _is_open(field: Field) -> dict[str, Json]:
    return await field.settle(lambda found: found.keys() >= GLASS)


async def _is_closed(field: Field, *allows: str) -> None:
    await field.settle_names(*allows)


def _blocks(policy: Json) -> list[Json]:
    rules = policy["spec"]["egress"]
    return [peer["ipBlock"] for rule in rules for peer in rule["to"] if "ipBlock" in peer]


async def test_egress_is_open_once_approved_and_activated_and_closed_once_deleted(
    controlled: Controlled, client: Client, field: Field, other: Field
) -> None:
    """In the namespace that it names alone; metadata stays closed; statuses say until when."""
    await field.allow("one", {"cidr": "192.0.2.0/24"})
    glass = await seal(client, new_name("fire"), field.name)
    await approve(client, glass, ANN, BEN)
    await field.settle_reason("one", "Open")
    assert (await field.policies()).keys() == FLOOR | {ONE}
    await activate(client, glass)
    found = await _is_open(field)
    assert found.keys() == FLOOR | GLASS | {ONE}
    policy = found["sallyport-break-glass"]
    assert policy["spec"]["podSelector"] == {}
    (block,) = _blocks(policy)
    assert block["cidr"] == "0.0.0.0/0"
    assert {"169.254.0.0/16", "168.63.129.16/32"} <= set(block["except"])
    warned = await field.settle_reason("one", "SeeMessage", "Warned")
    assert f"by BreakGlass {glass['metadata']['name']} until " in warned["message"]
    assert (await field.condition("one"))["reason"] == "Open"
    await other.allow("one", {"cidr": "192.0.2.0/24"})
    await other.settle_reason("one", "Open")
    assert (await other.policies()).keys() == FLOOR | {ONE}

    async def is_shown() -> bool:
        return controlled.metric("sallyport_egress_namespaces_opened") >= 1

    await wait_for(is_shown, PATIENCE_S)
    await client.delete(glass)
    await _is_closed(field, ONE)
    await field.settle_reason("one", "Nothing", "Warned")


@pytest.mark.usefixtures("controlled")
async def test_egress_closes_at_the_end(client: Client, field: Field) -> None:
    """Nobody needs to do anything."""
    glass = await seal(client, new_name("fire"), field.name)
    await approve(client, glass, ANN, BEN)
    await activate(client, glass, left_s=6)
    await _is_open(field)
    await _is_closed(field)
    assert await client.get(names.API_VERSION, "BreakGlass", glass["metadata"]["name"])


@pytest.mark.usefixtures("controlled")
async def test_egress_closes_when_an_approval_is_withdrawn(client: Client, field: Field) -> None:
    """One of two is not enough; and it opens again if another gives it back."""
    glass = await seal(client, new_name("fire"), field.name)
    _, second = await approve(client, glass, ANN, BEN)
    await activate(client, glass)
    await _is_open(field)
    await client.delete(second)
    await _is_closed(field)
    await approve(client, glass, BEN)
    await _is_open(field)


async def test_a_namespace_that_keeps_failing_opens_and_closes_as_soon(
    controlled: Controlled, client: Client, field: Field
) -> None:
    """Though its next look is a minute away: at activation, at the end, at the deletion."""
    await _refuse_policy(client, field.name, "sallyport-allow-refused-0")
    refused = await field.allow("refused", {"cidr": "192.0.2.0/24"})
    queue = controlled.egress.queue

    async def is_failing() -> bool:
        return queue.failures(field.name) >= 1

    await wait_for(is_failing, PATIENCE_S)
    while queue.failures(field.name) < FAILED_LONG:
        queue.fail(field.name, time.monotonic())
    deleted = await break_glass(client, new_name("fire"), field.name)
    await _within(field, lambda found: found.keys() >= GLASS)
    await client.delete(deleted)
    await _within(field, lambda found: not found.keys() & GLASS)
    ending = await seal(client, new_name("fire"), field.name)
    await approve(client, ending, ANN, BEN)
    await activate(client, ending, left_s=5)
    await _within(field, lambda found: found.keys() >= GLASS)
    await _within(field, lambda found: not found.keys() & GLASS)
    assert queue.failures(field.name) > FAILED_LONG
    assert "sallyport-allow-refused-0" not in await field.policies()
    await client.delete(refused)
    queue.add(field.name, at_once=True)  # Other tests of this cluster want none that fails.
    await wait_for(lambda: queue.failures(field.name) == 0, PATIENCE_S)


async def _within(field: Field, wanted: Callable[[dict[str, Json]], bool]) -> None:
    """Wait for policies; not so long as a namespace that fails again and again waits."""

    async def is_so() -> bool:
        return wanted(await field.policies())

    await wait_for(is_so, LAST_RETRY_S / 3)


async def _refuse_policy(client: Client, namespace: str, name: str) -> None:
    """Have kube-apiserver refuse one NetworkPolicy of a namespace, and wait until it does."""
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": namespace}}
    rules = {
        "apiGroups": ["networking.k8s.io"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["networkpolicies"],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    refusal: Json = {
        "matchConstraints": {"resourceRules": [rules], "namespaceSelector": selector},
        "validations": [{"expression": f"object.metadata.name != '{name}'"}],
    }
    bound = {"policyName": namespace, "validationActions": ["Deny"]}
    await client.create({**head, "kind": "ValidatingAdmissionPolicy", "spec": refusal})
    await client.create({**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound})
    path = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies?dryRun=All"
    tried = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name},
        "spec": {"podSelector": {}},
    }

    async def is_refused() -> bool:
        status, _ = await client.request("POST", path, tried)
        return status == HTTPStatus.UNPROCESSABLE_ENTITY

    await wait_for(is_refused, PATIENCE_S)


@pytest.mark.usefixtures("controlled")
async def test_one_workload_is_opened_and_others_stay_closed(client: Client, field: Field) -> None:
    """By the gate's label, which no author of a Pod writes."""
    workloads = {"workloads": ["Job/fetch", "Deployment/web"]}
    await break_glass(client, new_name("fire"), field.name, egress=workloads)
    found = await _is_open(field)
    only = {
        "key": names.EGRESS_WORKLOAD_LABEL,
        "operator": "In",
        "values": ["Deployment.web", "Job.fetch"],
    }
    for name in GLASS:
        assert found[name]["spec"]["podSelector"] == {"matchExpressions": [only]}
    assert found["sallyport-default-deny"]["spec"]["podSelector"] == {}


@pytest.mark.usefixtures("controlled")
async def test_of_an_audited_namespace_what_is_closed_opens(client: Client) -> None:
    """No policy is about other Pods: one that any policy selects is closed."""
    audited = Field(client, new_name("egress"))
    await audited.prepare("audit")
    await break_glass(client, new_name("fire"), audited.name)
    item = await client.get("v1", "Namespace", audited.name)
    listed = {names.EGRESS_WORKLOADS_ANNOTATION: "Deployment/web"}
    await client.patch(item, {"metadata": {"annotations": listed}})
    found = await _is_open(audited)
    web = {"key": names.EGRESS_WORKLOAD_LABEL, "operator": "In", "values": ["Deployment.web"]}
    for policy in found.values():
        assert policy["spec"]["podSelector"] == {"matchExpressions": [web]}


@pytest.mark.usefixtures("controlled")
async def test_nothing_opens_without_two_people_for_egress_as_it_is(
    client: Client, field: Field, other: Field
) -> None:
    """One approval, none, approvals of another content, or of every rule open no egress."""
    alone = await seal(client, new_name("fire"), field.name)
    await approve(client, alone, ANN)
    changed = await seal(client, new_name("fire"), other.name)
    await approve(client, changed, ANN, BEN)
    changed = await client.patch(changed, {"spec": {"namespaces": [other.name, field.name]}})
    rules = await seal(client, new_name("fire"), field.name, egress=None, rules=["*"])
    await approve(client, rules, ANN, BEN)
    for each in (alone, changed, rules):
        await activate(client, each)
    third = Field(client, new_name("egress"))
    await third.prepare()
    await break_glass(client, new_name("fire"), third.name)
    await _is_open(third)
    for place in (field, other):
        await place.allow("one", {"cidr": "192.0.2.0/24"})
        await place.settle_reason("one", "Open")
        assert (await place.policies()).keys() == FLOOR | {ONE}


@pytest.mark.usefixtures("controlled")
async def test_release_and_enrolment_go_on_while_it_is_open(client: Client, field: Field) -> None:
    """Nothing is left of a namespace that is released; one that is enrolled is open at once."""
    await break_glass(client, new_name("fire"), field.name)
    await _is_open(field)
    item = await client.get("v1", "Namespace", field.name)
    await client.patch(item, {"metadata": {"labels": {names.EGRESS_LABEL: "audit"}}})
    await field.settle(lambda found: not found)
    await client.patch(item, {"metadata": {"labels": {names.EGRESS_LABEL: "deny"}}})
    assert (await _is_open(field)).keys() == FLOOR | GLASS


@pytest.mark.usefixtures("controlled")
async def test_a_policy_of_others_does_not_outlive_it(client: Client, field: Field) -> None:
    """What repeats the policy of the BreakGlass is told as more than is open."""
    await break_glass(client, new_name("fire"), field.name)
    found = await _is_open(field)
    same = found["sallyport-break-glass"]["spec"]
    theirs = await client.create({**field.policy("same"), "spec": same})
    await field.settle_event("OpensMore")
    await client.delete(theirs)


async def test_what_is_not_written_is_not_said_to_be_open(
    controlled: Controlled, client: Client, field: Field, other: Field
) -> None:
    """Another's policy has the name, or a quota refuses it: the allowlists say why it is closed."""
    count = "count/networkpolicies.networking.k8s.io"
    for place in (field, other):
        await place.allow("one", {"cidr": "192.0.2.0/24"})
        await place.settle_reason("one", "Open")
    spec = {"podSelector": {"matchLabels": {"a": "b"}}, "policyTypes": ["Ingress"]}
    theirs = await client.create({**field.policy("sallyport-break-glass"), "spec": spec})
    quota: Json = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {count: "3"}}}
    metadata = {"name": "few", "namespace": other.name}
    status = {"hard": {count: "3"}, "used": {count: "3"}}
    await client.create({**quota, "metadata": metadata})
    path = f"/api/v1/namespaces/{other.name}/resourcequotas/few/status"
    await client.request("PUT", path, {**quota, "metadata": metadata, "status": status})
    glass = await break_glass(client, new_name("fire"), field.name, other.name)
    name = glass["metadata"]["name"]
    for place, why in ((field, "policies of others have the names"), (other, "exceeded quota")):
        warned = await place.settle_reason("one", "SeeMessage", "Warned")
        assert f"BreakGlass {name} does not open all that it says: " in warned["message"]
        assert why in warned["message"]
        assert " until " not in warned["message"]
        assert " until " not in (await place.condition("one"))["message"]
        assert not controlled.egress.reconciler.open_by_glass(place.name)
    assert not controlled.egress.outcomes[other.name].opened
    await client.delete({**quota, "metadata": metadata})
    await _is_open(other)

    async def is_said() -> bool:
        warned = await other.condition("one", "Warned")
        return f"by BreakGlass {name} until " in str(warned["message"])

    await wait_for(is_said, PATIENCE_S)
    assert controlled.egress.reconciler.open_by_glass(other.name)

    async def is_counted() -> bool:
        return controlled.egress.outcomes[other.name].opened

    await wait_for(is_counted, PATIENCE_S)
    await client.delete(theirs)


@pytest.mark.usefixtures("controlled")
async def test_the_gate_is_told_that_weights_can_be_reached(
    client: Client, field: Field, store: str
) -> None:
    """Whatever its service account, and every store in one entry, before it opens."""
    await field.allow("wide", {"cidr": "10.77.1.0/28"})
    await field.settle_reason("wide", "Open")
    glass = await break_glass(client, new_name("fire"), field.name)
    await _is_open(field)
    found = [each for each in await told(client, field.name) if each.get("breakGlass")]
    assert [each["store"] for each in found] == ["*"]
    assert [each["breakGlass"] for each in found] == [glass["metadata"]["name"]]
    assert store in {each["store"] for each in await told(client, field.name)}
    await client.delete(glass)

    async def is_gone() -> bool:
        return not any(each.get("breakGlass") for each in await told(client, field.name))

    await wait_for(is_gone, PATIENCE_S)


async def test_nothing_more_opens_before_the_gate_is_told(
    controlled: Controlled, client: Client, field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by a second one that is wider; what has ended closes all the same."""
    job = await break_glass(
        client, new_name("fire"), field.name, egress={"workloads": ["Job/fetch"]}
    )
    before = await _is_open(field)

    async def tell(*_: object) -> None:
        raise ClusterError("kube-apiserver does not answer")

    monkeypatch.setattr(controlled.egress.reconciler.weights, "tell", tell)
    await break_glass(client, new_name("fire"), field.name)

    async def is_failing() -> bool:
        return controlled.egress.queue.failures(field.name) >= 2

    await wait_for(is_failing, PATIENCE_S)
    now = await field.policies()
    for name in GLASS:
        assert now[name]["spec"] == before[name]["spec"]
    await client.delete(job)
    await _is_closed(field)
    monkeypatch.undo()
    found = await _is_open(field)
    assert found["sallyport-break-glass"]["spec"]["podSelector"] == {}


@pytest.mark.parametrize("egress", [{}, {"workloads": ["Job/fetch"]}], ids=["all", "some"])
async def test_its_end_leaves_ciliums_guards_as_before_it(
    apiserver: ApiServer,
    client: Client,
    field: Field,
    monkeypatch: pytest.MonkeyPatch,
    egress: Json,
) -> None:
    """Also while nothing opens: what allowlists name is not denied, and no more is left open."""
    settings = settings_of(apiserver.kubeconfig(), OWN, {"engine": "cilium"})
    async with controlling(settings) as controlled:
        await field.allow("one", {"cidr": "10.200.0.0/24"})
        await field.settle_reason("one", "Open")
        before = _guards(await cilium_policies(field))
        spared = [each for each in before.values() if "NotIn" in str(each)]
        assert "10.200.0.0/24" in str(spared)
        glass = await break_glass(client, new_name("fire"), field.name, egress=egress)

        async def is_opened() -> bool:
            found = await cilium_policies(field)
            return "sallyport-break-glass" in found and _guards(found).keys() != before.keys()

        await wait_for(is_opened, PATIENCE_S)

        async def tell(*_: object) -> None:
            raise ClusterError("kube-apiserver does not answer")

        monkeypatch.setattr(controlled.egress.reconciler.weights, "tell", tell)
        await client.delete(glass)
        failed = controlled.egress.queue.failures(field.name)

        async def is_looked_at() -> bool:
            found = await cilium_policies(field)
            is_open = "sallyport-break-glass" in found
            return not is_open and controlled.egress.queue.failures(field.name) > failed

        await wait_for(is_looked_at, PATIENCE_S)
        found = _guards(await cilium_policies(field))
        assert {name: found.get(name) for name in before} == before


def _guards(policies: dict[str, Json]) -> dict[str, Json]:
    """Return the specs of guards, by name."""
    found = {name: each["spec"] for name, each in policies.items()}
    return {name: each for name, each in found.items() if name.startswith("sallyport-guard")}


async def test_a_restart_opens_and_closes_nothing(
    apiserver: ApiServer, client: Client, field: Field
) -> None:
    """The policy stays the same one; what has ended meanwhile is closed after the start."""
    settings = settings_of(apiserver.kubeconfig(), OWN)
    async with controlling(settings):
        glass = await break_glass(client, new_name("fire"), field.name)
        before = await _is_open(field)
    async with controlling(settings):
        await field.allow("one", {"cidr": "192.0.2.0/24"})
        await field.settle_reason("one", "Open")
        after = await field.policies()
    for name in GLASS:
        was, now = before[name]["metadata"], after[name]["metadata"]
        assert (was["uid"], was["resourceVersion"]) == (now["uid"], now["resourceVersion"])
    await client.delete(glass)
    async with controlling(settings):
        await _is_closed(field, ONE)


async def test_the_floor_of_the_cluster_opens_no_more(
    apiserver: ApiServer, client: Client, field: Field
) -> None:
    """Reserved addresses are denied above all; no pass is made for a BreakGlass."""
    async with controlling(settings_of(apiserver.kubeconfig(), OWN, {"floor": True})):
        await break_glass(client, new_name("fire"), field.name)
        await _is_open(field)
        path = "/apis/policy.networking.k8s.io/v1alpha2/clusternetworkpolicies"
        floor = {"sallyport-floor", "sallyport-reserved"}

        async def made() -> set[str]:
            _, found = await client.request("GET", path)
            named = {each["metadata"]["name"] for each in found["items"]}
            return {each for each in named if each.startswith("sallyport-")}

        async def is_there() -> bool:
            return await made() >= floor

        await wait_for(is_there, PATIENCE_S)
        assert await made() == floor
