"""Pods in a real kube-apiserver have what their profile fills in, and nothing else new."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import yaml

from tests.harness.evidence import ROOT
from tests.harness.programs.client import Client, Json, Outcome
from tests.harness.worlds.rbac import grant, group, rule, use_of, user

NAMESPACE: Final = "filling"
WIDE: Final = "filling-wide"
POD_TIMEOUT_S: Final = 60.0
TOKEN: Final = "kube-api-access-"


def documented() -> Json:
    """Return the profile that docs/operate/profiles.md shows."""
    page = (ROOT / "docs/operate/profiles.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    found: Json = next(yaml.safe_load(each) for each in blocks if "kind: ContainerProfile" in each)
    return found


def pod(name: str, namespace: str = NAMESPACE, **spec: Any) -> Json:
    """Return a Pod that `restricted` covers but for what it leaves out."""
    container = {
        "name": "main",
        "image": f"registry.example/train@sha256:{64 * 'a'}",
        "resources": {"limits": {"memory": "1Gi"}},
        "securityContext": {"readOnlyRootFilesystem": True, "runAsNonRoot": True},
    }
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
    spec = {"containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.fixture
async def ann(admin: Client) -> AsyncIterator[Client]:
    """Who may use the documented profile in one namespace, and one for everything in another."""
    lenient = documented()
    wide = {**lenient, "metadata": {"name": "wide"}}
    wide["spec"] = {**lenient["spec"], "rank": 5, "privileges": ["**"]}
    await admin.apply([lenient, wide])
    works = rule(["", "apps"], "pods deployments", "get list create update patch delete")
    for namespace, profile in ((NAMESPACE, "lenient"), (WIDE, "wide")):
        await admin.create_namespace(namespace)
        await admin.create_service_account("default", namespace)
        everyone = (user("ann"), group(f"system:serviceaccounts:{namespace}"))
        await admin.apply(grant("use", use_of(profile), *everyone, namespace=namespace))
        await admin.apply(grant("works", works, user("ann"), namespace=namespace))
    person = admin.as_user("ann")
    resource = {"group": "sallyport.dev", "resource": "containerprofiles", "name": "wide"}
    await person.wait_until_can("use", resource | {"namespace": WIDE})
    await _until_filled(person)
    yield person
    await admin.delete(lenient)
    await admin.delete(wide)


async def _until_filled(person: Client) -> None:
    """Wait until the gate's watch has the profiles."""
    deadline = time.monotonic() + POD_TIMEOUT_S
    while time.monotonic() < deadline:
        lenient = await person.dry_run(pod("wait"))
        wide = await person.dry_run(pod("wait", WIDE, hostPID=True))
        if {lenient.outcome, wide.outcome} == {Outcome.ALLOWED}:
            return
        await asyncio.sleep(0.2)
    pytest.fail(f"{lenient.message}; {wide.message}")


def assert_filled(made: Json) -> None:
    """Fail unless everything is there that the documented profile fills in."""
    spec, container = made["spec"], made["spec"]["containers"][0]
    assert made["metadata"]["annotations"]["sallyport.dev/profile"] == "lenient"
    assert spec["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
    }
    assert container["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
    assert spec["automountServiceAccountToken"] is False
    assert not [each for each in spec.get("volumes", []) if each["name"].startswith(TOKEN)]
    assert not container.get("volumeMounts")


async def test_a_persons_pod_is_filled_in(admin: Client, ann: Client) -> None:
    """kube-apiserver's own token goes; without what was filled in it would have been mounted."""
    made = await ann.create(pod("filled"))
    await admin.delete(made)
    assert_filled(made)
    whole = pod("whole", automountServiceAccountToken=True)
    kept = await ann.create(whole)
    await admin.delete(kept)
    assert [each for each in kept["spec"]["volumes"] if each["name"].startswith(TOKEN)]


async def test_a_controllers_pod_is_filled_in_and_its_template_stays(
    admin: Client, ann: Client
) -> None:
    """The Deployment is what its author applied, at its first generation."""
    template = pod("deployed")
    template = {"metadata": {"labels": {"app": "deployed"}}, "spec": template["spec"]}
    deployment: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "deployed", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": "deployed"}}, "template": template},
    }
    made = await ann.create(deployment)
    try:
        pods = await _pods_of(admin, "deployed")
        assert_filled(pods[0])
        now = await admin.get("apps/v1", "Deployment", "deployed", NAMESPACE)
        assert now["metadata"]["generation"] == 1
        context = now["spec"]["template"]["spec"]["containers"][0]["securityContext"]
        assert context == template["spec"]["containers"][0]["securityContext"]
        assert now["spec"]["template"]["spec"]["securityContext"] == {}
    finally:
        await admin.delete(made)


async def _pods_of(admin: Client, name: str) -> list[Json]:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app%3D{name}"
    deadline = time.monotonic() + POD_TIMEOUT_S
    while time.monotonic() < deadline:
        _, found = await admin.request("GET", path)
        if found["items"]:
            return list(found["items"])
        await asyncio.sleep(0.2)
    pytest.fail(f"no Pod of {name}")


async def test_what_the_profile_demands_is_not_filled_in(ann: Client) -> None:
    """A Pod that is refused as written is refused, though defaults would have made it good."""
    bad = pod("bad")
    del bad["spec"]["containers"][0]["resources"]
    answer = await ann.dry_run(bad)
    assert answer.outcome is Outcome.DENIED
    assert "limits/unset/memory" in answer.message


@pytest.mark.parametrize(
    ("of_pod", "of_container"),
    [
        ({}, {"privileged": True}),
        ({}, {"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}}),
        ({}, {"capabilities": {"add": ["SYS_ADMIN"]}}),
        ({}, {"capabilities": {"add": ["CAP_SYS_ADMIN"]}}),
        ({}, {"capabilities": {"add": ["ALL"]}}),
        ({}, {"capabilities": {}}),
        ({}, {"allowPrivilegeEscalation": True}),
        ({}, {"seccompProfile": {"type": "Unconfined"}}),
        ({}, {}),
        ({}, None),
        ({"os": {"name": "windows"}, "securityContext": {}}, None),
        ({"hostNetwork": True, "hostPID": True}, None),
        ({"hostUsers": False}, None),
        ({"securityContext": {"runAsUser": 0}}, {"procMount": "Default"}),
    ],
)
async def test_kube_apiserver_takes_whatever_is_filled_in(
    ann: Client, of_pod: Json, of_container: Json | None
) -> None:
    """What it would take without defaults it takes with them: nothing forbidden is added."""
    made = pod("any", WIDE, **of_pod)
    made["spec"]["containers"][0]["securityContext"] = of_container
    answer = await ann.dry_run(made)
    assert answer.outcome is Outcome.ALLOWED, answer.message
