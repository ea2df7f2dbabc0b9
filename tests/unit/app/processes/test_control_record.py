"""Up to when what was recorded is kept for good: by the spool, or by the auditor, if any."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.processes.control.record import MARGIN_S, KeptUntil
from audit.ledger.records.frames import FrameKind
from audit.ledger.spool.queue import Spool
from tests.api.kube.objects import wait_for


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    """A spool."""
    made = Spool(tmp_path / "spool")
    made.open()
    yield made
    made.close()


async def settle(spool: Spool) -> None:
    """Wait until all is synced."""
    await wait_for(lambda: spool.settled, 10)


async def test_without_an_auditor_what_is_synced_is_kept(spool: Spool) -> None:
    """And nothing younger."""
    kept, before = KeptUntil(spool, ships=False), time.time()
    spool.append(FrameKind.CHANGE, bytes(16), b"{}")
    assert kept() < before
    await settle(spool)
    assert kept() > before


async def test_with_an_auditor_only_what_it_has_is_kept(spool: Spool) -> None:
    """The spool's volume may go with its Pod."""
    kept = KeptUntil(spool, ships=True)
    spool.append(FrameKind.CHANGE, bytes(16), b"{}")
    await settle(spool)
    written = time.time()
    assert kept() < written - MARGIN_S + 0.5
    await asyncio.sleep(0.5)
    assert kept() < written, "it waits, however long ago it was synced"
    spool.acknowledge(spool.read(1 << 20, 10))
    assert kept() > written


async def test_it_never_goes_back(spool: Spool) -> None:
    """What was kept once stays so."""
    kept = KeptUntil(spool, ships=False)
    first = kept()
    spool.append(FrameKind.CHANGE, bytes(16), b"{}")
    assert kept() >= first
