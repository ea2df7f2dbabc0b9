"""The tutorial for policy authors, followed word for word."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.tools.provide import provide

PAGE: Final = Path(__file__).parents[3] / "docs" / "policies" / "tutorial.md"
_FILE: Final = re.compile(
    r"(?:Put t|and t)his into `(?P<name>[^`]+)`[^\n]*(?:\n[^\n`]+)*\n\n```\w+\n(?P<text>.*?)```",
    re.DOTALL,
)
_CONSOLE: Final = re.compile(r"```console\n(?P<lines>.*?)```", re.DOTALL)


def run(command: str, folder: Path) -> str:
    """Run a command of the page as its reader would; give all that it prints."""
    here = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{here}:{os.environ['PATH']}",
        "SALLYPORT_OPA": str(provide("opa")),
        "COLUMNS": "200",
    }
    done = subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, f"{command}:\n{done.stdout}"
    return done.stdout


def steps() -> list[tuple[str, str]]:
    """Give what the page says to do, in its order: files to write, commands to run."""
    page = PAGE.read_text()
    found = [(each.start(), each["name"], each["text"]) for each in _FILE.finditer(page)]
    found += [(each.start(), "", each["lines"]) for each in _CONSOLE.finditer(page)]
    return [(name, text) for _, name, text in sorted(found)]


def test_the_tutorial_works_word_for_word(tmp_path: Path) -> None:
    """Each file as it is shown, each command, and of what it prints each line that is shown."""
    done = steps()
    assert len([name for name, _ in done if name]) == 6
    for name, text in done:
        if name:
            (tmp_path / name).write_text(text)
            continue
        for part in text.strip().split("$ ")[1:]:
            command, *shown = part.strip().splitlines()
            printed = run(command, tmp_path)
            for line in shown:
                assert line in printed, f"{command} does not print {line!r}:\n{printed}"


def test_a_step_that_fails_would_be_noticed(tmp_path: Path) -> None:
    """The test above can fail."""
    with pytest.raises(AssertionError):
        run("sallyport policy build --site nowhere --output x.tar.gz", tmp_path)
