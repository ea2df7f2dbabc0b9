"""`make check` takes up what mypy learnt in another clone; no complaint comes of that alone."""

from pathlib import Path

import pytest

from tests import check
from tests.tools.packed_folder import pack_whole, unpack_whole

CACHE = ".mypy_cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file in a folder."""
    folder = tmp_path / "first" / CACHE
    (folder / "3.11").mkdir(parents=True)
    (folder / "3.11" / "cache.db").write_bytes(b"known")
    return folder


def test_a_packed_folder_comes_back_whole(folder: Path, tmp_path: Path) -> None:
    """In another place, under the archive's last content."""
    archive = tmp_path / "kept" / "mypy.tar"
    pack_whole(folder, archive)
    (folder / "3.11" / "cache.db").write_bytes(b"known better")
    pack_whole(folder, archive)
    second = tmp_path / "second" / CACHE
    second.parent.mkdir()
    assert unpack_whole(archive, second)
    assert (second / "3.11" / "cache.db").read_bytes() == b"known better"
    assert [each.name for each in archive.parent.iterdir()] == ["mypy.tar"]
    assert [each.name for each in second.parent.iterdir()] == [CACHE]


@pytest.mark.parametrize("left", [0, 100, 700], ids=["empty", "in a head", "in a file"])
def test_a_torn_archive_leaves_nothing(folder: Path, tmp_path: Path, left: int) -> None:
    """As the loss of power leaves one; nor does one that is not there."""
    archive = tmp_path / "mypy.tar"
    (folder / "3.11" / "cache.db").write_bytes(b"x" * 100_000)
    pack_whole(folder, archive)
    with archive.open("r+b") as file:
        file.truncate(left)
    second = tmp_path / "second" / CACHE
    second.parent.mkdir()
    assert not unpack_whole(archive, second)
    assert not unpack_whole(tmp_path / "none.tar", second)
    assert list(second.parent.iterdir()) == []


@pytest.fixture
def mypy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have mypy complain whenever its cache says so; return what it found there each time."""
    found: list[str] = []

    def complaint(*_: object) -> str:
        cache = tmp_path / "clone" / CACHE / "3.11" / "cache.db"
        found.append(cache.read_text() if cache.exists() else "")
        if not cache.exists():
            cache.parent.mkdir(parents=True)
            cache.write_text("learnt")
        return "an error" if found[-1] == "poison" else ""

    (tmp_path / "clone").mkdir()
    monkeypatch.setattr(check, "complaint", complaint)
    monkeypatch.setattr(check, "ROOT", tmp_path / "clone")
    monkeypatch.setattr(check, "cache_folder", lambda: tmp_path)
    return found


def test_a_new_clone_takes_up_what_mypy_has_learnt(mypy: list[str], tmp_path: Path) -> None:
    """The first one begins with nothing, the next one with what that one learnt."""
    assert check.types() == ""
    (tmp_path / "clone").rename(tmp_path / "first")
    (tmp_path / "clone").mkdir()
    assert check.types() == ""
    assert check.types() == "", "the clone has its own by now"
    assert mypy == ["", "learnt", "learnt"]


def test_a_complaint_must_come_without_what_was_taken_up(
    mypy: list[str], folder: Path, tmp_path: Path
) -> None:
    """A damaged cache fails no run, and is not kept."""
    (folder / "3.11" / "cache.db").write_text("poison")
    pack_whole(folder, tmp_path / "mypy.tar")
    assert check.types() == ""
    assert mypy == ["poison", ""]
    assert unpack_whole(tmp_path / "mypy.tar", tmp_path / CACHE)
    assert (tmp_path / CACHE / "3.11" / "cache.db").read_text() == "learnt"
