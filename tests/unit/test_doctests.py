"""Examples in docstrings are true: a renamed function must not leave a stale one behind."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted(path.parent for path in ROOT.glob("*/__init__.py"))
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for room in ROOMS
    if room.name not in {"bench", "deploy", "docs", "tests"}
    for path in room.rglob("*.py")
    if ">>> " in path.read_text()
)


def test_there_are_examples() -> None:
    """The test below is not vacuous."""
    assert len(MODULES) > 5


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_print_what_they_say(name: str) -> None:
    """Each runs, and prints what stands below it."""
    result = doctest.testmod(import_module(name))
    assert (result.failed, result.attempted > 0) == (0, True)
