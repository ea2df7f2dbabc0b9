"""The index of the decisions on the design is made from their titles."""

from pathlib import Path

import pytest

from docs.generate import adr_index


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of two decisions, of which the second changes the first."""
    (tmp_path / "0001-one.md").write_text(
        "# 1. One thing is decided\n\n**Status.** Changed by ADR 2.\n\n**Context.** …\n"
    )
    (tmp_path / "0002-two.md").write_text("# 2. Another thing is decided\n\n**Context.** …\n")
    monkeypatch.setattr(adr_index, "FOLDER", tmp_path)
    monkeypatch.setattr("sys.argv", ["adr_index.py"])
    return tmp_path


def test_index_has_number_decision_and_status(folder: Path) -> None:
    """A row each; a decision that a later page names links to it."""
    assert adr_index.main() == 0
    rows = (folder / "index.md").read_text().splitlines()[-2:]
    assert rows == [
        "| 1 | [One thing is decided](0001-one.md) | Changed by [ADR 2](0002-two.md). |",
        "| 2 | [Another thing is decided](0002-two.md) | In force. |",
    ]


def test_check_fails_once_a_title_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And writes nothing."""
    adr_index.main()
    before = (folder / "index.md").read_text()
    monkeypatch.setattr("sys.argv", ["adr_index.py", "--check"])
    assert adr_index.main() == 0
    (folder / "0002-two.md").write_text("# 2. Something else is decided\n")
    assert adr_index.main() == 1
    assert "docs.generate.adr_index" in capsys.readouterr().err
    assert (folder / "index.md").read_text() == before


@pytest.mark.parametrize("title", ["# Without a number\n", "# 7. Of another page\n", "No title\n"])
def test_page_without_its_title_is_refused(folder: Path, title: str) -> None:
    """The number of the title is the file's."""
    (folder / "0003-three.md").write_text(title)
    with pytest.raises(SystemExit, match=r"0003-three\.md"):
        adr_index.main()
