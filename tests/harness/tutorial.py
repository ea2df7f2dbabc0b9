"""The tutorial for policy authors as a list of steps, and a reader who follows it."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.harness.programs.gate import PROGRAM
from tests.tools.provide import provide

PAGE: Final = Path(__file__).parents[2] / "docs" / "policies" / "tutorial.md"
_FILE: Final = re.compile(
    r"(?:Put t|and t)his into `(?P<name>[^`]+)`[^\n]*(?:\n[^\n`]+)*\n\n```\w+\n(?P<text>.*?)```",
    re.DOTALL,
)
_CONSOLE: Final = re.compile(r"```console\n(?P<lines>.*?)```", re.DOTALL)
_CLUSTER: Final = "## 7. "
"""From here on the reader has a cluster."""


def steps(*, cluster: bool) -> list[tuple[str, str]]:
    """Return what the page says to do without a cluster, or with one: files to write, commands."""
    page = PAGE.read_text()
    begin = page.index(_CLUSTER)
    found = [(each.start(), each["name"], each["text"]) for each in _FILE.finditer(page)]
    found += [(each.start(), "", each["lines"]) for each in _CONSOLE.finditer(page)]
    return [(name, text) for at, name, text in sorted(found) if (at > begin) is cluster]


def run(command: str, folder: Path, settings: Mapping[str, str] | None = None) -> str:
    """Run a command of the page as its reader would; give all that it prints."""
    environment = {
        **os.environ,
        "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
        "SALLYPORT_OPA": str(provide("opa")),
        "COLUMNS": "200",
        **(settings or {}),
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


def follow(name: str, text: str, folder: Path, settings: Mapping[str, str] | None = None) -> None:
    """Do one step: write a file, or run commands, which print each line that is shown.

    `…` in a line that is shown stands for one word.
    """
    if name:
        (folder / name).write_text(text)
        return
    for part in text.strip().split("$ ")[1:]:
        command, *shown = part.strip().splitlines()
        printed = run(command, folder, settings)
        for line in shown:
            wanted = re.escape(line).replace("…", r"[^\s;]+")
            assert re.search(wanted, printed), f"{command} does not print {line!r}:\n{printed}"
