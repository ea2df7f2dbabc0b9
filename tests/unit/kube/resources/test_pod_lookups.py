"""The Pod that somebody enters: got anew each time, and never guessed."""

import pytest

from core.base.errors import InvalidObjectError, PodUnknownError
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.resources.lookups import PodLookup
from tests.unit.kube.scripted_server import Answer, ScriptedServer, reply, stream

POD = {"metadata": {"name": "llama-0", "uid": "u"}, "spec": {"containers": [{"name": "main"}]}}


async def test_a_pod_is_asked_for_each_time(connection: Connection, server: ScriptedServer) -> None:
    """What runs may change: two visits, two requests."""
    server.answers = [reply(POD), reply({**POD, "metadata": {"name": "llama-0", "uid": "v"}})]
    gets = PodLookup(connection, LiveSettings())
    found = [await gets.get("train", "llama-0") for _ in range(2)]
    assert [pod and pod.metadata.uid for pod in found] == ["u", "v"]


async def test_no_pod_is_none(connection: Connection, server: ScriptedServer) -> None:
    """A 404 is an answer."""
    server.answers = [reply({"message": "not found"}, 404)]
    assert await PodLookup(connection, LiveSettings()).get("train", "gone-0") is None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (reply({"message": "forbidden"}, 403), "403 forbidden"),
        (reply({"message": "slow down"}, 429), "429 slow down"),
        (reply({"message": "etcd"}, 500), "500 etcd"),
    ],
)
async def test_a_failure_is_an_error(
    answer: Answer, says: str, connection: Connection, server: ScriptedServer
) -> None:
    """Nobody knows what the Pod needs then."""
    server.answers = [answer]
    with pytest.raises(PodUnknownError, match=says):
        await PodLookup(connection, LiveSettings()).get("train", "llama-0")


async def test_a_broken_connection_is_tried_once_more(
    connection: Connection, server: ScriptedServer
) -> None:
    """A kept one may have been closed; a second break is an error."""
    server.answers = [stream(then="break"), reply(POD)]
    assert await PodLookup(connection, LiveSettings()).get("train", "llama-0") is not None


async def test_what_is_no_pod_is_an_error(connection: Connection, server: ScriptedServer) -> None:
    """Never a Pod that needs nothing."""
    server.answers = [reply([])]
    with pytest.raises(InvalidObjectError, match="Pod"):
        await PodLookup(connection, LiveSettings()).get("train", "llama-0")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb", "a?x=1", "a#b", "a b"])
async def test_a_name_that_no_pod_has_is_not_asked_for(
    name: str, connection: Connection, server: ScriptedServer
) -> None:
    """It comes from a URL, and would lead elsewhere in another one."""
    server.answers = []
    assert await PodLookup(connection, LiveSettings()).get("train", name) is None
    assert server.bodies == []
