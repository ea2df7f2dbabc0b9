"""A kube-apiserver of this folder's own: what it reads depends on which policies it has had."""

from collections.abc import Iterator

import pytest

from tests.harness.programs.apiserver import ApiServer, own_apiserver


@pytest.fixture(scope="package")
def apiserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """It, with etcd."""
    with own_apiserver(tmp_path_factory.mktemp("guards")) as server:
        yield server
