"""Fixtures for tests against a real kube-apiserver, and what holds for every test."""

import gc
import signal
from collections.abc import AsyncIterator, Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from tests.harness.apiserver import ApiServer
from tests.harness.client import Client, connect
from tests.harness.helm import Helm
from tests.harness.kafka import Kafka, require_kafka
from tests.harness.postgres import Postgres, require_postgres
from tests.harness.programs import require

# How fast a busy machine makes examples says nothing about what is tested.
settings.register_profile("busy", settings(), suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Let children be interrupted: a shell has what it starts in the background ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _thawed() -> Iterator[None]:
    """Have pytest's own last collection find what was older than its file, too."""
    yield
    gc.unfreeze()


@pytest.fixture(scope="module", autouse=True)
def _frozen(_thawed: None) -> None:
    """Leave what is older than a file of tests out of its collections: it is most of the heap."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_garbage(_frozen: None) -> Iterator[None]:
    """Find what a test leaks at this test, and not where the collector next comes by.

    It is collected once all of the test is torn down, its event loop too: a socket that is
    still open warns then, and pytest makes an error of it.
    """
    yield
    gc.collect()


@pytest.fixture(scope="session")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver with etcd, one for the whole run: use namespaces of your own."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = ApiServer(tmp_path_factory.mktemp("apiserver"))
    yield server
    server.stop()


@pytest.fixture
async def client(apiserver: ApiServer) -> AsyncIterator[Client]:
    """A client with all rights, for this test alone."""
    async with connect(apiserver) as connected:
        yield connected


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm, with what it keeps in a folder of this run."""
    return Helm(require("helm"), tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server, one for the whole run: use databases of your own."""
    server = Postgres(require_postgres())
    yield server
    server.stop()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A Kafka broker that lets clients in as Event Hubs does: use topics and groups of your own."""
    broker = Kafka(require_kafka(), tmp_path_factory.mktemp("kafka"))
    yield broker
    broker.stop()


class FolderScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types.
    """Hands out whole folders, in the order of their names: each has its own gates and namespaces.

    Those with a kube-apiserver come first (`testpaths`): they take longest.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0].rpartition("/")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FolderScheduling:
    """Let `make test` run folders side by side, each in one process."""
    return FolderScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the servers' logs with the report of a test that failed on them."""
    report = yield
    server = getattr(item, "funcargs", {}).get("apiserver")
    if report.failed and isinstance(server, ApiServer):
        report.sections.append(("kube-apiserver and etcd", server.log_tail()))
    return report
