"""The back-stop as it is shipped, what `control` keeps for it, and what it says of Pods."""

import asyncio
import contextlib
import copy
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import CollectorRegistry

from control.backstop import Backstop
from core.base.errors import NotSyncedError
from core.decision.namespaces import Modes
from identity.subjects import Controllers
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.cluster.live import LiveCluster
from kube.leader.lease import Leadership
from policies.backstop.policy import NAME, PARAMETERS
from tests.harness.evidence import ROOT
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.worlds.rbac import binding, grant, role, rule, use_of, user

SYSTEM: Final = "sallyport-system"
SETTLE_S: Final = 60.0
RUNNERS: Final = "runners"
GROUPS: Final = ("system:authenticated", RUNNERS)
"""Whoever may do everything with Pods; profiles are given one by one."""

PROFILES: Final = (
    "restricted", "baseline", "log-agent", "node-agent", "gpu-health", "pss-baseline",
    "pss-privileged",
)  # fmt: skip

LEADER: Final = Leadership(1, math.inf, time.monotonic)
MAP_PATH: Final = f"/apis/sallyport.dev/v1alpha1/namespaces/{SYSTEM}/backstops/{PARAMETERS}"
KINDS: Final = ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy")


def shipped(action: str = "Deny") -> list[Json]:
    """Return the policy and its binding, which only warns with the action `Warn`."""
    items = read_objects(ROOT / "deploy/backstop.yaml")
    items[1]["spec"]["validationActions"] = [action]
    return items


def leftovers() -> list[Json]:
    """Return what must not outlive a folder, the binding first."""
    return list(reversed(shipped()))


async def install(client: Client, action: str = "Deny") -> None:
    """Apply profiles, who may use them, and the back-stop."""
    await client.apply(read_objects(ROOT / "helm/sallyport-crds/templates/containerprofiles.yaml"))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    await client.apply(read_objects(ROOT / "helm/sallyport-crds/templates/backstops.yaml"))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "Backstop")
    for file in sorted((ROOT / "policies/profiles").glob("*.yaml")):
        if not file.name.endswith("-grant.yaml"):
            await client.apply(read_objects(file))
    await client.create_namespace(SYSTEM)
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": RUNNERS}
    pods = rule([""], "pods pods/ephemeralcontainers", "get create update patch delete")
    await client.apply(grant(RUNNERS, pods, group))
    for profile in PROFILES:
        await client.apply(
            [role(f"use-{profile}", use_of(profile)), binding(f"use-{profile}", user(profile))]
        )
    await client.apply(shipped(action))


@asynccontextmanager
async def kept(apiserver: ApiServer, *, modes: Modes | None = None) -> AsyncIterator[Backstop]:
    """Have the ConfigMap kept as a leading `control` does; it is up to date at the beginning."""
    connection = Connection(apiserver.kubeconfig())
    await connection.open()
    live = LiveCluster(apiserver.kubeconfig())
    await live.start()
    loop = Backstop(
        Objects(connection, 10.0),
        SYSTEM,
        profiles=live.profiles,
        excepted=live.exceptions,
        sealed=live.break_glasses,
        modes=modes or Modes(),
        controllers=Controllers().kinds,
        since=dict,
        registry=CollectorRegistry(),
        tick=lambda: 50 * time.monotonic(),  # Looks after it every 0.2 s.
    )
    try:
        await _first(loop)
        task = asyncio.create_task(_again(loop))
        try:
            yield loop
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
    finally:
        await live.stop()
        await connection.close()


async def _first(loop: Backstop) -> None:
    end = time.monotonic() + SETTLE_S
    while True:
        try:
            await loop.run(LEADER)
        except NotSyncedError:
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.1)
        else:
            return


async def _again(loop: Backstop) -> None:
    while True:
        await loop.run(LEADER)
        await asyncio.sleep(0.2)


async def status_of(client: Client, pod: Json, namespace: str) -> tuple[int, str]:
    """Ask for a Pod; give the code and the message. Nothing is stored."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    status, answer = await client.request("POST", path, pod, parameters={"dryRun": "All"})
    return status, str(answer.get("message", ""))


async def comes_to(client: Client, pod: Json, namespace: str, expected: int) -> str:
    """Wait until a Pod is answered so: kube-apiserver follows policies and parameters later."""
    end = time.monotonic() + SETTLE_S
    while True:
        status, message = await status_of(client, pod, namespace)
        if status == expected:
            return message
        assert time.monotonic() < end, f"{status} and not {expected}: {message}"
        await asyncio.sleep(0.05)


def is_refusal(message: str) -> bool:
    """Return whether the back-stop speaks."""
    return f"'{NAME}'" in message and "Sallyport's back-stop refuses" in message


def changed(pod: Json, **spec: object) -> Json:
    """Return a Pod with further fields of its spec."""
    made = copy.deepcopy(pod)
    made["spec"].update(spec)
    return made
