"""The node's own runtimes, without a gate: what the other tests here rest on."""

import pytest

from tests.harness.programs.client import Client
from tests.node.conftest import GVISOR, UNKNOWN
from tests.node.pods import pod, refused_by_node, run

RUNTIMES = "runtimes"


@pytest.fixture
async def client(admin: Client) -> Client:
    """The administrator, with a namespace."""
    await admin.create_namespace(RUNTIMES)
    return admin


async def test_a_pod_of_the_class_runs_under_gvisor(client: Client) -> None:
    """Its kernel calls itself gVisor, in /proc/version and in the first line of dmesg."""
    ran = await run(client, pod(RUNTIMES, "sandboxed", runtimeClassName=GVISOR))
    assert ran.under_gvisor, ran.printed


async def test_a_pod_without_a_class_runs_on_the_nodes_kernel(client: Client) -> None:
    """Under runc a Pod sees the machine's kernel: the sign of gVisor is no artefact."""
    ran = await run(client, pod(RUNTIMES, "plain"))
    assert "Linux version" in ran.printed
    assert "gvisor" not in ran.printed.lower()


async def test_a_handler_that_the_node_lacks_keeps_a_pod_from_starting(client: Client) -> None:
    """A class whose handler is not there never falls back to another runtime."""
    item = pod(RUNTIMES, "nowhere", runtimeClassName=UNKNOWN)
    await client.create(item)
    said = await refused_by_node(client, RUNTIMES, "nowhere")
    found = await client.get("v1", "Pod", "nowhere", RUNTIMES)
    await client.delete(item)
    assert "nobody" in said
    assert found["status"]["phase"] == "Pending"
