"""The templates of this folder, carried over and judged once."""

from pathlib import Path
from typing import Any

import pytest

from policies.gatekeeper_import.importer import ConvertedRules
from tests.unit.policies.gatekeeper_import.converted_templates import (
    TEMPLATES,
    Said,
    built,
    carried,
    said_here,
)


@pytest.fixture(scope="session")
def made() -> ConvertedRules:
    """Return all of them."""
    return carried(TEMPLATES)


@pytest.fixture(scope="session")
def bundle(made: ConvertedRules, tmp_path_factory: Any) -> Path:
    """Return the bundle of all."""
    return built(made, tmp_path_factory.mktemp("imported"))


@pytest.fixture(scope="session")
def said(made: ConvertedRules, bundle: Path) -> Said:
    """Return what is said of all samples."""
    return said_here(made, bundle)
