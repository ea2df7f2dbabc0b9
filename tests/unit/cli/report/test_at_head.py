"""`sallyport report --at-head`: the same bytes later, or an error that says what the ledger has."""

import asyncio
import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.access.ingest.state import DETECTIONS
from audit.ledger.log.heads import TreeHead, sign_head
from audit.ledger.store.store import Store
from core.base.times import milliseconds_of
from tests.unit.audit.reports.records import (
    CLUSTER,
    Encoded,
    access,
    activity,
    at,
    change,
    decision,
    fill,
    finding,
    gap,
    intake,
    leaked,
    life,
    refused,
    something_of_everything,
)
from tests.unit.audit.reports.test_learning_state import checkpoint
from tests.unit.cli.conftest import Run

MONTH = ("--period", "2026-05")
KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
JUNE = milliseconds_of("2026-06-01T00:10:00.000Z")
AUGUST = milliseconds_of("2026-08-31T00:00:00.000Z")
FORMS = "html,pdf,csv,json,oscal,ocsf,sarif,openreports,prometheus"


def later_records() -> Iterator[Encoded]:
    """Yield records of the same month that come after a report of it."""
    yield from (leaked(at(day, 4), 600 + day) for day in range(10, 20))
    yield from (access(at(12, minute=number), 700 + number) for number in range(5))
    yield from (finding(at(day, 5), 600 + day, who="sas:cdcdcdcd") for day in (10, 12))
    yield change(at(20), "approved", "PolicyException", name="late", spec={"reason": "late"})
    yield intake(at(31, 22), read=900, stored=800, known=1, refused=3, late=99)
    yield refused(at(6), 999)
    yield gap(at(20, 1), at(20, 9))
    yield life(at(21), 900)
    yield decision(at(21), 901)
    yield activity(at(22))


async def sign(ledger: Store, time_ms: int) -> TreeHead:
    """Return a head of the ledger as it is, which it keeps."""
    state = await ledger.log_state()
    head = sign_head(state.id, state.tree.size, state.tree.root, time_ms, KEY)
    await ledger.add_head(head)
    return head


async def _make(path: Path, time_ms: int) -> TreeHead:
    async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
        await fill(ledger, something_of_everything())
        size = (await ledger.log_state()).tree.size
        await ledger.save_checkpoint(CLUSTER, DETECTIONS, size, checkpoint(at(30)))
        return await sign(ledger, time_ms)


async def _append(path: Path) -> TreeHead:
    async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
        await fill(ledger, later_records())
        size = (await ledger.log_state()).tree.size
        await ledger.save_checkpoint(CLUSTER, DETECTIONS, size, checkpoint(at(31)))
        return await sign(ledger, JUNE + 60_000)


async def _retain(path: Path, today: dt.date) -> None:
    async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
        await ledger.retain(30, today)


