"""The built-in policies, compiled once for all tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.policies.bundles import make_bundle


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle compiled from the sources of now."""
    return make_bundle(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def builtin_engine(built: Path) -> Iterator[EmbeddedEngine]:
    """The engine on the built-in policies."""
    engine = EmbeddedEngine(read_bundle(built))
    yield engine
    engine.close()
