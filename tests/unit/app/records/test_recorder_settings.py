"""What a process records with, by its settings."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from app.records import recorder as module
from app.records.recorder import Recording, cluster_id, open_recording, wait_for_cluster_id
from app.settings.root import Settings
from core.base.errors import NotSyncedError
from core.base.ids import uuid7
from core.decision.decision import Decision, Verdict
from kube.cluster.folder import FolderCluster
from tests.unit.audit.ledger.records.test_recorder import REQUEST, decision
from tests.unit.audit.loopback_auditor import Memory
from webhooks.log import get_logger

CLUSTER = FolderCluster(None)
SOON_S = 60.0


def settings(**sections: Any) -> Settings:
    """Return settings with these sections."""
    return Settings.model_validate(sections)


def opened(made: Settings, destination: Any = None, lines: list[bytes] | None = None) -> Any:
    """Open a recording, its lines going into a list."""
    write = None if lines is None else lines.append
    return open_recording(made, CLUSTER, get_logger(), destination, write)


def record(recording: Recording) -> None:
    """Record one decision."""
    recording.recorder.record("validate", REQUEST, decision(), [], 0.001)


async def test_lines_need_no_spool() -> None:
    """Each decision is a whole document on standard output; that it is no record is said aloud."""
    lines: list[bytes] = []
    with capture_logs() as log:
        async with opened(settings(), lines=lines) as recording:
            record(recording)
            assert recording.spool is None
    (document,) = (json.loads(line) for line in lines)
    assert (document["cluster"], document["verdict"]) == ("local", "allow")
    assert document["projection"].startswith("sha256:")
    assert [(line["log_level"], line["event"]) for line in log] == [
        ("warning", "decisions are logged only")
    ]


async def test_without_spool_and_lines_nothing_is_recorded() -> None:
    """The log has a line of each decision then; the warning is the same."""
    with capture_logs() as log:
        async with opened(settings()) as recording:
            assert recording is None
    assert [line["event"] for line in log] == ["decisions are logged only"]


async def test_lines_come_beside_the_spool(tmp_path: Path) -> None:
    """And what the spool does not take is no line: it was not recorded."""
    lines: list[bytes] = []
    memory = Memory()
    async with opened(settings(spool={"folder": tmp_path / "s"}), memory, lines) as recording:
        record(recording)
        async with asyncio.timeout(SOON_S):
            while len(memory.kept) < 2:  # noqa: ASYNC110  It has no event.
                await asyncio.sleep(0.01)
    assert lines[0] in {frame.payload for frame in memory.kept.values()}
    with pytest.raises(Exception, match="is closed"):
        record(recording)
    assert len(lines) == 1


async def test_shipping_begins_again_whatever_ended_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect is logged, and costs no record."""
    asked = 0

    def broken_at_first() -> str:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise ZeroDivisionError
        return "local"

    monkeypatch.setattr(module, "_SHIP_AGAIN_S", 0.01)
    monkeypatch.setattr(CLUSTER, "identity", broken_at_first, raising=False)
    memory = Memory()
    with capture_logs() as log:
        async with opened(settings(spool={"folder": tmp_path / "s"}), memory) as recording:
            async with asyncio.timeout(SOON_S):
                while recording.shipper is None:  # noqa: ASYNC110  As above.
                    await asyncio.sleep(0.01)
            record(recording)
    assert len(memory.kept) == 2
    assert [line["event"] for line in log] == ["shipping ended; it begins again"]


async def test_the_clusters_id_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the namespaces are loaded nobody knows it."""
    left = 2

    def identity() -> str:
        nonlocal left
        left -= 1
        if left >= 0:
            raise NotSyncedError("the namespaces have not been loaded")
        return "c1"

    monkeypatch.setattr(module, "_ASK_AGAIN_S", 0.01)
    assert await wait_for_cluster_id(identity) == "c1"
    assert await wait_for_cluster_id(cluster_id(settings(cluster_id="given"), CLUSTER)) == "given"


async def test_a_client_ca_alone_vouches_for_no_name() -> None:
    """It may have signed any user's certificate: names count where the caller is kube-apiserver."""
    with_ca = settings(listen={"client_ca": "/ca.pem"})
    async with opened(with_ca, lines=[]) as recording:
        share_of = recording.recorder.share_of
        stranger = msgspec.structs.replace(REQUEST, authenticated=False)
        assert share_of(stranger).requester == ""
        known = msgspec.structs.replace(REQUEST, authenticated=True)
        assert share_of(known).requester == known.subject.label


class UnsyncedCluster(FolderCluster):
    """A cluster whose id is known again and again, and in between not."""

    is_known = True

    def identity(self) -> str:
        """Return its id."""
        if not self.is_known:
            raise NotSyncedError("namespaces")
        return "c1"


def refuse(recording: Recording, times: int) -> None:
    """Record refusals of one kind."""
    for number in range(times):
        refused = Decision(id=uuid7(number), verdict=Verdict.DENY, allowed=False)
        recording.recorder.record("validate", REQUEST, refused, [], 0.001)


def counted(lines: list[bytes]) -> list[int]:
    """Return what aggregates among the lines count."""
    return [found["count"] for found in map(json.loads, lines) if "count" in found]


async def test_aggregates_go_on_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is logged, and what was counted is written once it can be."""
    monkeypatch.setattr(module, "_SEAL_S", 0.001)
    monkeypatch.setattr("audit.ledger.records.refusal_budget.SEAL_S", 0.0)
    lines: list[bytes] = []
    cluster, made = UnsyncedCluster(None), settings(record={"refusals_per_minute": 1})
    with capture_logs() as log:
        async with open_recording(made, cluster, get_logger(), None, lines.append) as recording:
            assert recording is not None
            refuse(recording, 4)
            cluster.is_known = False
            async with asyncio.timeout(SOON_S):
                while len(log) < 3:  # noqa: ASYNC110  The log has no event.
                    await asyncio.sleep(0.001)
                cluster.is_known = True
                while not counted(lines):  # noqa: ASYNC110  Nor have lines.
                    await asyncio.sleep(0.001)
    errors = [line for line in log if line["log_level"] == "error"]
    assert {line["event"] for line in errors} == {"aggregates of refusals are not recorded"}
    assert counted(lines) == [3]


@pytest.mark.parametrize("spooled", [False, True])
async def test_aggregates_are_written_whatever_ends_the_process(
    tmp_path: Path, *, spooled: bool
) -> None:
    """Also where it ends by an error."""
    lines: list[bytes] = []
    folder = {"spool": {"folder": tmp_path}} if spooled else {}
    made = settings(record={"refusals_per_minute": 1}, **folder)
    with pytest.raises(ZeroDivisionError):  # noqa: PT012  The block is what ends.
        async with opened(made, lines=lines) as recording:
            refuse(recording, 4)
            raise ZeroDivisionError
    assert counted(lines) == [3]
