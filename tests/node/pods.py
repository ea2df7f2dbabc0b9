"""Pods that run a few commands on the node, and what became of them."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.harness.programs.client import Client, Json
from tests.harness.programs.node.images import BUSYBOX

TIMEOUT_S: Final = 60.0
POLL_S: Final = 0.1

WHERE: Final = "cat /proc/version; dmesg || true"
"""Says which kernel it runs on. The machine's own may keep `dmesg` to itself."""


@dataclass(frozen=True)
class Ran:
    """A Pod that has ended, and what it printed."""

    pod: Json
    printed: str

    @property
    def runtime_class(self) -> str | None:
        """The RuntimeClass that it ended up with."""
        name = self.pod["spec"].get("runtimeClassName")
        return None if name is None else str(name)

    @property
    def under_gvisor(self) -> bool:
        """Whether what it printed is of gVisor's kernel, by both signs."""
        version, *messages = self.printed.splitlines()
        return "4.19.0-gvisor" in version and "Starting gVisor" in messages[0]


def spec(command: str, **fields: object) -> Json:
    """Return a Pod's spec that a restricted profile covers, but for `fields`."""
    container = {
        "name": "main",
        "image": BUSYBOX,
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", command],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "resources": {"limits": {"cpu": "1", "memory": "128Mi"}},
    }
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        **fields,
    }


def pod(
    namespace: str,
    name: str,
    command: str = WHERE,
    labels: Mapping[str, str] | None = None,
    **fields: object,
) -> Json:
    """Return a Pod of that spec."""
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec(command, **fields),
    }


async def run(client: Client, item: Json) -> Ran:
    """Create a Pod and wait until it has ended well.

    Raises:
        AssertionError: it failed, or has not ended in time; with its status and events.
    """
    await client.create(item)
    return await ended(client, item["metadata"]["namespace"], item["metadata"]["name"])


async def ended(client: Client, namespace: str, name: str, *, timestamps: bool = False) -> Ran:
    """Wait until a Pod that is there has ended well."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        found = await client.get("v1", "Pod", name, namespace)
        if found["status"]["phase"] in {"Succeeded", "Failed"}:
            break
        if time.monotonic() > deadline:
            said = await events(client, namespace, name)
            raise AssertionError(f"{name} has not ended: {found['status']}: {said}")
        await asyncio.sleep(POLL_S)
    parameters = {"timestamps": "true"} if timestamps else {}
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/log"
    status, answer = await client.request("GET", path, parameters=parameters)
    assert found["status"]["phase"] == "Succeeded", (found["status"], answer)
    assert status == 200, answer
    return Ran(found, answer["message"])


async def named(client: Client, namespace: str, labels: str) -> str:
    """Wait for the first Pod with these labels and return its name."""
    deadline = time.monotonic() + TIMEOUT_S
    path = f"/api/v1/namespaces/{namespace}/pods"
    while True:
        _, answer = await client.request("GET", path, parameters={"labelSelector": labels})
        if answer["items"]:
            return str(answer["items"][0]["metadata"]["name"])
        assert time.monotonic() < deadline, f"no Pod with {labels}"
        await asyncio.sleep(POLL_S)


async def refused_by_node(
    client: Client, namespace: str, name: str, reason: str = "FailedCreatePodSandBox"
) -> str:
    """Wait until the node has said why it cannot start a Pod, and return that.

    Raises:
        AssertionError: it has not in time; with the events there are.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        said = await events(client, namespace, name)
        for each in said:
            if each.startswith(f"{reason}:"):
                return each
        assert time.monotonic() < deadline, said
        await asyncio.sleep(POLL_S)


async def events(client: Client, namespace: str, name: str) -> list[str]:
    """Return what the events about a Pod say."""
    _, answer = await client.request("GET", f"/api/v1/namespaces/{namespace}/events")
    about = [each for each in answer["items"] if each["involvedObject"]["name"] == name]
    return [f"{each['reason']}: {each['message']}" for each in about]
