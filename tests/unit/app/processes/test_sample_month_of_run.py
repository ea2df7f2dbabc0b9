"""`sallyport run` brings a sample month into a new ledger, and into no other."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
import structlog

from app.processes.gate.process import GateSetup
from app.processes.run import process
from app.processes.run.sample import LEDGER, MARK, needs_sample, open_sample_import
from app.settings.root import Settings
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from core.weights.documents.access import decode_access

_LOGGER = structlog.get_logger()


def test_only_a_new_ledger_needs_one(tmp_path: Path) -> None:
    """Or one in which it was not finished."""
    assert needs_sample(tmp_path)
    (tmp_path / LEDGER).touch()
    assert not needs_sample(tmp_path)
    (tmp_path / MARK).touch()
    assert needs_sample(tmp_path)


async def test_it_is_brought_by_a_process_of_its_own(tmp_path: Path) -> None:
    """All of it is of the sample's cluster, and afterwards nothing is left to do."""
    async with asyncio.timeout(180), open_sample_import(tmp_path, _LOGGER):
        while (tmp_path / MARK).exists():  # noqa: ASYNC110  Another process takes it away.
            await asyncio.sleep(0.2)
    assert not needs_sample(tmp_path)
    ledger = Store(f"sqlite:///{tmp_path / LEDGER}", keep_days=3650)
    await ledger.open(make=False)
    found = await ledger.documents(FrameKind.ACCESS, 0, 2**48 - 1, limit=10_000)
    await ledger.close()
    assert {document.cluster for document in found} == {"sample-month"}
    assert {decode_access(document.payload).cluster for document in found} == {"sample-month"}


async def test_end_of_run_ends_it_and_the_next_start_goes_on(tmp_path: Path) -> None:
    """Nobody waits half a minute for Ctrl-C."""
    async with asyncio.timeout(30), open_sample_import(tmp_path, _LOGGER):
        await asyncio.sleep(0.1)
    assert needs_sample(tmp_path)


@pytest.mark.parametrize("examples", [False, True])
def test_run_brings_none_where_it_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, examples: bool
) -> None:
    """With --quiet, scripts get the bare gate; else the folder of its state gets one."""
    noted: list[GateSetup] = []

    async def serve(_: Settings, where: GateSetup) -> int:
        noted.append(where)
        return 0

    monkeypatch.setattr(process, "serve_until_signal", serve)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(SystemExit):
        process.serve_locally(Settings(), lambda _: lambda _: None, examples=examples)
    opened = noted[0].open_destination
    assert isinstance(opened, partial)
    assert opened.keywords["sample"] == (tmp_path / "sallyport" / "run" if examples else None)
