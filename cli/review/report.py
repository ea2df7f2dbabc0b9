"""A review's results, with what the formats say of them, and where each finding stands."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.output import STANDARD_INPUT
from cli.review.yaml_positions import Position, Steps, find_positions, steps_to
from cli.shared.results import Result, Reviewed
from core.decision.decision import Finding
from kube.manifests.reader import MAX_BYTES
from policies.bundle.format import Rule

_INDEX: Final = re.compile(r"\[\d+\]")
_LINE: Final = re.compile(r", line (\d+)")


@dataclass(frozen=True)
class Report:
    """All that a review found."""

    results: Sequence[Result]
    rules: Mapping[str, Rule]
    """The rules in force, by id."""
    old: str | None = None
    """What `--diff` compared with."""
    gone: Sequence[Reviewed] = ()
    """Objects of `old` that are no more, with nothing of what was found of them."""


@dataclass(frozen=True)
class Located:
    """A result with its file and the places of its findings, one for each."""

    result: Result
    path: str | None
    """Relative to the working directory where it lies below it; None for standard input."""
    places: Sequence[Position | None]


def identity(finding: Finding) -> tuple[str, ...]:
    """Return what two findings of one object have in common when they are the same.

    It stays when lines, list items or the object's file move; a container goes by its name.
    """
    container = finding.container or ""
    if finding.privilege is not None:
        return (finding.rule, finding.privilege, container)
    return (finding.rule, "", container, _INDEX.sub("[]", finding.path))


def locate(results: Sequence[Result], here: Path) -> list[Located]:
    """Find the line and column of each finding, by reading the files of those that have any.

    What cannot be found, or read again, has no place.
    """
    wanted: dict[str, set[Steps]] = {}
    for result in results:
        if result.part.startswith("#"):
            wanted.setdefault(result.file, set()).update(_steps(result))
    found = {file: _read_places(file, steps) for file, steps in wanted.items() if steps}
    return [
        Located(result, _path(result.file, here), _places(result, found.get(result.file, {})))
        for result in results
    ]


def _steps(result: Result) -> list[Steps]:
    return [steps_to(result.part, finding.path) for finding in result.element.findings]


def _places(result: Result, found: Mapping[Steps, Position]) -> list[Position | None]:
    if line := _LINE.fullmatch(result.part):
        return [Position(int(line[1]), 1) for _ in result.element.findings]
    if not result.part:
        return [None for _ in result.element.findings]
    return [found.get(steps) for steps in _steps(result)]


def _read_places(file: str, steps: set[Steps]) -> dict[Steps, Position]:
    if file == STANDARD_INPUT:
        return {}
    try:
        with Path(file).open("rb") as stream:
            text = stream.read(MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return {}
    return find_positions(text, steps)


def _path(file: str, here: Path) -> str | None:
    if file == STANDARD_INPUT:
        return None
    path = Path(os.path.normpath(here / file))
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
