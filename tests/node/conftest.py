"""A whole cluster of one node for this folder; while it is there, 127.0.0.1 is the node's own."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import pytest

from tests.harness.programs.client import Client, connect
from tests.harness.programs.node.footprint import footprint, only_node
from tests.harness.programs.node.node import Node, NodeShape, require_node, running_node
from tests.harness.programs.node.policed_node import SHAPE, PolicedNode, running_policed_node
from tests.harness.programs.node.scene import outside_places

GVISOR = "gvisor"
UNKNOWN = "unknown-handler"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.node)


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """The node; once it has ended nothing of it may be left on the machine."""
    programs = require_node("whether a Pod really runs under gVisor")
    with only_node():
        before = footprint()
        with running_node(tmp_path_factory.mktemp("node"), programs) as running:
            asyncio.run(_add_classes(running))
            yield running
        assert footprint() == before


async def _add_classes(running: Node) -> None:
    """Make the RuntimeClasses of gVisor and of a handler that nobody has."""
    async with connect(running.apiserver) as client:
        for name, handler in ((GVISOR, "runsc"), (UNKNOWN, "nobody")):
            kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
            await client.create({**kind, "metadata": {"name": name}, "handler": handler})


@pytest.fixture
async def admin(node: Node) -> AsyncIterator[Client]:
    """A cluster administrator."""
    async with connect(node.apiserver) as client:
        yield client


@pytest.fixture(scope="module")
def policed_shape() -> NodeShape:
    """How the node with a policy engine is made; a file may want another."""
    return SHAPE


@pytest.fixture(scope="module")
def policed(
    tmp_path_factory: pytest.TempPathFactory, policed_shape: NodeShape
) -> Iterator[PolicedNode]:
    """A node with a policy engine, for a file of its own."""
    folder = tmp_path_factory.mktemp("policed")
    with running_policed_node(folder, outside_places(), policed_shape) as running:
        yield running


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the node's logs with the report of a test that failed on it."""
    report = yield
    arguments = getattr(item, "funcargs", {})
    policed = arguments.get("policed")
    running = policed.node if isinstance(policed, PolicedNode) else arguments.get("node")
    if report.failed and isinstance(running, Node):
        report.sections.append(("the node", running.log_tail()))
    return report
