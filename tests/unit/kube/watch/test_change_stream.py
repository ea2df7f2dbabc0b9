"""Watches whose caller keeps the version: what is lost is said, never waited for."""

from http import HTTPStatus

import pytest

from core.base.errors import ClusterError
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.watch.change_stream import ChangeStream
from tests.unit.kube.scripted_server import ScriptedServer, event, stream


async def test_a_server_that_went_back_remembers_nothing(
    connection: Connection, server: ScriptedServer
) -> None:
    """After etcd was restored a watch would be silent until the versions have grown again."""
    following = ChangeStream(connection, "/api/v1/pods", LiveSettings())
    server.answers = [stream(event("ADDED", "a", "10"))]
    server.version = "9"
    with pytest.raises(ClusterError, match="is at 9 and was at 10") as raised:
        async with following.watch("10"):
            pass
    assert raised.value.status == HTTPStatus.GONE
    assert server.requests == []
    async with following.watch("9") as batches:
        (change,) = [change async for batch in batches for change in batch]
    assert change.version == "10"
