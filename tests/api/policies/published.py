"""Gates and control's loop that put published bundles in force, in a namespace of their own."""

import asyncio
import json
import math
import re
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry

from control.bundles.activation import BundleActivation
from core.policy_bundles import BASE, GateAnnouncement
from kube.bundles.store import BundleStore
from kube.client.objects import Objects, open_objects
from kube.leader.lease import Leadership
from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, read_objects
from tests.harness.programs.gate import PROGRAM, Gate
from tests.harness.programs.helm import CRDS
from tests.harness.programs.pki import Authority
from tests.harness.worlds.policy_bundles import revision_of

SOON_S: Final = 60.0
LEADER: Final = Leadership(1, math.inf, time.monotonic)


@dataclass
class Field:
    """A namespace of its own, with gates and control in it."""

    folder: Path
    kubeconfig: Path
    namespace: str
    authority: Authority
    objects: Objects
    gates: list[Gate]

    def gate(self, environment: Mapping[str, str] | None = None) -> Gate:
        """Start one."""
        folder = self.folder / f"gate-{len(self.gates)}"
        folder.mkdir()
        settings = {"SALLYPORT_NAMESPACE": self.namespace, **(environment or {})}
        gate = Gate(folder, self.authority, self.kubeconfig, settings, strangers=True)
        self.gates.append(gate)
        return gate

    async def policy(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `sallyport policy …`."""
        config = self.folder / "settings.yaml"
        config.write_text(json.dumps({"namespace": self.namespace}))
        where = ("--kubeconfig", str(self.kubeconfig), "--config", str(config))
        command = [str(PROGRAM), "policy", *arguments, *where]
        return await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, check=False
        )

    async def status(self) -> Any:
        """Return what `policy status` says."""
        return json.loads((await self.policy("status", "-o", "json")).stdout)

    def write(self, packed: bytes) -> str:
        """Return the name of a file with a bundle."""
        path = self.folder / f"{revision_of(packed)}.tar.gz"
        path.write_bytes(packed)
        return str(path)


@asynccontextmanager
async def open_field(apiserver: ApiServer, client: Client, folder: Path) -> AsyncIterator[Field]:
    """Make a namespace; its gates are ended when it is left."""
    await client.apply(read_objects(CRDS / "templates" / "containerprofiles.yaml"))
    await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
    namespace = new_name("bundles")
    await client.create_namespace(namespace)
    async with open_objects(apiserver.kubeconfig()) as objects:
        await BundleStore(objects, namespace).create_announcements()
        authority = Authority(folder)
        made = Field(folder, apiserver.kubeconfig(), namespace, authority, objects, [])
        try:
            yield made
        finally:
            for gate in made.gates:
                gate.stop()


@asynccontextmanager
async def controlling(field: Field, haste: float = 1.0) -> AsyncIterator[None]:
    """Run control's loop until left; by `haste` its clock is faster."""

    def own() -> GateAnnouncement:
        return known[0]

    known = [GateAnnouncement(BASE, "")]
    store = BundleStore(field.objects, field.namespace)
    loop = BundleActivation(
        field.objects,
        field.namespace,
        own,
        CollectorRegistry(),
        clock=lambda: time.monotonic() * haste,
    )

    async def run() -> None:
        while True:
            head = (await store.read()).head  # It loads whatever is wanted at once.
            known[0] = GateAnnouncement(BASE, "", loaded=(head.wanted,), turn=head.turn)
            await loop.run(LEADER)
            await asyncio.sleep(0.2)

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(result, asyncio.CancelledError), result


def in_force(gate: Gate) -> str:
    """Return the revision that a gate judges by."""
    found = re.search(r'sallyport_policy_info\{revision="(\w+)"\} 1', gate.status("/metrics")[1])
    assert found
    return found[1]


async def until(condition: Callable[[], object]) -> None:
    """Wait for what must come."""
    async with asyncio.timeout(SOON_S):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110 -- of other processes
            await asyncio.sleep(0.1)
