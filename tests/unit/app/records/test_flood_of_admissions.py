"""Admissions of one tenant fill no spool: a Pod in another namespace is recorded, and so admitted.

kube-apiserver asks the webhooks before it sees that a name is taken or a quota used up: each such
create is admitted here, has a record, and costs its author nothing. Through the webhooks' own
application, a judge, the built-in policies and a spool on disk; the auditor is away.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from app.records.record_shares import make_share_of
from app.records.recorder import Recording
from app.settings.root import Settings
from app.wiring import make_judge
from audit.ledger.records.admission_shares import AdmissionShares
from audit.ledger.records.frames import FrameKind
from audit.ledger.records.recorder import LedgerRecorder
from audit.ledger.spool.queue import Spool
from core.decision.document import decode_document, projection_digest
from kube.cluster.folder import FolderCluster
from policies.engine.embedded_engine import EmbeddedEngine
from tests.harness.worlds.recorded_reviews import _NO_LOG, _QUIET, _ask
from tests.unit.admission.conftest import engine  # noqa: F401  A fixture.
from tests.unit.admission.world import Folder, pod
from tests.unit.app.records.test_flood_of_refusals import SMALL, frames, review
from tests.unit.audit.ledger.spool.spools import wait_until
from webhooks.app import AdmissionApp
from webhooks.limits import AppSettings
from webhooks.metrics import Metrics
from webhooks.readiness import Readiness

MOST = 2000
"""Reviews: far more than the spool has room for."""


class KnownNamespaces(FolderCluster):
    """A cluster whose watch knows each namespace's own service account."""

    def service_account_made(self, namespace: str, name: str) -> float | None:  # type: ignore[override]
        """Return when one of them was made."""
        return 0.0 if namespace in {"train", "web"} and name == "default" else None


@dataclass
class Gate:
    """A gate, its spool, and how reviews are sent to it."""

    app: AdmissionApp
    spool: Spool
    recording: Recording
    sent: int = 0

    async def create(self, username: str, namespace: str, *, path: str = "/validate") -> Any:
        """Ask for a Pod that is like no other; give the answer."""
        self.sent += 1
        made = pod(image=f"registry.example/trainer@sha256:{self.sent:064x}")
        return await _ask(self.app, path, review(made, username, self.sent, namespace))

    async def flood(self, username: str, namespace: str) -> Any:
        """Ask for Pods until one is refused; give that answer."""
        for _ in range(MOST):
            answer = await self.create(username, namespace)
            if not answer["allowed"]:
                return answer
        pytest.fail("nothing was refused")

    def over_share(self) -> float | None:
        """Return what the metric says."""
        registry = CollectorRegistry()
        self.recording.show(registry)
        return registry.get_sample_value("sallyport_admissions_over_share_total")


@asynccontextmanager
async def gate(
    folder: Path,
    rules: EmbeddedEngine,
    *,
    shared: bool = True,
    settings: AppSettings = _QUIET,
) -> AsyncIterator[Gate]:
    """Yield a gate in which everybody may run Pods in `train` and `web`."""
    world = Folder(folder / "cluster").profile("good", 10).namespace("train").namespace("web")
    world.grant("Group:system:authenticated", "good").cluster()
    cluster = KnownNamespaces(world.path)
    spool = Spool(folder / "spool", SMALL)
    recorder = LedgerRecorder(
        spool,
        lambda: "c",
        lambda subject: subject.label,
        share_of=make_share_of(cluster, lambda subject: subject.label),
        shares=AdmissionShares(spool) if shared else None,
    )
    judge = make_judge(cluster, rules, Settings())
    app = AdmissionApp(judge, Readiness({}), Metrics("0"), _NO_LOG, settings, recorder)
    spool.open()
    try:
        yield Gate(app, spool, Recording(recorder, spool))
    finally:
        spool.close()


AUTHENTICATED = AppSettings(log_recorded=False, authenticates=True)


@pytest.mark.parametrize("settings", [_QUIET, AUTHENTICATED], ids=["made-up names", "real names"])
async def test_a_flood_of_admissions_leaves_room_in_other_namespaces(
    engine: EmbeddedEngine,  # noqa: F811
    tmp_path: Path,
    settings: AppSettings,
) -> None:
    """Whoever has its share is refused by an error that says so; others are recorded."""
    async with gate(tmp_path, engine, settings=settings) as made:
        refused = await made.flood("mallory@example.com", "train")
        assert refused["status"]["code"] == 500
        assert "have their share of the rest" in refused["status"]["message"]
        assert "This is an error, not a denial." in refused["status"]["message"]
        assert 0.6 < made.spool.fill < 0.7
        answers = [await made.create("alice@example.com", "web") for _ in range(10)]
        assert [each["allowed"] for each in answers] == [True] * 10
        assert not (await made.create("mallory@example.com", "train"))["allowed"]
        assert made.over_share() == 2.0
        wait_until(lambda: made.spool.settled)
        found = frames(made.spool)
        assert (await made.create("mallory@example.com", "train"))["allowed"], "it is empty again"
    decisions = [decode_document(each) for kind, each in found if kind == FrameKind.DECISION]
    recorded = [each["auditAnnotations"]["decision"] for each in answers]
    assert [each.id for each in decisions[-10:]] == recorded
    seen = [projection_digest(each) for kind, each in found if kind == FrameKind.PROJECTION]
    named = {digest for each in decisions for digest in (each.projection, each.context)}
    assert set(seen) == named, "nothing of what was refused is in the spool"


async def test_kube_apiserver_vouches_for_two_requesters_of_one_namespace(
    engine: EmbeddedEngine,  # noqa: F811
    tmp_path: Path,
) -> None:
    """One of them floods: the other still has room."""
    async with gate(tmp_path, engine, settings=AUTHENTICATED) as made:
        await made.flood("mallory@example.com", "train")
        assert (await made.create("bob@example.com", "train"))["allowed"]


async def test_without_shares_a_flood_of_admissions_fills_the_spool(
    engine: EmbeddedEngine,  # noqa: F811
    tmp_path: Path,
) -> None:
    """The reproduction: Pods of everybody are refused for want of a record."""
    async with gate(tmp_path, engine, shared=False) as made:
        await made.flood("mallory@example.com", "train")
        refused = await made.create("alice@example.com", "web")
    assert refused["status"]["code"] == 500
    assert "cannot be recorded" in refused["status"]["message"]
