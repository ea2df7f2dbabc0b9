"""Whatever stands in the cursor, the next sweep comes to its end: what is wrong is begun anew."""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import msgspec
import pytest
from structlog.testing import capture_logs

from control.sweep.cursor import Cursor, decode_cursor, encode_cursor
from control.sweep.progress import Progress, document_of
from core.base.errors import ClusterError
from core.base.ids import uuid7
from kube.client.objects import Objects, Page
from tests.api.control.sweep import sweep_run as sweeping
from tests.api.control.sweep.conftest import SWEEP, SweptCluster
from tests.api.control.sweep.sweep_run import Swept
from tests.harness.programs.client import Client
from tests.harness.programs.etcd import put_pods
from tests.harness.programs.sweeper import CLUSTER, NAMESPACE
from tests.harness.worlds.running_pods import namespace_name, running_pods

PODS: Final = 120
"""Three pages."""

FRESH: Final = "019aa68f-4b3b-7000-8000-000000000003"
NOW_S: Final = 1763731100.0
"""100 s after SWEEP."""

YEAR_MS: Final = 365 * 86_400_000
AHEAD: Final = uuid7(int(NOW_S * 1000) + YEAR_MS, 1)


@pytest.fixture(autouse=True)
async def pods(cluster: SweptCluster, admin: Client) -> None:
    """Pods in one namespace."""
    await admin.create_namespace(namespace_name(0))
    await put_pods(cluster.server.etcd_url, running_pods(PODS))


def token(revision: int) -> str:
    """Return a continue token as kube-apiserver makes them (apiserver/pkg/storage/continue.go)."""
    start = f"{namespace_name(0)}/pretrain-1\0"
    content = {"v": "meta.k8s.io/v1", "rv": revision, "start": start}
    return base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("=")


async def store(admin: Client, cursor: Cursor) -> None:
    """Put a cursor into the cluster, as anybody may who may write ConfigMaps there."""
    metadata = {"name": "sallyport-sweep", "namespace": NAMESPACE}
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    await admin.create(head | encode_cursor(cursor))


async def stored(admin: Client) -> Cursor:
    """Return the cursor that is in the cluster."""
    body = await admin.get("v1", "ConfigMap", "sallyport-sweep", NAMESPACE)
    return decode_cursor(body, CLUSTER)


def running(**fields: Any) -> Cursor:
    """Return a cursor with a sweep under way."""
    progress = msgspec.structs.replace(Progress(sweep=SWEEP, interruptions=7), **fields)
    return Cursor(cluster=CLUSTER, running=progress)


def finished(**fields: Any) -> Cursor:
    """Return a cursor with a finished sweep."""
    document = document_of(Progress(sweep=SWEEP), CLUSTER, NOW_S - 50)
    return Cursor(cluster=CLUSTER, last=msgspec.structs.replace(document, **fields))


BAD: Final[dict[str, tuple[Cursor, str]]] = {
    "no token": (running(token="bad"), "400"),
    "token of nothing": (running(token=base64.urlsafe_b64encode(b"{}").decode()), "400"),
    "token of a later revision": (
        running(token=token(10**12)),
        "Too large resource version",
    ),
    "token without end": (running(token="A" * 3000), "cannot be read"),
    "no id": (running(sweep="zz"), "running.sweep"),
    "sweep of next year": (running(sweep=AHEAD), "of the future"),
    "path as namespace": (
        running(unwritten_in=["../../secrets/x?"], unwritten=1),
        "cannot be read",
    ),
    "count beyond floats": (running(interruptions=10**400), "cannot be read"),
    "last without times": (finished(started="now"), "last.started"),
    "last without end": (finished(finished=""), "last.finished"),
    "last without id": (finished(id="1"), "last.id"),
    "last of next year": (finished(id=AHEAD), "of the future"),
    "last beyond floats": (finished(verdicts={"deny": 10**400}), "last"),
}


@pytest.mark.parametrize(("cursor", "why"), BAD.values(), ids=BAD.keys())
async def test_the_sweep_begins_anew(admin: Client, swept: Swept, cursor: Cursor, why: str) -> None:
    """It says why, judges every Pod, and leaves a cursor that is in order."""
    await store(admin, cursor)
    with capture_logs() as logs:
        await swept.at(NOW_S).later(FRESH).run()
    aloud = [log for log in logs if log["log_level"] in {"warning", "error"}]
    assert why in str(aloud)
    assert "begins anew" in str(aloud)
    document = sweeping.document_of(swept)
    assert (document.id, document.interruptions, document.consistent) == (FRESH, 0, True)
    assert swept.metric("sallyport_sweep_progress_objects") == PODS
    last = msgspec.structs.replace(document, pods={})  # Only the ledger has these.
    assert await stored(admin) == Cursor(cluster=CLUSTER, last=last)


@pytest.mark.parametrize(
    ("ahead_s", "due"), [(3599, False), (3601, True)], ids=["within an interval", "beyond it"]
)
async def test_a_last_sweep_of_a_clock_that_is_a_little_fast_counts(
    admin: Client,
    swept: Swept,
    ahead_s: int,
    due: bool,  # noqa: FBT001 -- a case
) -> None:
    """Two replicas' clocks differ; more than an interval is no such difference."""
    await store(admin, finished(id=uuid7(int((NOW_S + ahead_s) * 1000), 1)))
    await swept.at(NOW_S).later(FRESH).run()
    assert bool(swept.frames.kept) is due


class Refusing(Objects):
    """Objects of a cluster that takes no continue token."""

    def __init__(self, objects: Objects, fail: Callable[[], ClusterError]) -> None:
        self.__dict__ |= objects.__dict__
        self._fail = fail
        self.begun = 0

    async def page(
        self, collection: str, limit: int, continue_token: str = "", *more: Any, **others: Any
    ) -> Page:
        """Return the first page only."""
        if continue_token:
            raise self._fail()
        self.begun += 1
        return await super().page(collection, limit, "", *more, **others)


@pytest.mark.parametrize("status", [400, 410, 504])
async def test_a_cluster_that_takes_no_token_is_not_asked_without_end(
    swept: Swept, status: int
) -> None:
    """Anew once in a run; then the failure goes to the loop, which waits between its calls."""
    refusing = Refusing(swept.parts.objects, lambda: ClusterError("refused", status))
    with pytest.raises(ClusterError, match="refused"):
        await replace(swept, parts=replace(swept.parts, objects=refusing)).run()
    assert refusing.begun == 2
