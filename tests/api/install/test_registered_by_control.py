"""control registers the webhooks once kube-apiserver reaches a gate, and keeps them as they are."""

import base64
import contextlib
import copy
import json
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from control.registrations.loop import IN_A_ROW, PATIENCE_S, Registrations
from core.base.errors import ClusterError, InvalidObjectError
from kube.client.objects import open_objects
from kube.leader.lease import Leadership
from tests.api.install.conftest import WHEN_READY
from tests.api.install.questions import MERGE, created
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, Json
from tests.harness.programs.gate import Gate
from tests.harness.programs.helm import NAMESPACE, RELEASE, Helm, Values
from tests.harness.programs.ports import free_ports

EVENTS = "/api/v1/namespaces/default/events"
FOREVER = Leadership(1, 1.0, lambda: 0.0)
ROOT = "/apis/admissionregistration.k8s.io/v1"
VALIDATING = f"{ROOT}/validatingwebhookconfigurations"
MUTATING = f"{ROOT}/mutatingwebhookconfigurations"
POLICIES = f"{ROOT}/validatingadmissionpolicies"
BINDINGS = f"{ROOT}/validatingadmissionpolicybindings"
CONFIGMAP = f"/api/v1/namespaces/{NAMESPACE}/configmaps/sallyport-registrations"


@dataclass
class Rig:
    """control's loop, as its own account, on a cluster on which the chart is installed."""

    admin: Client
    apiserver: ApiServer
    folder: Path
    loop: Registrations
    registry: CollectorRegistry
    port: int
    now: list[float] = field(default_factory=lambda: [0.0])
    gate: Gate | None = None
    key: str = ""
    """Of the ConfigMap's content."""

    async def lead(self) -> None:
        """Have kube-apiserver reach the gate on loopback: this cluster has no Services' network."""
        _, configmap = await self.admin.request("GET", CONFIGMAP)
        ((self.key, said),) = configmap["data"].items()
        wanted = json.loads(said)
        for item in wanted:
            self._lead(item)
        body = {"data": {self.key: json.dumps(wanted)}}
        await self.patch(CONFIGMAP, body)
        _, probe = await self.admin.request("GET", f"{VALIDATING}/sallyport-probe")
        self._lead(probe)
        pem = base64.b64encode(self.apiserver.authority.pem).decode()
        probe["webhooks"][0]["clientConfig"]["caBundle"] = pem
        await self.patch(f"{VALIDATING}/sallyport-probe", {"webhooks": probe["webhooks"]})

    def _lead(self, item: Json) -> None:
        for hook in item.get("webhooks", ()):
            service = hook["clientConfig"].pop("service")
            hook["clientConfig"]["url"] = f"https://127.0.0.1:{self.port}{service['path']}"

    async def upgrade(self, helm: Helm, values: Values) -> None:
        """Upgrade as Helm 4 does; what `lead` changed is Helm's to make again."""
        for path in (CONFIGMAP, f"{VALIDATING}/sallyport-probe"):
            await self.admin.request("DELETE", path)
        helm.install(self.apiserver.kubeconfig(), values, *WHEN_READY, "--server-side=true")

    async def patch(self, path: str, body: Json) -> None:
        """Change an object, as an administrator."""
        status, answer = await self.admin.request("PATCH", path, body, content_type=MERGE)
        assert status == 200, answer

    async def start_gate(self) -> None:
        """Start a gate, as its own account."""
        token = await self.admin.create_token("sallyport-gate", NAMESPACE)
        kubeconfig = self.apiserver.kubeconfig_for_token("gate", token)
        authority = self.apiserver.authority
        self.gate = Gate(self.folder, authority, kubeconfig, port=self.port)

    async def look(self, seconds: float = 0.0) -> None:
        """Have control look, so much later."""
        self.now[0] += seconds
        await self.loop.run(FOREVER)

    def metric(self, name: str, /, **labels: str) -> float | None:
        """Return what `/metrics` shows."""
        return self.registry.get_sample_value(name, labels)

    def healthy(self, kind: str, name: str) -> float | None:
        """Return whether one is shown as healthy."""
        return self.metric("sallyport_registration_healthy", kind=kind, name=name)

    def changed(self, kind: str, name: str) -> float:
        """Return how often somebody changed one."""
        return self.metric("sallyport_registration_changed_total", kind=kind, name=name) or 0.0

    async def webhooks(self, path: str = f"{VALIDATING}/sallyport") -> list[Json]:
        """Return the webhooks of a configuration."""
        _, found = await self.admin.request("GET", path)
        webhooks: list[Json] = found.get("webhooks") or []
        return webhooks

    async def events(self, reason: str) -> list[str]:
        """Return the messages of Events."""
        _, found = await self.admin.request("GET", EVENTS)
        return [each["message"] for each in found["items"] if each["reason"] == reason]


