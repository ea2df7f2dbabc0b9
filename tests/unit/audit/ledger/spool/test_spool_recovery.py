"""What a spool makes of what a process left behind that was killed, or a disk that fails."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.ledger.records.frames import MAX_BODY, Frame, read_frames
from audit.ledger.spool.segments import FORMAT, HEADER_BYTES
from tests.harness.sizes import size
from tests.unit.audit.ledger.spool.spools import Opened, frame, frames, opened, segments

SIZES = st.lists(st.integers(0, 3000), min_size=1, max_size=30)


def left_behind(folder: Path, sent: list[Frame], acknowledged: int = 0) -> tuple[Path, int]:
    """Leave what a process leaves that is killed after its last write.

    Give the folder, and how many frames were acknowledged.
    """
    with opened(folder / "alive") as made:
        made.write(*sent)
        if acknowledged:
            made.spool.acknowledge(made.spool.read(10**6, acknowledged))
        shutil.copytree(folder / "alive", folder / "left")
        return folder / "left", made.spool.status().acknowledged


def shipped(folder: Path) -> tuple[list[int], Opened]:
    """Open what was left and ship it; give the numbers of the frames."""
    with opened(folder) as made:
        got = made.ship()
        numbers = [int.from_bytes(one.id) for one in got]
        assert got == [
            frame(number, len(one.payload)) for number, one in zip(numbers, got, strict=True)
        ]
        return numbers, made


def whole_frames(file: Path, until: int) -> int:
    """Return how many frames of a segment end before an offset."""
    content = file.read_bytes()
    return sum(end <= until for _, end in read_frames(content, HEADER_BYTES))


@pytest.mark.proof
@given(SIZES, st.integers(0, 10), st.data())
@settings(max_examples=size(ci=60, proof=2000), deadline=None)
def test_a_file_that_ends_anywhere_loses_only_what_was_cut(
    sizes: list[int], acknowledge: int, data: st.DataObject
) -> None:
    """Each whole frame before the cut is there, once, in order; nothing else is."""
    sent = [frame(number, size) for number, size in enumerate(sizes)]
    with tempfile.TemporaryDirectory() as name:
        folder, acknowledged = left_behind(Path(name), sent, acknowledge)
        files = segments(folder)
        cut = data.draw(st.integers(0, files[-1].stat().st_size))
        with_last = len(sent) - whole_frames(files[-1], MAX_BODY) + whole_frames(files[-1], cut)
        os.truncate(files[-1], cut)
        got, made = shipped(folder)
        # What is acknowledged comes again only if the cursor points behind the cut.
        first = acknowledged if acknowledged <= with_last else (got or [with_last])[0]
        assert got == list(range(first, with_last))
        assert made.spool.status().damaged == 0
        assert segments(folder, "damaged") == []


@pytest.mark.proof
@given(SIZES, st.data())
@settings(max_examples=size(ci=60, proof=2000), deadline=None)
def test_a_byte_that_changed_is_never_sent(sizes: list[int], data: st.DataObject) -> None:
    """All before the damage, and in other segments, is sent, and nothing that was not appended.

    The damaged file is kept. Only an end that looks unfinished is cut off. Both are told.
    """
    sent = [frame(number, size) for number, size in enumerate(sizes)]
    with tempfile.TemporaryDirectory() as name:
        folder, _ = left_behind(Path(name), sent)
        files = segments(folder)
        victim = data.draw(st.sampled_from(files))
        place = data.draw(st.integers(0, victim.stat().st_size - 1))
        before = sum(whole_frames(file, MAX_BODY) for file in files[: files.index(victim)])
        through = before + whole_frames(victim, MAX_BODY)
        good = before + (whole_frames(victim, place) if place >= HEADER_BYTES else 0)
        content = bytearray(victim.read_bytes())
        content[place] ^= data.draw(st.integers(1, 255))
        victim.write_bytes(content)
        got, made = shipped(folder)
        if good + 1 < through or victim != files[-1] or made.spool.status().damaged:
            assert content in [path.read_bytes() for path in segments(folder, "damaged")]
        if got != list(range(len(sent))):  # A header's format may be the next one as well.
            assert got == [*range(good), *range(through, len(sent))]
            assert len(made.damages) == 1


def test_an_unfinished_frame_is_told(tmp_path: Path) -> None:
    """It was never whole; but whoever looks for it shall know."""
    folder, _ = left_behind(tmp_path, frames(3))
    os.truncate(segments(folder)[0], segments(folder)[0].stat().st_size - 1)
    got, made = shipped(folder)
    assert got == [0, 1]
    assert made.damages == [
        f"an unfinished frame of 125 bytes was cut off segment 1 of the spool {folder}"
    ]


def test_damage_in_the_middle_is_told_before_what_follows_is_sent(tmp_path: Path) -> None:
    """It is counted, the frames before it and the next segments go on, the file stays."""
    folder, _ = left_behind(tmp_path, frames(150))
    first = segments(folder)[0]
    content = bytearray(first.read_bytes())
    content[12 + 10 * 126 + 50] ^= 1
    first.write_bytes(content)
    in_first = whole_frames(tmp_path / "alive" / first.name, MAX_BODY)
    got, made = shipped(folder)
    assert got == [*range(10), *range(in_first, 150)]
    assert made.spool.status().damaged == 1
    assert "checksum is wrong" in made.damages[0]
    assert "set aside" in made.damages[0]
    assert [path.name for path in segments(folder, "damaged")] == ["0000000000000001.damaged"]


@pytest.mark.parametrize(
    "content", [b"", b"1 1", b"1 1 500 00000000\n", b"\xff\x00", b"9 1 12 0\n"]
)
def test_a_broken_cursor_has_everything_sent_again(tmp_path: Path, content: bytes) -> None:
    """Better twice than never; and it is told."""
    folder, acknowledged = left_behind(tmp_path, frames(20), 10)
    assert acknowledged == 10
    (folder / "cursor").write_bytes(content)
    got, made = shipped(folder)
    assert got == list(range(20))
    assert "cursor" in made.damages[0]


def test_numbers_are_never_used_again(tmp_path: Path) -> None:
    """A cursor that outlives its segments must not hide new ones."""
    for count in range(3):
        with opened(tmp_path) as made:
            made.write(frame(count))
            assert made.ship() == [frame(count)]
            assert segments(tmp_path)[0].name == f"{count + 1:016d}.spool"
        assert segments(tmp_path) == []


def test_a_file_that_vanished_is_told(tmp_path: Path) -> None:
    """Somebody tidied up under a living spool: the rest goes on, new frames as well."""
    with opened(tmp_path) as made:
        made.write(*frames(150))
        for path in segments(tmp_path)[1:]:
            path.unlink()
        got = made.ship()
        made.write(frame(999))
        made.write(frame(1000))
        assert [*got, *made.ship()][-1] == frame(1000)
        assert "No such file" in made.damages[0]


def test_the_format_after_this_one_is_read(tmp_path: Path) -> None:
    """A release that is rolled back finds its successor's spool; one too far away is set aside."""
    for version, numbers in ((FORMAT + 1, [0, 1, 2]), (FORMAT + 2, [])):
        folder, _ = left_behind(tmp_path / str(version), frames(3))
        path = segments(folder)[0]
        content = path.read_bytes()
        path.write_bytes(content[:8] + version.to_bytes(4) + content[12:])
        assert shipped(folder)[0] == numbers
        assert len(segments(folder, "damaged")) == (not numbers)
