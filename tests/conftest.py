"""Fixtures for tests against a real kube-apiserver, and what holds for every test."""

import gc
import hashlib
import os
import signal
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Final

import pytest
import structlog
import wasmtime
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

from policies.engine.wasm import compile_module
from tests.harness.programs.apiserver import ApiServer, own_apiserver
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect
from tests.harness.programs.helm import Helm
from tests.harness.programs.kafka import Kafka, require_kafka
from tests.harness.programs.postgres import Postgres, require_postgres

# How fast a busy machine makes examples says nothing about what is tested.
settings.register_profile(
    "busy", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy")

# Programs in Go that the tests start collect garbage less often, which takes a quarter of the CPU
# time of kube-apiserver's start and a third of a build of policies; it costs 100 MiB a server.
os.environ.setdefault("GOGC", "400")

FEWEST_WITH_ONE_BESIDE: Final = 3
LONGEST: Final = (
    "tests/node/",
    "tests/api/policies/",
    "tests/api/control/risk_poll/",
    "tests/api/identity/",
    "tests/api/control/leader/",
    "tests/api/people/requester_notes/",
    "tests/api/control/risk_push/",
    "tests/api/weights/",
    "tests/unit/audit/ledger/store/",
)
"""Folders that take longest, which no worker should begin when the others have nothing left.

The last one waits for the disk most of its time: beside what needs a processor, not at the end.
"""
NICE: Final = 5
"""Of the worker beside the others: a third of their weight, where a processor is short."""


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
    gc.freeze()  # The next one looks at what its own test made.


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    """Compile each WebAssembly once a worker; whoever loads the same again gets that machine code.

    Most tests load one and the same bundle, and compiling is most of what they would do.
    """
    compiled: dict[bytes, bytes] = {}

    def compile_once(engine: wasmtime.Engine, wasm: bytes) -> wasmtime.Module:
        digest = hashlib.sha256(wasm).digest()
        if digest not in compiled:
            compiled[digest] = bytes(compile_module(engine, wasm).serialize())
        return wasmtime.Module.deserialize(engine, compiled[digest])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policies.engine.wasm.compile_module", compile_once)
        yield


@pytest.fixture(autouse=True)
def _own_log_settings() -> Iterator[None]:
    """Let a command that a test runs in this process not decide what the next test's code logs."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture(scope="session")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A kube-apiserver with etcd, one for the whole run: use namespaces of your own."""
    with own_apiserver(tmp_path_factory.mktemp("apiserver")) as server:
        yield server


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
    """Hands out whole folders, since those of one folder share gates and namespaces.

    What mostly waits comes first: `LONGEST`, then all else with a kube-apiserver (`testpaths`).
    Unit tests share nothing, so they are handed out file by file, from the other end to one worker
    beside the others, and to all once the folders are out.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if file.startswith("tests/unit/") else file.rpartition("/")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        if is_beside(node.gateway.id, self.numnodes):
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


def is_beside(worker: str, workers: int) -> bool:
    """Return whether a worker takes what the others leave of the processors.

    The last one, from 3.
    """
    return workers >= FEWEST_WITH_ONE_BESIDE and worker == f"gw{workers - 1}"


def pytest_configure(config: pytest.Config) -> None:
    """Let what only computes go behind what others wait for."""
    own = getattr(config, "workerinput", None)
    if own and is_beside(own["workerid"], own["workercount"]):
        os.nice(NICE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the folders that take longest; all else keeps its order."""
    items.sort(key=lambda item: [not item.nodeid.startswith(folder) for folder in LONGEST])


def pytest_xdist_auto_num_workers() -> int:
    """Have two workers more than processors: half of the time of the others is waiting.

    With more of them the processors have nothing left, and what waits for a clock comes too late.
    """
    return len(os.sched_getaffinity(0)) + 2 if hasattr(os, "sched_getaffinity") else 2


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
