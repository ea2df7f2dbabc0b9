"""Dated results of proof runs, kept in docs/evidence/."""

import datetime as dt
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def record(name: str, lines: Iterable[str]) -> Path:
    """Write docs/evidence/`name`.md: a heading, the date, the machine, then `lines`."""
    now = dt.datetime.now(dt.UTC)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    head = [f"# {name.replace('-', ' ').capitalize()}", "", f"- Date: {now:%Y-%m-%d %H:%M} UTC"]
    path = ROOT / "docs" / "evidence" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*head, f"- Machine: {machine}", *lines]) + "\n")
    return path
