"""A kube-apiserver with etcd, for as long as a context lasts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.availability import require


@contextmanager
def own_apiserver(
    folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[ApiServer]:
    """Start it, its files in `folder`; skip the tests that want it where it cannot be had."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = ApiServer(folder, environment=environment)
    try:
        yield server
    finally:
        server.stop()
