"""The engine on the built-in policies, and a folder to write a cluster in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from tests.unit.admission.world import Folder
from tests.unit.policies.bundles import make_bundle


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """The built-in policies, compiled from the sources of now; time for a busy machine."""
    bundle = read_bundle(make_bundle(tmp_path_factory.mktemp("built")))
    engine = EmbeddedEngine(bundle, EvaluationLimits(seconds=5.0))
    yield engine
    engine.close()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A cluster in which everyone may use pss-restricted, as on a fresh installation."""
    return Folder(tmp_path / "cluster").grant("Group:system:authenticated", "pss-restricted")
