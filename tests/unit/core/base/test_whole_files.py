"""Files that are written whole or not at all."""

from pathlib import Path

import pytest

from core.base.whole_files import replace_file, write_whole


def test_content_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    """Only the new file is left, with the permissions that were asked for."""
    path = tmp_path / "key.pem"
    path.write_bytes(b"before")
    write_whole(path, b"after", 0o640)
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["key.pem"]


def test_permissions_are_what_the_umask_leaves(tmp_path: Path) -> None:
    """Without permissions of its own, a file has those of any file that is made."""
    other = tmp_path / "other"
    other.touch()
    write_whole(tmp_path / "made", b"")
    assert (tmp_path / "made").stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize("beside", ["", ".new"])
def test_failure_leaves_the_one_before(tmp_path: Path, beside: str) -> None:
    """Who fails half-way changes nothing and leaves nothing."""
    path = tmp_path / "state"
    path.write_bytes(b"before")

    def fail() -> None:
        with replace_file(path, beside=beside) as file:
            file.write(b"half")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert path.read_bytes() == b"before"
    assert [each.name for each in tmp_path.iterdir()] == ["state"]


def test_folder_is_made_only_where_it_is_asked_for(tmp_path: Path) -> None:
    """A missing folder is an error to whoever did not ask for one."""
    path = tmp_path / "no" / "such" / "file"
    with pytest.raises(FileNotFoundError):
        write_whole(path, b"")
    write_whole(path, b"there", make_folder=True)
    assert path.read_bytes() == b"there"


def test_one_that_was_left_half_written_is_written_over(tmp_path: Path) -> None:
    """The same name beside it each time: what a kill left goes with the next."""
    (tmp_path / "state.new").write_bytes(b"half of a long one")
    write_whole(tmp_path / "state", b"whole", beside=".new")
    assert (tmp_path / "state").read_bytes() == b"whole"
    assert [each.name for each in tmp_path.iterdir()] == ["state"]