def written(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the ledger is."""
    return tmp_path / "ledger.db"


@pytest.fixture
def to(tmp_path: Path) -> Path:
    """A folder for reports."""
    (tmp_path / "to").mkdir()
    return tmp_path / "to"


def flags(path: Path, to: Path, head: str, forms: str = "json") -> tuple[str, ...]:
    """Return what makes the report of a head."""
    where = ("--ledger", f"sqlite:///{path}", "--to", str(to))
    return ("report", *MONTH, *where, "--format", forms, "--at-head", head, "-o", "json")


def test_report_of_a_head_has_the_same_bytes_after_more_was_stored(
    run: Run, path: Path, to: Path, tmp_path: Path
) -> None:
    """Each form, with findings, late accesses and a younger checkpoint of the same month."""
    head = asyncio.run(_make(path, JUNE))
    made = json.loads(run(*flags(path, to, "last", FORMS)).out)
    assert made["head"] == f"{head.size}:{head.root}"
    before = written(to)
    assert len(before) == 9
    asyncio.run(_append(path))
    (tmp_path / "again").mkdir()
    done = run(*flags(path, tmp_path / "again", made["head"], FORMS))
    assert (done.code, done.err) == (0, "")
    assert written(tmp_path / "again") == before
    newest = json.loads(run(*flags(path, to, "last")).out)
    assert newest["digest"] != made["digest"], "without the head it is of all that is there"


def test_report_names_its_head_in_each_form_that_has_room(run: Run, path: Path, to: Path) -> None:
    """Whoever has the file alone can pass it."""
    head = asyncio.run(_make(path, JUNE))
    named = f"{head.size}:{head.root}"
    assert run(*flags(path, to, named, "html,json,oscal,sarif")).code == 0
    assert all(named in content.decode() for content in written(to).values())


def test_report_of_more_than_the_last_head_says_how_to_make_one_that_lasts(
    run: Run, path: Path, to: Path
) -> None:
    """It names no head: its entries are under none."""
    asyncio.run(_make(path, JUNE))

    async def add() -> None:
        async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
            await fill(ledger, later_records())

    asyncio.run(add())
    where = ("--ledger", f"sqlite:///{path}", "--to", str(to), "--format", "html", "-o", "json")
    done = run("report", *MONTH, *where)
    assert (done.code, json.loads(done.out)["head"]) == (0, "")
    page = (to / "sallyport-report-2026-05.html").read_text()
    assert "<code>--at-head last</code> makes a report that can be made again" in page


def test_other_root_is_an_error_with_the_root_that_the_ledger_has(
    run: Run, path: Path, to: Path
) -> None:
    """Also a size that it has not, and one at which nothing is signed."""
    head = asyncio.run(_make(path, JUNE))
    other = "ab" * 32
    done = run(*flags(path, to, f"{head.size}:{other}"))
    assert (done.code, list(to.iterdir())) == (2, [])
    assert f"its root at {head.size} entries is {head.root}, and not {other}" in done.err
    done = run(*flags(path, to, f"{head.size + 1}:{other}"))
    assert (done.code, list(to.iterdir())) == (2, [])
    assert f"it has {head.size} entries, and not {head.size + 1}" in done.err

    async def root(size: int) -> str:
        async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
            return (await ledger.frontier(size)).root.hex()

    done = run(*flags(path, to, f"5:{asyncio.run(root(5))}"))
    assert (done.code, list(to.iterdir())) == (2, [])
    assert "no head of 5 is signed: give one of `sallyport ledger heads`" in done.err
    assert f"such as {head.size}:{head.root}" in done.err


def test_ledger_without_a_head_says_who_signs_one(run: Run, path: Path, to: Path) -> None:
    """There is nothing to name."""

    async def make() -> None:
        async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
            await fill(ledger, something_of_everything())

    asyncio.run(make())
    done = run(*flags(path, to, "last"))
    assert (done.code, list(to.iterdir())) == (2, [])
    assert "it has no signed head yet: the auditor signs one" in done.err


@pytest.mark.parametrize("head", ["5", "5:abc", "x:" + "ab" * 32, "5:" + "AB" * 32, "newest"])
def test_what_is_no_head_is_wrong_usage(run: Run, path: Path, to: Path, head: str) -> None:
    """The message says what to give."""
    asyncio.run(_make(path, JUNE))
    done = run(*flags(path, to, head))
    assert (done.code, done.out) == (64, "")
    assert f"--at-head {head}: give SIZE:ROOT" in done.err


@pytest.mark.parametrize("period", [(), ("--since", "2026-05-01")])
def test_period_that_moves_is_wrong_usage(
    run: Run, path: Path, to: Path, period: tuple[str, ...]
) -> None:
    """The last whole month, or until now, is another period later."""
    asyncio.run(_make(path, JUNE))
    where = ("--ledger", f"sqlite:///{path}", "--to", str(to))
    done = run("report", *period, *where, "--at-head", "last")
    assert (done.code, done.out) == (64, "")
    assert "--at-head: say of which period" in done.err


@pytest.mark.parametrize("signed", [AUGUST, JUNE], ids=["documents", "documents and leaves"])
def test_what_retention_removed_since_is_an_error(
    run: Run, path: Path, to: Path, signed: int
) -> None:
    """Not a report that lacks it: nothing is written."""
    head = asyncio.run(_make(path, signed))
    asyncio.run(_retain(path, dt.date(2026, 9, 1)))
    done = run(*flags(path, to, f"{head.size}:{head.root}"))
    assert (done.code, list(to.iterdir())) == (2, [])
    assert "retention removed documents of before 2026-08-03" in done.err
    assert f"cannot be made of its first {head.size} entries any more" in done.err


def test_head_before_what_retention_removed_whole_is_an_error(
    run: Run, path: Path, to: Path
) -> None:
    """Its entries are not even there as leaves."""
    head = asyncio.run(_make(path, JUNE))
    asyncio.run(_append(path))
    asyncio.run(_retain(path, dt.date(2026, 9, 1)))
    done = run(*flags(path, to, f"{head.size}:{head.root}"))
    assert (done.code, list(to.iterdir())) == (2, [])
    assert "reports of its first" in done.err
    assert "cannot be made any more" in done.err


def test_retention_of_other_days_changes_nothing(run: Run, path: Path, to: Path) -> None:
    """What it removed is of before all that the report reads."""

    async def make() -> TreeHead:
        async with Store(f"sqlite:///{path}", keep_days=3650) as ledger:
            old = milliseconds_of("2025-11-01T00:00:00.000Z")
            await fill(ledger, iter([access(old, 1), finding(old, 1)]))
            await fill(ledger, something_of_everything())
            head = await sign(ledger, JUNE)
            await ledger.retain(30, dt.date(2025, 12, 31))
            return head

    head = asyncio.run(make())
    done = run(*flags(path, to, f"{head.size}:{head.root}"))
    assert (done.code, done.err) == (0, "")
