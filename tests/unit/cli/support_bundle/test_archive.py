"""The file: its bytes follow from what is in it, and nobody's name is on its entries."""

import io
import tarfile

from cli.support_bundle.archive import build_archive

FILES = {"status.json": b"{}", "logs/pod/gate.log": b"a line\n"}


def test_the_same_files_are_the_same_bytes() -> None:
    """Whatever their order."""
    backwards = dict(reversed(FILES.items()))
    assert build_archive(FILES, 1_700_000_000) == build_archive(backwards, 1_700_000_000)


def test_entries_are_in_order_below_one_folder() -> None:
    """Of nobody, for its reader alone, and of one time."""
    with tarfile.open(fileobj=io.BytesIO(build_archive(FILES, 1_700_000_000))) as archive:
        entries = archive.getmembers()
    assert [each.name for each in entries] == [
        "sallyport-support/logs/pod/gate.log",
        "sallyport-support/status.json",
    ]
    assert {(each.uid, each.uname, each.mode, each.mtime) for each in entries} == {
        (0, "", 0o600, 1_700_000_000)
    }
