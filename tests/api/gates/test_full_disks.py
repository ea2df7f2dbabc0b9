"""The disk of one gate is full: another is asked. All are full: the stated rule decides."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from control.certificates.loop import Certificates
from kube.client.objects import Objects
from tests.api.admission.objects import BAD, GOOD, allow_pods, new_namespace
from tests.api.control.certificates.secrets import FOREVER, read
from tests.api.kube.objects import wait_for
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.gates import Gates, Replica
from tests.harness.programs.webhooks import registered

INTERNAL_ERROR = 500
ALICE = "alice@example.com"
DISK_BYTES = 4 * 1024 * 1024
SETTINGS = {"SALLYPORT_RECORD__OTHER_GATES": "true", "SALLYPORT_CLUSTER_ID": "prod"}
TURNED_AWAY = 'sallyport_rejected_bodies_total{status="503"}'
ADMITTED = 'sallyport_unrecorded_decisions_total{outcome="admitted"}'


class Disks:
    """A small disk for the spool of each gate."""

    def __init__(self) -> None:
        self.mounted: list[Path] = []

    def __call__(self, folder: Path) -> Mapping[str, str]:
        """Mount the one of a gate, and say where it is."""
        place = folder / "spool"
        place.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(place)]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("NOT TESTED: only root may mount a small file system")
        self.mounted.append(place)
        return {"SALLYPORT_SPOOL__FOLDER": str(place)}

    def fill(self, number: int) -> None:
        """Leave nothing free on one."""
        with (self.mounted[number] / "others").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                return

    def unmount(self) -> None:
        """Take all away."""
        for place in self.mounted:
            subprocess.run(["umount", str(place)], check=True)  # noqa: S607  From PATH, as root.


@pytest.fixture
def disks() -> Iterator[Disks]:
    """None yet."""
    made = Disks()
    yield made
    made.unmount()


def metric(gate: Replica, name: str) -> float:
    """Return a metric of a gate; 0 where it has no value yet."""
    lines = gate.metrics().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(f"{name} ")), 0.0)


def named(pod: Json, name: str) -> Json:
    """Return the Pod under a name."""
    return {**pod, "metadata": {**pod["metadata"], "name": name}}


async def test_pods_are_created_while_one_gate_has_room(
    client: Client, objects: Objects, kubeconfig: Path, tmp_path: Path, disks: Disks
) -> None:
    """Through a real kube-apiserver; and when none has room, each Pod still gets an answer."""
    await Certificates(objects, "sallyport-system", "test-1").run(FOREVER)
    pair = await read(client, "sallyport-system", "sallyport-gate-tls")
    with Gates(tmp_path, kubeconfig, pair, SETTINGS, count=2, own=disks) as gates:
        async with registered(client, f"https://localhost:{gates.port}", pair["ca.crt"]):
            namespace = await new_namespace(client)
            await allow_pods(client, namespace, ALICE)
            alice = client.as_user(ALICE)
            disks.fill(0)
            full, roomy = gates.replicas
            for number in range(40):
                await alice.create(in_namespace(named(GOOD(), f"pod-{number}"), namespace))
            assert metric(full, "sallyport_spool_full") == 1.0
            assert metric(full, TURNED_AWAY) > 0
            assert metric(roomy, TURNED_AWAY) == 0
            assert full.ready()
            with pytest.raises(ApiStatusError) as denied:
                await alice.create(in_namespace(named(BAD(), "bad"), namespace))
            assert denied.value.status == 403
            disks.fill(1)
            await wait_for(lambda: is_refused_for_want_of_room(alice, namespace), 30)
            assert all(gate.ready() for gate in gates.replicas)


def in_namespace(pod: Json, namespace: str) -> Json:
    """Return the Pod in a namespace."""
    return {**pod, "metadata": {**pod["metadata"], "namespace": namespace}}


async def is_refused_for_want_of_room(alice: Client, namespace: str) -> bool:
    """Try to create one; the first writes to a disk that has just filled still go to memory."""
    try:
        await alice.create(in_namespace({**GOOD(), "metadata": {"generateName": "a-"}}, namespace))
    except ApiStatusError as error:
        return error.status == INTERNAL_ERROR and "cannot be recorded" in error.message
    return False
