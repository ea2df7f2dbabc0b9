"""The files of deploy/terraform, read once."""

import pytest

from tests.harness.hcl import MODULE, File, read_files


@pytest.fixture(scope="session")
def files() -> dict[str, File]:
    """Each file by its path within the module, whatever its folder."""
    paths = sorted([*MODULE.rglob("*.tf"), *MODULE.rglob("*.tftest.hcl")])
    found = read_files([path for path in paths if ".terraform" not in path.parts])
    return {path.removeprefix(f"{MODULE}/"): file for path, file in found.items()}
