"""Kinds that nobody listed: control finds their definitions, and the gate judges their objects."""

import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from prometheus_client import CollectorRegistry

from control.discovery.loop import Discovery
from control.discovery.workload_kinds import NAME, DiscoveryChoices
from control.loop import LoopMetrics, RunningLoop
from core.base.background import in_background
from core.base.errors import ClusterError
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from tests.api.kube.objects import new_name, wait_for
from tests.api.workloads.conftest import TRAIN
from tests.harness.programs.client import Client, Json, Outcome
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.worlds.pods import RESTRICTED
from tests.harness.worlds.rbac import grant, rule, user

CONTAINER: Json = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "image": {"type": "string"}},
    "x-kubernetes-preserve-unknown-fields": True,
}
POD_SPEC: Json = {
    "type": "object",
    "properties": {"containers": {"type": "array", "items": CONTAINER}},
    "x-kubernetes-preserve-unknown-fields": True,
}
TEMPLATE: Json = {
    "type": "object",
    "properties": {"metadata": {"type": "object"}, "spec": POD_SPEC},
}
PLAIN: Json = {"type": "object", "properties": {"size": {"type": "integer"}}}
HIDDEN: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def workers(part: Json) -> Json:
    """Return the schema of a `spec` with a list of workers, each with `part` as its template."""
    worker = {"type": "object", "properties": {"template": part}}
    return {"type": "object", "properties": {"workers": {"type": "array", "items": worker}}}


class Kind:
    """A kind of a test's own, and its definition."""

    def __init__(self, spec: Json, scope: str = "Namespaced") -> None:
        self.plural = new_name("widgets").replace("-", "")
        self.group = f"{self.plural}.example.com"
        self.name = f"{self.plural}.{self.group}"
        self.kind = self.plural.capitalize()
        self.scope = scope
        self.spec = spec

    def definition(self) -> Json:
        """Return the definition: two served versions with the same schema."""
        schema = {"type": "object", "properties": {"spec": self.spec}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "scope": self.scope,
                "names": {"kind": self.kind, "plural": self.plural},
                "versions": [
                    {
                        "name": version,
                        "served": True,
                        "storage": version == "v1",
                        "schema": {"openAPIV3Schema": schema},
                    }
                    for version in ("v1", "v2")
                ],
            },
        }

    def sample(self, version: str = "v1", **spec: object) -> Json:
        """Return an object with one worker, whose Pods are restricted but for `spec`."""
        pod = {"spec": {**RESTRICTED.pod()["spec"], **spec}}
        made: Json = {
            "apiVersion": f"{self.group}/{version}",
            "kind": self.kind,
            "metadata": {"name": "sample"},
            "spec": {"workers": [{"template": pod}]},
        }
        if self.scope == "Namespaced":
            made["metadata"]["namespace"] = TRAIN
        return made


KINDS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
ADMISSION = "admissionregistration.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COVERED_S = 10.0
LEADER = Leadership(1, math.inf, time.monotonic)

Serve = Callable[[Kind], AbstractAsyncContextManager[None]]
"""Serves a kind for a while."""


