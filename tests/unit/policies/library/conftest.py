"""All rules of the library in one bundle, each in a namespace of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.policies.library.library_rules import RULES, Reviewer, apart, make, reviewing


@pytest.fixture(scope="session")
def all_apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle."""
    bundle = tmp_path_factory.mktemp("library") / "all.tar.gz"
    return make(bundle, {rule: apart(rule) for rule in RULES})


@pytest.fixture(scope="session")
def reviewer(all_apart: Path) -> Iterator[Reviewer]:
    """A reviewer with it."""
    with reviewing(all_apart) as opened:
        yield opened
