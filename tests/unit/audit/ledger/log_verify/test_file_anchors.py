"""A file that keeps heads: appended to, read again, and judged by the verifier."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from audit.ledger.log.anchor_file import FileAnchor
from audit.ledger.log.anchors import MOST_MARKS, decode_line
from audit.ledger.log.heads import TreeHead, sign_head
from audit.ledger.log.leaves import MARK_BYTES, mark_of
from audit.ledger.log.problems import Flaw
from core.base.errors import LedgerError
from tests.unit.audit.ledger.log_verify.honest_log import (
    ANCHORED,
    EVERY,
    KEY,
    LOG,
    Scene,
    anchor,
    time_at,
    verify,
)


def publish(path: Path, size: int) -> None:
    """Publish the head of a scene with so many records."""
    scene = Scene()
    kept = FileAnchor(path)

    async def run() -> None:
        reached = await kept.reached()
        marks = b"".join(mark_of(each.hash) for each in scene.records[reached:size])
        await kept.publish(scene.heads()[size], marks)

    asyncio.run(run())


def edit(path: Path, old: list[bytes]) -> None:
    """Write other lines into an anchor."""
    path.write_bytes(b"".join(old))


def test_only_its_user_reads_it(tmp_path: Path) -> None:
    """It is made with 0600."""
    path = anchor(tmp_path / "anchor")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_same_head_is_kept_once(tmp_path: Path) -> None:
    """A head that is published again, or an older one, changes nothing."""
    path = anchor(tmp_path / "anchor")
    before = path.read_bytes()
    publish(path, ANCHORED)
    publish(path, EVERY)
    assert path.read_bytes() == before


def test_it_goes_on_where_another_process_stopped(tmp_path: Path) -> None:
    """Each publisher finds out by itself what is missing."""
    path = tmp_path / "anchor"
    for size in (20, 50, 200, 600):
        publish(path, size)
    verdict = verify(Scene().write(tmp_path / "export"), [path])
    assert verdict.problems == []
    assert verdict.anchored == 600


def test_a_line_that_a_crash_cut_short_is_no_tampering(tmp_path: Path) -> None:
    """What was written of it stays, the next line stands on its own, and it is counted."""
    path = anchor(tmp_path / "anchor")
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines()[-1][:100])
    publish(path, 600)
    verdict = verify(Scene().write(tmp_path / "export"), [path])
    assert verdict.problems == []
    assert verdict.anchored == 600
    assert verdict.anchors[0].torn == 1


@pytest.mark.parametrize("cut", [1, 50, 200])
def test_an_end_that_is_cut_short_is_not_anchored_any_more(tmp_path: Path, cut: int) -> None:
    """Nobody can tell it from a crash; what it no longer covers is counted as not anchored."""
    path = anchor(tmp_path / "anchor")
    path.write_bytes(path.read_bytes()[:-cut])
    verdict = verify(Scene().write(tmp_path / "export"), [path])
    assert verdict.anchors[0].torn == (cut > 1)
    assert verdict.anchored == (ANCHORED if cut == 1 else ANCHORED - EVERY)


@pytest.mark.parametrize("change", ["removed", "changed", "swapped", "first"])
def test_whoever_edits_it_breaks_its_chain(tmp_path: Path, change: str) -> None:
    """Each line has the digest of the one before."""
    path = anchor(tmp_path / "anchor")
    lines = path.read_bytes().splitlines(keepends=True)
    made = {
        "removed": [*lines[:3], *lines[4:]],
        "changed": [*lines[:3], lines[3].replace(b'"marks":"', b'"marks":"AAAA'), *lines[4:]],
        "swapped": [*lines[:3], lines[4], lines[3], *lines[5:]],
        "first": lines[1:],
    }
    edit(path, made[change])
    verdict = verify(Scene().write(tmp_path / "export"), [path])
    assert Flaw.ANCHOR in {each.wrong for each in verdict.problems}


def test_two_anchors_that_disagree(tmp_path: Path) -> None:
    """The one that is not of this log is named."""
    honest = anchor(tmp_path / "honest")
    other = Scene()
    other.records[40] = other.records[41]
    wrong = anchor(tmp_path / "wrong", other)
    verdict = verify(Scene().write(tmp_path / "export"), [honest, wrong])
    assert {each.says.rpartition("the anchor ")[2] for each in verdict.problems} == {
        "wrong has another mark"
    }


def test_an_anchor_of_an_older_ledger(tmp_path: Path) -> None:
    """A ledger that was made anew is not the one that was anchored."""
    old = anchor(tmp_path / "anchor", Scene(log="ab" * 16))
    verdict = verify(Scene().write(tmp_path / "export"), [old])
    assert [each.wrong for each in verdict.problems] == [Flaw.KEY]


def test_another_log_is_not_anchored_there(tmp_path: Path) -> None:
    """One place keeps one log."""
    path = anchor(tmp_path / "anchor")
    kept = FileAnchor(path)
    other = sign_head("ab" * 16, 700, bytes(32), time_at(700), KEY)
    with pytest.raises(LedgerError, match=f"it is of the log {LOG}"):
        asyncio.run(kept.publish(other, bytes((700 - ANCHORED) * MARK_BYTES)))


def test_what_is_no_anchor_is_left_alone(tmp_path: Path) -> None:
    """Nothing is appended to a file of somebody else's."""
    path = tmp_path / "notes.txt"
    path.write_text("milk\n")
    with pytest.raises(LedgerError, match="its last line is not one of an anchor"):
        publish(path, EVERY)
    assert path.read_text() == "milk\n"


def test_many_marks_fill_several_lines(tmp_path: Path) -> None:
    """No line is larger than a block may be; the last of them has the head."""
    path = tmp_path / "anchor"
    size = MOST_MARKS * 2 + 1
    head: TreeHead = sign_head(LOG, size, bytes(32), time_at(0), KEY)
    asyncio.run(FileAnchor(path).publish(head, os.urandom(size * MARK_BYTES)))
    lines = [decode_line(line) for line in path.read_bytes().splitlines()]
    assert [each.reached for each in lines] == [MOST_MARKS, 2 * MOST_MARKS, size]
    assert [each.head for each in lines] == [None, None, head]
    assert asyncio.run(FileAnchor(path).reached()) == size


def test_marks_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Marks of other leaves than those that are missing would name the wrong record."""
    head = sign_head(LOG, 10, bytes(32), time_at(0), KEY)
    with pytest.raises(LedgerError, match="are not those of the leaves 0 to 10"):
        asyncio.run(FileAnchor(tmp_path / "anchor").publish(head, b"\1" * 36))
