"""Certificates that change every few seconds while three gates are asked: nobody notices."""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from certs.authority import read_certificate, read_certificates
from certs.lifetimes import RotationSettings
from control.certificates.loop import Certificates
from core.base.errors import ClusterError
from kube.client.objects import Objects
from tests.api.admission.objects import BAD, GOOD, allow_pods, new_namespace
from tests.api.control.certificates.secrets import FOREVER, read
from tests.api.kube.objects import wait_for
from tests.harness.evidence import record
from tests.harness.load.pods import SteadyLoad, failed_calls
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.programs.gates import Gates
from tests.harness.programs.webhooks import registered
from tests.harness.sizes import PROOF, size

ALICE = "alice@example.com"
SECONDS = size(ci=15, proof=180)
PODS_PER_SECOND = size(ci=20, proof=115)
AT_ONCE = 6
"""Two for each gate: kube-apiserver opens a connection where none is free."""
SHARE = 0.9 if PROOF else 0.2
"""Of the Pods that must have been asked for: a machine that does other things is slower."""
DELIVERY_S = 1.0
"""A kubelet brings a Secret's change to its Pod up to so late, each at its own time."""
SETTINGS = RotationSettings(
    authority_lifetime=timedelta(seconds=30),
    leaf_lifetime=timedelta(seconds=15),
    distribution=timedelta(seconds=2),
)
"""A leaf every 10 s and a CA every 20 s: with the bundles, something changes every 5 s."""


@dataclass
class Rotation:
    """Control's loop at work, and a kubelet for each gate."""

    loop: Certificates
    client: Client
    namespace: str
    gates: Gates
    leaves: set[int] = field(default_factory=set)
    authorities: set[int] = field(default_factory=set)
    bundles: set[bytes] = field(default_factory=set)

    def reloads(self) -> list[int]:
        """Return how often each gate has loaded a certificate."""
        return [each.log().count("certificate loaded") for each in self.gates.replicas]

    def enough(self) -> bool:
        """Return whether all has changed as often as it should in the time."""
        leaves, authorities = 1 + SECONDS // 15, 2 + SECONDS // 30
        rotated = len(self.leaves) >= leaves and len(self.authorities) >= authorities
        return rotated and min(self.reloads()) >= leaves

    async def control(self) -> None:
        """Run the loop often."""
        while True:
            with suppress(ClusterError):  # A conflict: the next run goes on.
                await self.loop.run(FOREVER)
            found = await read(self.client, self.namespace, "sallyport-gate-tls")
            self.leaves.add(read_certificate(found["tls.crt"]).serial_number)
            self.authorities |= {one.serial_number for one in read_certificates(found["ca.crt"])}
            self.bundles.add(found["ca.crt"])
            await asyncio.sleep(0.25)

    async def kubelet(self, number: int) -> None:
        """Bring the Secret to one gate, each change at a time of its own."""
        chance = random.Random(number)  # noqa: S311 -- must repeat, need not be secret
        while True:
            found = await read(self.client, self.namespace, "sallyport-gate-tls")
            await asyncio.sleep(chance.uniform(0, DELIVERY_S))
            self.gates.replicas[number].volume.put(found)


@pytest.mark.proof
async def test_no_admission_fails_while_certificates_rotate(
    apiserver: ApiServer, client: Client, objects: Objects, kubeconfig: Path, tmp_path: Path
) -> None:
    """Through a real kube-apiserver that asks three gates: every Pod gets its right answer."""
    await Certificates(objects, "sallyport-system", "test-1").run(FOREVER)
    first = await read(client, "sallyport-system", "sallyport-gate-tls")
    with Gates(tmp_path, kubeconfig, first) as gates:
        loop = Certificates(objects, "sallyport-system", "test-1", SETTINGS)
        rotation = Rotation(loop, client, "sallyport-system", gates)
        work = [rotation.control(), *(rotation.kubelet(number) for number in range(3))]
        async with registered(client, f"https://localhost:{gates.port}", first["ca.crt"]):
            namespace = await new_namespace(client)
            await allow_pods(client, namespace, ALICE)
            tasks = [asyncio.create_task(each) for each in work]
            try:
                load = await under_load(client, namespace, rotation.enough)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        reloads = rotation.reloads()
    assert load.failures == []
    assert set(load.outcomes) == {"allowed", "denied"}
    assert len(load.waits) >= SECONDS * PODS_PER_SECOND * SHARE
    assert all(each.link.carried for each in gates.replicas)
    if PROOF:
        write(load, rotation, reloads)


async def under_load(client: Client, namespace: str, enough: Callable[[], bool]) -> SteadyLoad:
    """Ask for Pods for a while; no call of a webhook may fail, whatever became of the Pod.

    A busy machine goes on until there is enough to be seen.
    """
    load = SteadyLoad(client.as_user(ALICE), namespace, GOOD, BAD, PODS_PER_SECOND, AT_ONCE)
    before = await failed_calls(client)
    running = asyncio.create_task(load.run())
    await asyncio.sleep(SECONDS)
    await wait_for(enough, 90)
    load.over, over = True, time.monotonic()
    await running
    assert await failed_calls(client) == before, load.failures[:3]
    assert time.monotonic() - over < 60
    return load


def write(load: SteadyLoad, rotation: Rotation, reloads: list[int]) -> None:
    """Write the evidence."""
    record(
        "rotation",
        [
            f"- Three gates (processes) behind one address on loopback, one kube-apiserver, "
            f"{SECONDS} s. A kubelet's part (a Secret's change reaches each gate up to "
            f"{DELIVERY_S:g} s later, by the swap of a symlink) is played by the test; control's "
            "loop, gates, kube-apiserver and etcd are real.",
            f"- Lifetimes: CA {SETTINGS.authority_lifetime}, leaf {SETTINGS.leaf_lifetime}, "
            f"distribution {SETTINGS.distribution}.",
            "",
            "| What | Count |",
            "| --- | --- |",
            f"| Pods asked for, dry runs | {len(load.waits)} |",
            "| Reviews a second: two of each that is admitted, one where `/mutate` refuses | "
            f"{(2 * load.outcomes['allowed'] + load.outcomes['denied']) / SECONDS:.0f} |",
            f"| Admitted, as they must be | {load.outcomes['allowed']} |",
            f"| Refused, as they must be (one of ten is bad) | {load.outcomes['denied']} |",
            f"| Anything else | {len(load.failures)} |",
            "| Calls of a webhook that failed, by kube-apiserver's metrics | 0 |",
            f"| Leaves of the gate | {len(rotation.leaves)} |",
            f"| CAs | {len(rotation.authorities)} |",
            f"| Bundles in force one after the other | {len(rotation.bundles)} |",
            f"| Certificates loaded by each gate | {', '.join(map(str, reloads))} |",
            f"| Answer to the client, p50 / p99 | {load.percentile(0.5):.0f} ms / "
            f"{load.percentile(0.99):.0f} ms |",
        ],
    )
