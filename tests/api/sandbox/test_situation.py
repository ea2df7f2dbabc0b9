"""What only the request shows tips a careless Pod: a Service to the outside, a visitor."""

from typing import Any

import pytest

from tests.api.kube.objects import new_name, wait_for
from tests.api.sandbox.conftest import LABEL, ask, pod_of
from tests.harness.programs.client import Client, Json

CARELESS = {
    # 10 for the tag, 5 for the limits, 10 for the token, 15 for the account, which is new here.
    "automountServiceAccountToken": True,
    "containers": [{"name": "main", "image": "registry.example/serve:latest"}],
}


@pytest.fixture
async def risky(admin: Client) -> str:
    """A namespace that goes by risk."""
    name = new_name("by-risk")
    await admin.create_namespace(name, {LABEL: "by-risk"})
    await admin.create_service_account("default", name)
    return name


async def _class_of(person: Client, pod: Json) -> str | None:
    status, answer = await ask(person, pod)
    assert status == 201, answer
    found: dict[str, Any] = answer["spec"]
    return found.get("runtimeClassName")


async def _exec(person: Client, pod: Json) -> str:
    place = pod["metadata"]
    path = f"/api/v1/namespaces/{place['namespace']}/pods/{place['name']}/exec?command=id"
    _, answer = await person.request("POST", path)
    return str(answer.get("message"))


async def test_a_service_that_opens_a_pod_puts_it_into_the_sandbox(
    admin: Client, eve: Client, risky: str
) -> None:
    """The same Pod, before and after: the webhook sets the class as soon as the gate knows."""
    pod = pod_of("serve", risky, **CARELESS)
    assert await _class_of(eve, pod) is None
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "front", "namespace": risky},
        "spec": {"type": "NodePort", "selector": {"app": "serve"}, "ports": [{"port": 80}]},
    }
    await admin.create(service)

    async def is_sandboxed() -> bool:
        return await _class_of(eve, pod) == "gvisor"

    await wait_for(is_sandboxed, 10)
    assert await _class_of(eve, pod_of("other", risky, **CARELESS)) is None


async def test_who_enters_needs_a_sandbox_around(eve: Client, risky: str) -> None:
    """What runs outside by right is closed to commands; in the sandbox it is open."""
    outside = pod_of("outside", risky, **CARELESS)
    inside = pod_of("inside", risky, runtimeClassName="gvisor", **CARELESS)
    for pod in (outside, inside):
        await eve.create(pod)
    refused = await _exec(eve, outside)
    assert "sandbox/entered" in refused
    assert "Have outside created anew" in refused
    assert "sallyport" not in await _exec(eve, inside)