def kubectl(apiserver: ApiServer, helm: Helm, *words: str) -> None:
    """Have kubectl do something with what Helm renders."""
    rendered = helm.template({"webhooks": {"whenReady": True}}, NAMESPACE, "--no-hooks")
    subprocess.run(
        [require("kubectl"), *words, "--kubeconfig", apiserver.kubeconfig(), "-f", "-"],
        input=rendered,
        text=True,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def installed(
    apiserver: ApiServer,
    helm: Helm,
    taken_away: tuple[str, ...],
    request: pytest.FixtureRequest,
) -> Iterator[None]:
    """The chart, installed by Helm, or by words of kubectl's."""
    way: str = getattr(request, "param", "helm")
    if way == "helm":
        helm.install(apiserver.kubeconfig(), {}, *WHEN_READY)
        yield
        return
    for _ in range(2):  # As it is reconciled again.
        kubectl(apiserver, helm, *way.split())
    yield
    kubectl(apiserver, helm, "delete", "--ignore-not-found", "--wait=false")


@pytest.fixture
async def rig(
    admin: Client, apiserver: ApiServer, installed: None, tmp_path: Path
) -> AsyncIterator[Rig]:
    """The chart, and control's loop on it; no gate runs yet."""
    await admin.request("DELETE", EVENTS)
    token = await admin.create_token("sallyport-control", NAMESPACE)
    (port,) = free_ports(1)
    registry, now = CollectorRegistry(), [0.0]
    kubeconfig = apiserver.kubeconfig_for_token("control", token)
    async with open_objects(kubeconfig) as objects:
        loop = Registrations(
            objects, NAMESPACE, registry, release=version("sallyport"), tick=lambda: now[0]
        )
        made = Rig(admin, apiserver, tmp_path, loop, registry, port, now)
        try:
            yield made
        finally:
            if made.gate is not None:
                made.gate.stop()
            # No garbage collector runs here, to take away what control created again.
            for path in (f"{VALIDATING}/sallyport", f"{MUTATING}/sallyport"):
                await admin.request("DELETE", path)


@pytest.mark.parametrize("installed", ["helm", "apply", "apply --server-side"], indirect=True)
async def test_one_installation_is_enough(rig: Rig) -> None:
    """Nobody is refused before a gate answers; then what may not be is, without a second step.

    As Flux and Terraform do, which run Helm; and as what applies rendered manifests does, twice.
    """
    await rig.lead()
    await rig.look()
    assert await rig.webhooks() == []
    assert (await created(rig.admin))[0] == 201
    assert rig.metric("sallyport_gate_reached") == 0
    assert rig.healthy("ValidatingWebhookConfiguration", "validate.sallyport.dev") == 0

    await rig.start_gate()
    for _ in range(IN_A_ROW - 1):
        await rig.look(5)
        assert await rig.webhooks() == []
    await rig.look(5)
    names_there = [each["name"] for each in await rig.webhooks()]
    assert names_there[0] == "validate.sallyport.dev"
    assert len(names_there) == 9
    assert len(await rig.webhooks(f"{MUTATING}/sallyport")) == 3
    assert all(each["clientConfig"]["caBundle"] for each in await rig.webhooks())
    await rig.look(5)
    assert rig.metric("sallyport_gate_reached") == 1
    assert rig.healthy("ValidatingWebhookConfiguration", "validate.sallyport.dev") == 1
    assert rig.changed("ValidatingWebhookConfiguration", "validate.sallyport.dev") == 0
    assert len(await rig.events("WebhooksRegistered")) == 2
    assert not await rig.events("RegistrationRestored")


VALIDATE = ("ValidatingWebhookConfiguration", "validate.sallyport.dev")
GUARD = ("ValidatingAdmissionPolicy", "kinds-guard.sallyport.dev")
BOUND = ("ValidatingAdmissionPolicyBinding", "backstop.sallyport.dev")


async def registered(rig: Rig) -> None:
    """Register, with a gate that answers."""
    await rig.lead()
    await rig.start_gate()
    for _ in range(IN_A_ROW + 1):
        await rig.look(5)
    assert rig.healthy(*VALIDATE) == 1


def edit(field: str, value: object) -> Callable[[list[Json]], object]:
    """Return a change of a field of the first webhook."""

    def change(webhooks: list[Json]) -> None:
        webhooks[0][field] = value

    return change


NOWHERE: Json = {"matchLabels": {"kubernetes.io/metadata.name": "nowhere"}}
RULE: Json = {"apiGroups": ["x"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["x"]}
CHANGES: dict[str, Callable[[list[Json]], object]] = {
    "missing": lambda webhooks: webhooks.pop(0),
    "rules": edit("rules", [RULE]),
    "namespaceSelector": edit("namespaceSelector", NOWHERE),
    "objectSelector": edit("objectSelector", {"matchLabels": {"failurePolicy": "Fail"}}),
    "matchConditions": edit("matchConditions", [{"name": "never", "expression": "false"}]),
    "failurePolicy": edit("failurePolicy", "Ignore"),
    "timeoutSeconds": edit("timeoutSeconds", 1),
    "order": lambda webhooks: webhooks.reverse(),
}


async def test_a_webhook_that_somebody_changes_is_put_back_and_told(rig: Rig) -> None:
    """Whatever they change of it; counted, with an Event, and the CA stays."""
    await registered(rig)
    before = await rig.webhooks()
    path = f"{VALIDATING}/sallyport"
    for at, (what, change) in enumerate(CHANGES.items(), start=1):
        webhooks = copy.deepcopy(before)
        change(webhooks)
        await rig.patch(path, {"webhooks": webhooks})
        await rig.look(5)
        assert await rig.webhooks() == before, what
        kind, first = VALIDATE
        told = await rig.events("RegistrationRestored")
        assert sum(f"{first} ({what})" in each for each in told) == 1, (what, told)
        assert rig.changed(kind, first) == at
        assert rig.healthy(*VALIDATE) == 0
        await rig.look(5)
        assert rig.healthy(*VALIDATE) == 1


async def test_a_registration_that_somebody_deletes_is_put_back(rig: Rig) -> None:
    """Not at once: an uninstallation deletes it too; and it goes with the chart's ClusterRole."""
    await registered(rig)
    before = await rig.webhooks()
    await rig.admin.request("DELETE", f"{VALIDATING}/sallyport")
    await rig.look(5)
    assert await rig.webhooks() == []
    assert rig.healthy(*VALIDATE) == 0
    await rig.look(PATIENCE_S)
    assert await rig.webhooks() == before
    assert rig.changed(*VALIDATE) == 1
    _, made = await rig.admin.request("GET", f"{VALIDATING}/sallyport")
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("ClusterRole", "sallyport-control")
    await rig.look(5)
    assert rig.healthy(*VALIDATE) == 1


async def test_nothing_is_put_back_while_no_gate_answers(rig: Rig) -> None:
    """Whoever took the webhooks away because gates are down is not locked out by control."""
    await registered(rig)
    assert rig.gate is not None
    rig.gate.stop()
    await rig.admin.request("DELETE", f"{VALIDATING}/sallyport")
    for _ in range(3):
        await rig.look(PATIENCE_S)
    assert await rig.webhooks() == []
    assert rig.metric("sallyport_gate_reached") == 0
    assert len(await rig.webhooks(f"{MUTATING}/sallyport")) == 3


async def test_policies_are_put_back_and_stay_helms(rig: Rig, helm: Helm) -> None:
    """One that is changed, one that is deleted; the next upgrade finds no conflict."""
    await rig.lead()
    _, before = await rig.admin.request("GET", f"{POLICIES}/{GUARD[1]}")
    spec = {"matchConditions": [{"name": "never", "expression": "false"}]}
    await rig.patch(f"{POLICIES}/{GUARD[1]}", {"spec": spec})
    await rig.admin.request("DELETE", f"{BINDINGS}/{BOUND[1]}")
    await rig.look(5)
    assert (rig.healthy(*GUARD), rig.healthy(*BOUND)) == (0, 0)
    await rig.look(PATIENCE_S)
    await rig.look(5)
    assert (rig.healthy(*GUARD), rig.healthy(*BOUND)) == (1, 1)
    assert (rig.changed(*GUARD), rig.changed(*BOUND)) == (1, 1)
    _, after = await rig.admin.request("GET", f"{POLICIES}/{GUARD[1]}")
    assert after["spec"] == before["spec"]
    for path in (f"{POLICIES}/{GUARD[1]}", f"{BINDINGS}/{BOUND[1]}"):
        _, found = await rig.admin.request("GET", path)
        managers = {each["manager"] for each in found["metadata"].get("managedFields") or ()}
        assert "control" not in str(managers)
    values = {"webhooks": {"excludedNamespaces": ["calico-system"]}}
    await rig.upgrade(helm, values)


async def test_an_upgrade_registers_what_it_changes_and_is_nobodys_attack(
    rig: Rig, helm: Helm
) -> None:
    """The webhooks stay where they are until then, with their CA."""
    await registered(rig)
    values = {"webhooks": {"validating": {"timeoutSeconds": 7}}}
    await rig.upgrade(helm, values)
    assert {each["timeoutSeconds"] for each in await rig.webhooks()} == {10}
    await rig.lead()
    await rig.look(5)
    assert {each["timeoutSeconds"] for each in await rig.webhooks()} == {7}
    assert all(each["clientConfig"]["caBundle"] for each in await rig.webhooks())
    assert rig.changed(*VALIDATE) == 0
    assert not await rig.events("RegistrationRestored")


async def test_nothing_is_put_back_after_the_chart_was_taken_away(
    rig: Rig, helm: Helm, taken_away: tuple[str, ...]
) -> None:
    """No registration is left that nobody answers, though control still runs."""
    await registered(rig)
    helm.run("uninstall", RELEASE, "--no-hooks", *taken_away)
    for _ in range(3):
        with contextlib.suppress(ClusterError):  # Its rights are gone as well.
            await rig.look(PATIENCE_S)
    assert await rig.webhooks() == []
    assert (await created(rig.admin))[0] == 201


async def test_nothing_is_put_back_while_the_chart_goes(rig: Rig) -> None:
    """Its ClusterRole, which owns what control creates, is gone; another gives the same rights."""
    await registered(rig)
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    _, own = await rig.admin.request("GET", f"{role}/sallyport-control")
    group = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": "sallyport-control", "namespace": NAMESPACE}
    same = {"apiVersion": f"{group}/v1", "metadata": {"name": "as-control"}}
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": "as-control"}
    await rig.admin.apply(
        [
            {**same, "kind": "ClusterRole", "rules": own["rules"]},
            {**same, "kind": "ClusterRoleBinding", "subjects": [account], "roleRef": reference},
        ]
    )
    await rig.admin.request("DELETE", f"{role}/sallyport-control")
    await rig.admin.request("DELETE", f"{VALIDATING}/sallyport")
    try:
        for _ in range(3):
            await rig.look(PATIENCE_S)
        assert await rig.webhooks() == []
        assert rig.healthy(*VALIDATE) == 0
    finally:
        for path in (role, role.replace("clusterroles", "clusterrolebindings")):
            await rig.admin.request("DELETE", f"{path}/as-control")


async def test_what_cannot_be_read_is_not_healthy(rig: Rig) -> None:
    """Whoever takes a right from control does not hide what they change."""
    await registered(rig)
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/sallyport-control"
    _, own = await rig.admin.request("GET", role)
    less = [
        {**each, "resourceNames": [one for one in names if one != "sallyport"]}
        if "sallyport" in (names := each.get("resourceNames") or [])
        else each
        for each in own["rules"]
    ]
    await rig.patch(role, {"rules": less})
    deadline = time.monotonic() + 20
    while rig.healthy(*VALIDATE) != 0:
        assert time.monotonic() < deadline
        with contextlib.suppress(ClusterError):
            await rig.look(5)
    assert rig.healthy(*GUARD) == 1


async def test_a_control_of_another_release_leaves_all_as_it_is(rig: Rig) -> None:
    """In an upgrade the ConfigMap is new before the processes are."""
    await registered(rig)
    _, configmap = await rig.admin.request("GET", CONFIGMAP)
    data = {rig.key: None, "objects-99.0.0.json": configmap["data"][rig.key]}
    await rig.patch(CONFIGMAP, {"data": data})
    await rig.admin.request("DELETE", f"{VALIDATING}/sallyport")
    for _ in range(3):
        await rig.look(PATIENCE_S)
    assert await rig.webhooks() == []
    assert rig.healthy(*VALIDATE) is None


async def test_what_the_chart_says_is_read_or_said_to_be_missing(rig: Rig) -> None:
    """A ConfigMap that somebody broke or deleted: nothing is healthy, and the fix is named."""
    await registered(rig)
    await rig.patch(CONFIGMAP, {"data": {rig.key: "[{}]"}})
    with pytest.raises(InvalidObjectError, match=r"objects-.*json: .* run helm upgrade"):
        await rig.look()
    assert (rig.healthy(*VALIDATE), rig.healthy(*GUARD)) == (0, 0)
    await rig.admin.request("DELETE", CONFIGMAP)
    with pytest.raises(InvalidObjectError, match="is missing: run helm upgrade"):
        await rig.look()
    assert rig.healthy(*VALIDATE) == 0
