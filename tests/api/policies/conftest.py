"""What the tests of agreement with Pod Security share."""

from collections.abc import Iterator

import pytest

from core.profiles.container_profiles import parse_version
from tests.harness.oracles.verdicts import Verdicts
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require


@pytest.fixture(scope="module")
def verdicts(
    apiserver: ApiServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Verdicts]:
    """Our verdicts, for a cluster of the version that the server has."""
    require("opa")
    version = parse_version(apiserver.version(), field="gitVersion", what="kube-apiserver")
    ours = Verdicts(tmp_path_factory.mktemp("bundle"), version)
    yield ours
    ours.close()
