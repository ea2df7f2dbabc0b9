"""Reads places out of what programs say: `file:line:column: what`."""

import re
from typing import Final

from policies.authoring.lint.problems import Level, Problem

_PLACE: Final = re.compile(
    r"(?P<file>[^\s:]+\.\w+):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<what>.+)"
)


def problem_of(said: str, id_: str, file: str, hint: str = "") -> Problem:
    """Make a finding of an error's text; where it names no place, of `file`."""
    found = next(filter(None, map(_PLACE.search, said.splitlines())), None)
    if found is None:
        return Problem(file, 1, 1, id_, Level.ERROR, " ".join(said.split()), hint)
    return Problem(
        found["file"],
        int(found["line"]),
        int(found["column"] or 1),
        id_,
        Level.ERROR,
        found["what"],
        hint,
    )
