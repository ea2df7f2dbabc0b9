"""Forged refusals fill no spool: an honest Pod is recorded, and so admitted.

Through the webhooks' own application, a judge, the built-in policies and a spool on disk; nobody
takes what is in it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.records.record_shares import make_share_of
from app.records.recorder import Recording
from app.settings.root import Settings
from app.wiring import make_judge
from audit.ledger.records.frames import FrameKind
from audit.ledger.records.recorder import LedgerRecorder
from audit.ledger.records.refusal_budget import RefusalBudget, Share
from audit.ledger.spool.queue import Spool, SpoolSettings
from core.decision.document import decode_document
from core.decision.refusal_aggregate import RefusalAggregate, decode_aggregate
from core.people.subject import Subject
from kube.cluster.folder import FolderCluster
from policies.engine.embedded_engine import EmbeddedEngine
from tests.harness.worlds.recorded_reviews import _NO_LOG, _QUIET, _ask
from tests.unit.admission.conftest import engine  # noqa: F401  A fixture.
from tests.unit.admission.world import Folder, pod, request
from webhooks.app import AdmissionApp
from webhooks.metrics import Metrics
from webhooks.readiness import Readiness

MIB = 1024 * 1024
SMALL = SpoolSettings(max_bytes=MIB, segment_bytes=MIB // 4)
FORGED = 300
"""Of 14 KB each: without a budget they fill the spool."""


def review(made: dict[str, Any], username: str, number: int, namespace: str = "train") -> bytes:
    """Return a review as kube-apiserver, or whoever plays it, sends it."""
    asked = {
        "uid": f"u-{number}",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "namespace": namespace,
        "name": f"p-{number}",
        "userInfo": {"username": username, "groups": ["system:authenticated"]},
        "object": made,
    }
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    return msgspec.json.encode(whole)


def forged(number: int) -> dict[str, Any]:
    """Return a Pod that is refused, and another each time."""
    volumes = [
        {"name": f"v-{n}", "hostPath": {"path": f"/{number}/{n}/{'x' * 160}"}} for n in range(50)
    ]
    return pod(volumes=volumes)


class KnownAccounts(FolderCluster):
    """A cluster whose watch knows one namespace, and one service account beside its default."""

    def service_account_made(self, namespace: str, name: str) -> float | None:  # type: ignore[override]
        """Return when one of them was made."""
        return 0.0 if namespace == "train" and name in {"default", "trainer"} else None


@asynccontextmanager
async def gate(
    folder: Folder, rules: EmbeddedEngine, spool: Spool, *, budgeted: bool
) -> AsyncIterator[tuple[AdmissionApp, Recording]]:
    """Yield a gate with such a spool."""
    folder.cluster()
    cluster = KnownAccounts(folder.path)
    recorder = LedgerRecorder(spool, lambda: "c", lambda subject: subject.label)
    if budgeted:
        naming = recorder.name_subject
        recorder = LedgerRecorder(
            spool,
            recorder.cluster,
            naming,
            None,
            RefusalBudget(fill=lambda: spool.fill),
            make_share_of(cluster, naming),
        )
    judge = make_judge(cluster, rules, Settings())
    app = AdmissionApp(judge, Readiness({}), Metrics("0"), _NO_LOG, _QUIET, recorder)
    spool.open()
    try:
        yield app, Recording(recorder, spool)
    finally:
        spool.close()


def frames(spool: Spool) -> list[tuple[int, bytes]]:
    """Return what the spool holds."""
    found = []
    while (batch := spool.read(MIB, 10_000)).frames:
        found += [(frame.kind, frame.payload) for frame in batch.frames]
        spool.acknowledge(batch)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A cluster in which everyone may run Pods as they should be."""
    return (
        Folder(tmp_path / "cluster")
        .profile("good", 10)
        .namespace("train")
        .grant("Group:system:authenticated", "good")
    )


