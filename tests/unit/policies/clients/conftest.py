"""A bundle with a site's rules, and an OPA server for all tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.bundle.format import Bundle, read_bundle
from tests.harness.programs.opa_server import OpaProgram
from tests.unit.policies.bundles import make_site_bundle, signal


@pytest.fixture(scope="session")
def site_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a bundle with a site's signal, which is met where the OS is `trigger`."""
    return make_site_bundle(tmp_path_factory.mktemp("site"), {"x.rego": signal()})


@pytest.fixture(scope="session")
def site_bundle(site_file: Path) -> Bundle:
    """The same, read."""
    return read_bundle(site_file)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OpaProgram]:
    """A real OPA server that has nothing yet."""
    with OpaProgram(tmp_path) as program:
        yield program
