"""The same ledger and period give the same bytes in every form (docs/adr/0041)."""

import os
import subprocess
import sys
from pathlib import Path

from audit.ledger.store.store import Store
from audit.reports.ledger_state import read_ledger
from audit.reports.pages import ReportRequest
from audit.reports.reader import read_tallies
from core.base.times import time_text
from tests.unit.audit.reports.make_all import digests
from tests.unit.audit.reports.records import (
    MAY,
    access,
    at,
    fill,
    read,
    something_of_everything,
)

ROOT = Path(__file__).parents[4]


def run(path: Path, **environment: str) -> str:
    """Return the digests of all forms, made by a process with this environment."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.audit.reports.make_all", str(path)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


async def test_every_form_is_the_same_wherever_and_whenever_it_is_made(tmp_path: Path) -> None:
    """In another process, locale, time zone, and order of hashes."""
    path = tmp_path / "ledger.db"
    async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
        await fill(ledger, something_of_everything())
    first = await digests(str(path))
    other = run(path, PYTHONHASHSEED="7", TZ="Asia/Kolkata", LC_ALL="de_DE.UTF-8")
    assert len(first.splitlines()) == 9
    assert first == other


async def test_what_is_stored_while_it_is_read_is_not_in_it(tmp_path: Path) -> None:
    """A report is of the entries that the ledger had when it was begun, and says how many."""
    async with Store(f"sqlite:///{tmp_path / 'l.db'}", keep_days=3650) as ledger:
        await fill(ledger, something_of_everything())
        before = await read(ledger)
        state = await read_ledger(ledger)
        await fill(ledger, iter([access(at(20), 500)]))
        tallies = await read_tallies(ledger, ReportRequest(MAY, size=state.size), lambda *_: None)
        assert tallies.accesses.accesses == before.completeness.accesses
        after = await read(ledger)
    assert after.ledger.size == before.ledger.size + 1
    assert after.digest != before.digest
    assert before.made == time_text(MAY.end_ms // 1000)
