"""What is asked of an installation while it changes, and measured of it; what it leaves."""

import asyncio
import os
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp

from tests.harness.programs.client import Client, Json
from tests.harness.programs.gate import Gate
from tests.harness.programs.node.installed_chart import all_objects, pods_of
from tests.harness.programs.node.policed_node import PolicedNode
from tests.harness.programs.node.served_node import run_on
from tests.node.pods import pod

REMOVAL_TIMEOUT_S: Final = 120.0


@dataclass
class Asked:
    """What kube-apiserver answered meanwhile."""

    answers: list[tuple[int, str]] = field(default_factory=list)

    @property
    def wrong(self) -> list[tuple[int, str]]:
        """Whatever was neither admitted nor refused as it should be."""
        return [each for each in self.answers if each[0] != HTTPStatus.CREATED]


async def keep_asking(client: Client, namespace: str, asked: Asked, end: asyncio.Event) -> None:
    """Create a Pod again and again, as a dry run, which is judged like any other."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    number = 0
    while not end.is_set():
        number += 1
        body = pod(namespace, f"asked-{number}")
        status, answer = await client.request("POST", path, body, parameters={"dryRun": "All"})
        asked.answers.append((status, str(answer.get("message", ""))))
        await asyncio.sleep(0.02)


async def left(client: Client, before: set[str]) -> set[str]:
    """Return what is more than before, without leases of Kubernetes' own."""
    found = await all_objects(client) - before
    return {each for each in found if not each.startswith("Lease kube-system/")}


async def start_of_a_pod(policed: PolicedNode, client: Client) -> float:
    """Delete a gate's Pod; give the seconds from the start of the next one's process to ready."""
    before = {each["metadata"]["uid"] for each in await pods_of(client, "gate")}
    first, *_ = await pods_of(client, "gate")
    # With its own grace period: one that is killed leaves kube-apiserver connections to nobody.
    where = f"{first['metadata']['namespace']}/pods/{first['metadata']['name']}"
    await client.request("DELETE", f"/api/v1/namespaces/{where}")
    deadline = time.monotonic() + REMOVAL_TIMEOUT_S
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(1)) as session:
        while time.monotonic() < deadline:
            for each in await pods_of(client, "gate"):
                address = each["status"].get("podIP")
                if each["metadata"]["uid"] in before or not address:
                    continue
                if await _ready(session, f"http://{address}:9080/readyz"):
                    now = time.clock_gettime(time.CLOCK_BOOTTIME)
                    return now - _began(policed, each)
            await asyncio.sleep(0.02)
    raise AssertionError("no new gate became ready")


def start_of_the_checkout(policed: PolicedNode, folder: Path) -> float:
    """Return the seconds until a gate that runs from the checkout is ready."""
    apiserver = policed.node.apiserver
    began = time.monotonic()
    gate = Gate(folder, apiserver.authority, apiserver.kubeconfig())
    took = time.monotonic() - began
    gate.stop()
    return took


async def _ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.status == HTTPStatus.OK
    except (OSError, TimeoutError, aiohttp.ClientError):
        return False


def _began(policed: PolicedNode, pod: Json) -> float:
    """Return when a Pod's process began, in seconds since the machine did (proc_pid_stat(5))."""
    container = policed.node.process_of(pod)
    fields = run_on(policed, "cat", f"/proc/{container}/stat").rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")
