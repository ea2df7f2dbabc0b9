"""A connection that is closed is closed, whatever the peer does."""

import asyncio
from pathlib import Path

import pytest

from core.base.errors import ClusterError
from kube.client.connection import Connection
from tests.harness.fakes.silent_server import left_open, silent_server

OK = b"HTTP/1.1 200 OK\r\n"
MOMENTS = {
    "before the answer": b"",
    "in an answer": OK + b"Content-Length: 100\r\n\r\n{",
    "in a watch": OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_no_socket_outlives_a_request_that_was_given_up(moment: str, tmp_path: Path) -> None:
    """A peer that does not answer the end of TLS is not waited for, and nothing stays open."""

    async def give_up() -> None:
        connection = Connection(kubeconfig)
        await connection.open()
        began = asyncio.Event()
        reading = asyncio.create_task(_read(connection, began))
        assert await asyncio.to_thread(server.answered.wait, 10)
        if MOMENTS[moment]:
            await asyncio.wait_for(began.wait(), 10)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await connection.close()

    with silent_server(tmp_path, MOMENTS[moment]) as server:
        kubeconfig = server.kubeconfig(tmp_path)
        assert left_open(give_up) == []


async def _read(connection: Connection, began: asyncio.Event) -> None:
    async with connection.stream("/watch", {}, answer_s=10, silence_s=10) as batches:
        began.set()
        async for _ in batches:
            pass


def test_no_socket_outlives_a_request_whose_time_is_up(tmp_path: Path) -> None:
    """As when it is cancelled."""

    async def wait_in_vain() -> None:
        connection = Connection(kubeconfig)
        await connection.open()
        with pytest.raises(ClusterError, match="no answer"):
            await connection.get("/version", 0.3, {})
        await connection.close()

    with silent_server(tmp_path, b"") as server:
        kubeconfig = server.kubeconfig(tmp_path)
        assert left_open(wait_in_vain) == []