NAMES: dict[str, Callable[[int], str]] = {
    "one requester": lambda _: "mallory@example.com",
    "made-up people": lambda number: f"nobody-{number}@example.com",
    "made-up service accounts": lambda number: f"system:serviceaccount:made-up-{number}:a",
    "a service account that there is": lambda _: "system:serviceaccount:train:trainer",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
async def test_forged_refusals_leave_room_for_an_honest_pod(
    name: Callable[[int], str],
    engine: EmbeddedEngine,  # noqa: F811
    folder: Folder,
    tmp_path: Path,
) -> None:
    """What was refused is counted to the last; the honest decision is in the spool."""
    spool = Spool(tmp_path / "spool", SMALL)
    async with gate(folder, engine, spool, budgeted=True) as (app, recording):
        for number in range(FORGED):
            answer = await _ask(app, "/validate", review(forged(number), name(number), number))
            assert not answer["allowed"]
        assert spool.fill < 0.55
        answer = await _ask(app, "/validate", review(pod(), "alice@example.com", FORGED))
        assert answer["allowed"], answer
        recording.recorder.seal_aggregates(ends=True)
        budget = recording.recorder.budget
        assert budget is not None
        assert budget.waiting == 0
        async with asyncio.timeout(60):
            while not spool.settled:  # noqa: ASYNC110  It has no event.
                await asyncio.sleep(0.01)
        found = frames(spool)
    decisions = [decode_document(each) for kind, each in found if kind == FrameKind.DECISION]
    counted = [decode_aggregate(each) for kind, each in found if kind == FrameKind.AGGREGATE]
    assert decisions[-1].id == answer["auditAnnotations"]["decision"]
    refused = [each for each in decisions if not each.allowed]
    assert len(refused) + sum(each.count for each in counted) == FORGED
    assert 1 <= len(refused) <= 130
    assert {each.requester for each in counted} == {expected_name(name)}


def expected_name(name: Callable[[int], str]) -> str:
    """Return the requester of the aggregates: none where nobody vouches for the name."""
    return name(0) if name(0).endswith(":trainer") else ""


async def test_without_a_budget_forged_refusals_fill_the_spool(
    engine: EmbeddedEngine,  # noqa: F811
    folder: Folder,
    tmp_path: Path,
) -> None:
    """The reproduction: the honest Pod is refused for want of a record."""
    spool = Spool(tmp_path / "spool", SMALL)
    async with gate(folder, engine, spool, budgeted=False) as (app, _):
        for number in range(FORGED):
            await _ask(app, "/validate", review(forged(number), "mallory@example.com", number))
        answer = await _ask(app, "/validate", review(pod(), "alice@example.com", FORGED))
    assert not answer["allowed"]
    assert answer["status"]["code"] == 500
    assert "cannot be recorded" in answer["status"]["message"]


@pytest.mark.parametrize(
    ("username", "namespace", "authenticated", "expected"),
    [
        ("alice", "train", False, Share("train", "")),
        ("alice", "made-up", False, Share("", "")),
        (
            "system:serviceaccount:train:trainer",
            "train",
            False,
            Share("train", "system:serviceaccount:train:trainer"),
        ),
        ("system:serviceaccount:train:nobody", "train", False, Share("train", "")),
        ("system:node:n-1", "train", False, Share("train", "")),
        ("system:node:n-1", "train", True, Share("train", "system:node:n-1")),
        ("system:node:n-1", "", False, Share("", "")),
    ],
)
def test_names_count_where_somebody_vouches_for_them(
    username: str, namespace: str, *, authenticated: bool, expected: Share, tmp_path: Path
) -> None:
    """The watch for namespaces and service accounts; kube-apiserver for all, if it is known."""
    cluster = KnownAccounts(tmp_path)
    naming = attrgetter("username")
    asked = request(pod(), Subject(username), namespace=namespace, authenticated=authenticated)
    assert make_share_of(cluster, naming)(asked) == expected


def test_an_aggregate_says_what_it_is_of() -> None:
    """And a count of none is no aggregate."""
    made = RefusalAggregate(
        format=1, id="i", time="t", first="f", cluster="c", count=1, verdict="deny", why="budget"
    )
    with pytest.raises(ValueError, match="count"):
        decode_aggregate(msgspec.json.encode(msgspec.structs.replace(made, count=0)))
