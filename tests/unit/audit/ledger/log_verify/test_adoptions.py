"""What an upgrade took in is told from what somebody put in and let the ledger take in."""

from pathlib import Path

import pytest

from audit.ledger.log.adoption import FIRST_DAYS, adoption_of, encode_adoption
from audit.ledger.log.anchor_file import FileAnchor
from audit.ledger.log.problems import Flaw
from audit.ledger.log.verdict import Verdict
from audit.ledger.records.frames import FrameKind
from audit.ledger.store.store import Store
from core.base.ids import stable_id
from tests.unit.audit.ledger.log_verify import honest_ledgers
from tests.unit.audit.ledger.log_verify.honest_ledgers import Clock, publish
from tests.unit.audit.ledger.log_verify.honest_log import (
    DAY_MS,
    EVERY,
    Record,
    Scene,
    anchor,
    decision,
    time_at,
    verify,
)
from tests.unit.audit.ledger.store.documents import NOW_MS
from tests.unit.audit.ledger.store.earlier_releases import make_former, write_former

COUNT = 4 * EVERY


def adoption(at_ms: int, records: int, *, last: bool = False) -> Record:
    """Return the record that so many leaves are taken in."""
    made = adoption_of(stable_id(at_ms, "adoption"), at_ms, records, last=last)
    return Record(FrameKind.ADOPTION, made.id, encode_adoption(made), "")


def former(number: int) -> Record:
    """Return a decision that was recorded nine days before there was a log."""
    return decision(NOW_MS - 9 * DAY_MS + number, 9000 + number)


def upgraded() -> Scene:
    """Return a ledger that was taken in while heads were signed already."""
    made = [adoption(time_at(100), 59), *map(former, range(59))]
    made += [adoption(time_at(161), 9), *map(former, range(59, 68))]
    made += [adoption(time_at(170), 0, last=True)]
    made += [decision(time_at(100 + len(made) + at), at) for at in range(COUNT - len(made))]
    times = {size: time_at(100 + size) for size in range(EVERY, COUNT + 1, EVERY)}
    return Scene(records=made, sizes=list(times), times=times)


def verdict_of(scene: Scene, folder: Path) -> Verdict:
    """Verify it against its own anchor: what the ledger did itself, it anchored."""
    kept = anchor(folder / "anchor", scene, until=COUNT)
    return verify(scene.write(folder / "export"), [kept])


def test_what_an_upgrade_took_in_is_no_problem(tmp_path: Path) -> None:
    """Old decisions that came after a head are not back-dated then; they are counted."""
    verdict = verdict_of(upgraded(), tmp_path)
    assert verdict.problems == []
    assert (verdict.adopted, verdict.late, verdict.waiting) == (68, 0, 0)


def test_one_more_than_was_taken_in_is_back_dated(tmp_path: Path) -> None:
    """The record says how many leaves follow it."""
    scene = upgraded()
    scene.records[60] = adoption(time_at(161), 8)
    verdict = verdict_of(scene, tmp_path)
    assert [(each.wrong, each.position) for each in verdict.problems] == [(Flaw.BACK_DATED, 69)]


@pytest.mark.parametrize("what", ["done", "late", "kind", "short", "text"])
def test_what_no_upgrade_takes_in_is_found(tmp_path: Path, what: str) -> None:
    """After it was done, in a log that is over a week old, of kinds that are younger, or less."""
    scene = upgraded()
    at = 120
    late = time_at(100) + (FIRST_DAYS + 1) * DAY_MS
    if what == "done":
        scene.records[at : at + 2] = [adoption(time_at(100 + at), 1), former(500)]
    elif what == "late":
        scene.records = [each for each in scene.records if each.kind != FrameKind.ADOPTION][68:]
        scene.records[at : at + 2] = [adoption(late, 1), former(500)]
        scene.sizes = [EVERY, 2 * EVERY]
    elif what == "kind":
        at = 5
        made = scene.records[at]
        scene.records[at] = Record(FrameKind.ACCESS, made.id, made.payload)
    elif what == "short":
        at = 60
        scene.records[0] = adoption(time_at(100), 90)
    else:
        at = 0
        scene.records[0] = Record(FrameKind.ADOPTION, scene.records[0].id, b"{", "")
    found = [each for each in verdict_of(scene, tmp_path).problems if each.wrong is Flaw.ADOPTED]
    assert found[0].position == at


@pytest.mark.parametrize("is_over", [False, True])
async def test_rows_that_wait_are_counted_while_an_upgrade_goes_on(
    tmp_path: Path, *, is_over: bool
) -> None:
    """The earlier release still writes; once that is over what has no place is a problem."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    clock = Clock()
    clock.now_ms = NOW_MS
    make_former(url)
    async with Store(url, clock) as store:
        write_former(url, 0, 3)
        assert await store.adopt() == 4
        if is_over:
            clock.now_ms += DAY_MS
            assert await store.adopt() == 0
        await publish(store, FileAnchor(tmp_path / "anchor"), clock.now_ms)
        write_former(url, 3, 2)
        assert await store.adopt() == (0 if is_over else 3)
        write_former(url, 5, 1)
    verdict = await honest_ledgers.verify(url, tmp_path / "anchor")
    found = [each for each in verdict.problems if each.wrong is Flaw.ROW]
    assert (len(found), verdict.waiting, verdict.adopted) == ((5, 0, 4) if is_over else (0, 2, 7))
