"""What the back-stop adds to a request, beside the same request where it does not look."""

import statistics
import time
from typing import Final

from tests.api.backstop.alone.conftest import SPACE
from tests.api.backstop.alone.test_without_a_gate import host_path
from tests.api.backstop.installed_backstop import changed, status_of
from tests.harness.evidence import record
from tests.harness.programs.client import Client, Json
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.pods import RESTRICTED

LEFT_OUT: Final = "kube-node-lease"
MOST_ADDED_S: Final = 0.05


def agent() -> Json:
    """Return a node agent's Pod: paths, the node's network, a privileged container."""
    pod = changed(host_path("/run/containerd", read_only=False), hostNetwork=True, hostPID=True)
    context = pod["spec"]["containers"][0]["securityContext"]
    context |= {"privileged": True, "allowPrivilegeEscalation": True}
    return pod


async def added(client: Client, pod: Json, count: int) -> tuple[float, float]:
    """Return the median without and with it, in turn, in seconds."""
    times: dict[str, list[float]] = {LEFT_OUT: [], SPACE: []}
    for _ in range(count):
        for space, taken in times.items():
            began = time.perf_counter()
            status, message = await status_of(client, pod, space)
            taken.append(time.perf_counter() - began)
            assert status == 201, message
    return statistics.median(times[LEFT_OUT]), statistics.median(times[SPACE])


async def test_backstop_adds_little_time_to_an_ordinary_pod(admin: Client, holder: Client) -> None:
    """To an ordinary Pod, and to one that somebody must be asked about."""
    await admin.create_service_account("default", LEFT_OUT)
    lines = ["", "| Pod | Without, p50 | With, p50 | Added |", "| --- | --- | --- | --- |"]
    asking = {"ordinary": RESTRICTED.pod(), "node agent": agent()}
    for name, pod in asking.items():
        without, within = await added(holder, pod, size(30, 1_000))
        assert within - without < MOST_ADDED_S
        numbers = [f"{1000 * each:.2f} ms" for each in (without, within, within - without)]
        lines.append(f"| {name} | {' | '.join(numbers)} |")
    if PROOF:
        record("backstop-cost", lines)
