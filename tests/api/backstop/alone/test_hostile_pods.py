"""No Pod is so large that the back-stop gives up on it: its errors would let it in."""

from typing import Any

import pytest

from tests.api.backstop.alone.conftest import SPACE
from tests.api.backstop.installed_backstop import GROUPS, changed, is_refusal, status_of
from tests.harness.programs.client import Client, Json
from tests.harness.sizes import size
from tests.harness.worlds.pods import RESTRICTED

MANY = size(6_000, 20_000)
"""More than is looked at one by one; kube-apiserver itself takes seconds for the larger number."""

PIDS = {"hostPID": True}


def container(index: int, **more: Any) -> Json:
    """Return a small container."""
    return {"name": f"c{index}", "image": "b", **more}


def volumes(count: int, path: str = "/a") -> list[Json]:
    """Return volumes of the node."""
    return [{"name": f"v{index}", "hostPath": {"path": path}} for index in range(count)]


def mounts(count: int) -> list[Json]:
    """Return mounts of the first volume."""
    return [{"name": "v0", "mountPath": f"/m{index}"} for index in range(count)]


LARGE: dict[str, Json] = {
    "containers": {"containers": [container(index) for index in range(1200)], **PIDS},
    "privileged containers": {
        "containers": [
            container(index, securityContext={"privileged": True}) for index in range(1024)
        ]
    },
    "capabilities": {
        "containers": [container(0, securityContext={"capabilities": {"add": ["A"] * 200_000}})]
    },
    "a long capability": {
        "containers": [container(0, securityContext={"capabilities": {"add": ["A" * 1_000_000]}})]
    },
    "volumes": {"volumes": volumes(MANY)},
    "volumes of the node and many others": {
        "volumes": [*({"name": f"e{i}", "emptyDir": {}} for i in range(MANY)), *volumes(1)]
    },
    "paths": {"volumes": volumes(250, "/a" * 2000)},
    "one long path": {"volumes": volumes(1, "/a" * 400_000)},
    "slashes": {"volumes": volumes(1, "/" * 800_000)},
    "mounts": {
        "volumes": volumes(1),
        "containers": [container(0, volumeMounts=mounts(MANY))],
    },
    "volumes and mounts": {
        "volumes": volumes(256),
        "containers": [container(0, volumeMounts=mounts(4_000))],
    },
}


@pytest.mark.parametrize("name", LARGE)
async def test_large_pods_are_refused(nobody: Client, name: str) -> None:
    """Whoever may use nothing is refused, in so many words."""
    pod = changed(RESTRICTED.pod(), **LARGE[name])
    status, message = await status_of(nobody, pod, SPACE)
    assert status == 403, message[:500]
    assert is_refusal(message)


@pytest.mark.parametrize("name", ["capabilities", "paths", "volumes", "privileged containers"])
async def test_large_pods_of_holders_come_in(holder: Client, name: str) -> None:
    """Who may use a profile that covers everything is not refused for size.

    More containers than the gate judges are refused by both.
    """
    status, message = await status_of(holder, changed(RESTRICTED.pod(), **LARGE[name]), SPACE)
    assert status == 201, message[:500]


async def test_many_owners_are_read(admin: Client) -> None:
    """Owner references cost their author nothing either."""
    pod = changed(RESTRICTED.pod(), **PIDS)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o"}
    pod["metadata"]["ownerReferences"] = [
        {**owner, "uid": str(i)} for i in range(size(3_000, 15_000))
    ]
    status, message = await status_of(admin.as_user("nobody", GROUPS), pod, SPACE)
    assert status == 403
    assert is_refusal(message)