@pytest.fixture
async def objects(installation: Installation, admin: Client) -> AsyncIterator[Objects]:
    """The cluster, with both registrations as the chart makes them; they are gone afterwards."""
    empty: list[Json] = [
        {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": NAME}} for kind in KINDS
    ]
    await admin.apply(empty)
    connection = Connection(installation.apiserver.kubeconfig())
    await connection.open()
    yield Objects(connection, 4.0)
    await connection.close()
    for resource in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
        await admin.request("DELETE", f"/apis/{ADMISSION}/{resource}/{NAME}")


@pytest.fixture
async def serve(admin: Client) -> Serve:
    """Return what has a kind served for a while, to Alice too."""

    @asynccontextmanager
    async def serving(kind: Kind) -> AsyncIterator[None]:
        await admin.apply([kind.definition()])
        await admin.wait_for_kind(f"{kind.group}/v2", kind.kind)
        works = rule([kind.group], "*", "*")
        await admin.apply(grant(f"alice-{kind.plural}", works, user("alice")))
        try:
            yield
        finally:
            await admin.request("DELETE", f"{DEFINITIONS}/{kind.name}")

    return serving


@asynccontextmanager
async def running(
    objects: Objects, wanted: DiscoveryChoices | None = None
) -> AsyncIterator[LoopMetrics]:
    """Run the loop as the leader does."""
    metrics = LoopMetrics(CollectorRegistry())
    loop = RunningLoop(Discovery(objects, metrics.registry, wanted).loop, metrics)
    async with in_background(loop.keep_running(LEADER)):
        yield metrics


async def webhook(admin: Client, kind: str = KINDS[0]) -> Json:
    """Return the one webhook of a registration; nothing where there is none yet."""
    webhooks = (await admin.get(ADMISSION, kind, NAME)).get("webhooks") or [{}]
    found: Json = webhooks[0]
    return found


async def groups(admin: Client) -> list[str]:
    """Return the groups that are covered."""
    return [each["apiGroups"][0] for each in (await webhook(admin)).get("rules") or []]


def shown(metrics: LoopMetrics) -> float | None:
    """Return how many kinds the metric shows."""
    return metrics.registry.get_sample_value("sallyport_discovered_kinds")


@pytest.mark.parametrize("scope", ["Namespaced", "Cluster"])
async def test_a_kind_that_comes_is_covered_within_ten_seconds(
    scope: str, admin: Client, alice: Client, objects: Objects, serve: Serve
) -> None:
    """No setting names it: a bad object is refused in every version, a good one is noted."""
    kind, plain = Kind(workers(TEMPLATE), scope), Kind(PLAIN)
    async with running(objects) as metrics, serve(plain), serve(kind):
        assert (await alice.dry_run(kind.sample(hostNetwork=True))).outcome is Outcome.ALLOWED

        async def refused() -> bool:
            return (await alice.dry_run(kind.sample(hostPID=True))).outcome is Outcome.DENIED

        await wait_for(refused, COVERED_S)
        bad = await alice.dry_run(kind.sample("v2", hostPID=True))
        assert "spec.workers[0].template.spec.hostPID" in bad.message
        assert (await alice.dry_run(kind.sample())).outcome is Outcome.ALLOWED
        status, made = await alice.request("POST", path_of(kind), kind.sample())
        assert status == 201, made
        assert made["metadata"]["annotations"]["sallyport.dev/requester"]
        assert await groups(admin) == [kind.group]
        assert shown(metrics) == 1
        _, events = await admin.request("GET", "/api/v1/namespaces/default/events")
        told = [each for each in events["items"] if each["involvedObject"]["name"] == kind.name]
        assert [each["reason"] for each in told] == ["PodTemplatesFound"]
        assert "spec.workers[*].template" in told[0]["message"]


def path_of(kind: Kind) -> str:
    """Return the collection of a kind's objects."""
    place = f"namespaces/{TRAIN}/" if kind.scope == "Namespaced" else ""
    return f"/apis/{kind.group}/v1/{place}{kind.plural}"


async def test_its_webhooks_go_by_the_charts(admin: Client, objects: Objects, serve: Serve) -> None:
    """The same gate, CA and namespaces; they fail open, and AKS leaves them as they are."""
    kind = Kind(workers(TEMPLATE))
    async with serve(kind):
        await Discovery(objects, CollectorRegistry()).run(LEADER)
    models = ("workloads.sallyport.dev", "notes.sallyport.dev")
    for registration, model in zip(KINDS, models, strict=True):
        made = await webhook(admin, registration)
        chart = (await admin.get(ADMISSION, registration, "sallyport"))["webhooks"]
        (shipped,) = [each for each in chart if each["name"] == model]
        for field in ("clientConfig", "namespaceSelector", "timeoutSeconds"):
            assert made[field] == shipped[field]
        assert made["failurePolicy"] == "Ignore"
        expected = {
            "apiGroups": [kind.group],
            "apiVersions": ["v1", "v2"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [kind.plural],
            "scope": "Namespaced",
        }
        assert made["rules"] == [expected]
        annotations = (await admin.get(ADMISSION, registration, NAME))["metadata"]["annotations"]
        assert annotations["admissions.enforcer/disabled"] == "true"


async def test_hidden_templates_are_searched_for_where_the_operator_says_so(
    admin: Client, alice: Client, objects: Objects, serve: Serve
) -> None:
    """A schema that keeps unknown fields is no sign by itself; what is skipped is left alone."""
    named, other, skipped = Kind(HIDDEN), Kind(HIDDEN), Kind(workers(TEMPLATE))
    wanted = DiscoveryChoices(frozenset({named.name}), frozenset({skipped.name}))
    async with serve(named), serve(other), serve(skipped), running(objects, wanted):

        async def refused() -> bool:
            return (await alice.dry_run(named.sample(hostPID=True))).outcome is Outcome.DENIED

        await wait_for(refused, COVERED_S)
        assert await groups(admin) == [named.group]
        for kind in (other, skipped):
            taken = await alice.dry_run(kind.sample(hostPID=True))
            assert taken.outcome is Outcome.ALLOWED


async def test_definitions_that_change_and_go_are_followed(
    admin: Client, objects: Objects, serve: Serve
) -> None:
    """A template that comes with a new schema, one that goes with it, a kind that goes whole."""
    changing, going = Kind(PLAIN), Kind(workers(POD_SPEC))
    discovery = Discovery(objects, CollectorRegistry())

    async def becomes(*expected: Kind) -> None:
        async def so() -> bool:
            await discovery.run(LEADER)
            return await groups(admin) == sorted(each.group for each in expected)

        await wait_for(so, COVERED_S)

    async with serve(changing), serve(going):
        await becomes(going)
        changing.spec = workers(TEMPLATE)
        await admin.apply([changing.definition()])
        await becomes(changing, going)
        await admin.delete(going.definition())
        await becomes(changing)
        changing.spec = PLAIN
        await admin.apply([changing.definition()])
        await becomes()


async def test_what_others_write_is_set_back_and_what_they_add_is_left(
    admin: Client, objects: Objects, serve: Serve
) -> None:
    """Its webhook is its own, with the kinds in it; another one beside it is theirs."""
    kind = Kind(workers(TEMPLATE))
    discovery = Discovery(objects, CollectorRegistry())
    path = f"/apis/{ADMISSION}/validatingwebhookconfigurations/{NAME}"
    async with serve(kind):
        await discovery.run(LEADER)
        live = await admin.get(ADMISSION, KINDS[0], NAME)
        live["webhooks"][0] |= {"failurePolicy": "Fail", "rules": []}
        live["webhooks"].append({**live["webhooks"][0], "name": "theirs.example.com"})
        assert (await admin.request("PUT", path, live))[0] == 200
        await discovery.run(LEADER)
        made = await admin.get(ADMISSION, KINDS[0], NAME)
        own, theirs = made["webhooks"]
        assert (own["failurePolicy"], len(own["rules"])) == ("Ignore", 1)
        assert (theirs["name"], theirs["failurePolicy"]) == ("theirs.example.com", "Fail")
        version = made["metadata"]["resourceVersion"]
        await discovery.run(LEADER)
        made = await admin.get(ADMISSION, KINDS[0], NAME)
        assert made["metadata"]["resourceVersion"] == version


async def test_a_registration_that_is_taken_away_is_not_made_again(
    admin: Client, objects: Objects, serve: Serve
) -> None:
    """Whoever takes Sallyport out of a cluster has nothing come back; no kind counts as covered."""
    registry = CollectorRegistry()
    async with serve(Kind(workers(TEMPLATE))):
        for kind in KINDS:
            await admin.delete({"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": NAME}})
        await Discovery(objects, registry).run(LEADER)
        assert registry.get_sample_value("sallyport_discovered_kinds") == 0
        for kind in ("validating", "mutating"):
            path = f"/apis/{ADMISSION}/{kind}webhookconfigurations/{NAME}"
            assert (await admin.request("GET", path))[0] == 404


async def test_without_the_right_it_says_so(admin: Client, installation: Installation) -> None:
    """The error names the request and what to apply; the loop logs it once and goes on trying."""
    await admin.create_service_account("nobody", TRAIN)
    token = await admin.create_token("nobody", TRAIN)
    connection = Connection(installation.apiserver.kubeconfig_for_token("nobody", token))
    await connection.open()
    try:
        with pytest.raises(ClusterError, match=r"403 .*RBAC, is applied") as raised:
            await Discovery(Objects(connection, 4.0), CollectorRegistry()).run(LEADER)
        assert raised.value.status == 403
    finally:
        await connection.close()
