"""The tutorial for policy authors, followed word for word as far as it needs no cluster."""

from pathlib import Path

import pytest

from tests.harness.tutorial import PAGE, follow, run, steps

INDEX = PAGE.parent / "index.md"


def test_the_tutorial_works_word_for_word(tmp_path: Path) -> None:
    """Each file as it is shown, each command, and of what it prints each line that is shown.

    What is begun is all that the page lists.
    """
    done = steps(cluster=False)
    assert len([name for name, _ in done if name]) == 6
    for name, text in done:
        follow(name, text, tmp_path)
    there = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    begun = {each for each in there if each.startswith("my-rules/")}
    (listed,) = [text for name, text in done[:1] if not name]
    assert begun == {line for line in listed.splitlines() if line.startswith("my-rules/")}


def test_the_list_of_pages_has_it() -> None:
    """So that somebody finds it."""
    assert "](tutorial.md)" in INDEX.read_text()


def test_a_step_that_fails_would_be_noticed(tmp_path: Path) -> None:
    """The test above can fail: by a command, and by a line that is not printed."""
    with pytest.raises(AssertionError):
        run("sallyport policy build --site nowhere --output x.tar.gz", tmp_path)
    with pytest.raises(AssertionError, match="does not print"):
        follow("", "$ echo one two\n… three\n", tmp_path)
