"""The role that somebody binds: got anew each time, and never guessed."""

import pytest

from core.base.errors import RoleUnknownError
from core.kubernetes.roles import RoleRule
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.resources.lookups import RoleLookup
from tests.unit.kube.scripted_server import Answer, ScriptedServer, reply, stream

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "later": True}
ROLE = {"metadata": {"name": "reader"}, "rules": [RULE]}


async def test_a_role_is_asked_for_each_time(
    connection: Connection, server: ScriptedServer
) -> None:
    """Roles change: two bindings, two requests. Fields of later versions are skipped."""
    server.answers = [reply(ROLE), reply({**ROLE, "rules": None})]
    gets = RoleLookup(connection, LiveSettings())
    found = [await gets.get("Role", "train", "reader") for _ in range(2)]
    assert found == [(RoleRule(["get"], [""], ["pods"]),), ()]


async def test_no_role_is_none(connection: Connection, server: ScriptedServer) -> None:
    """A 404 is an answer."""
    server.answers = [reply({"message": "not found"}, 404)]
    assert await RoleLookup(connection, LiveSettings()).get("ClusterRole", "", "gone") is None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (reply({"message": "forbidden"}, 403), "403 forbidden"),
        (reply({"message": "etcd"}, 500), "500 etcd"),
        (reply({}), "no role"),
        (reply([]), "no role"),
        (reply({**ROLE, "rules": [{"verbs": "*"}]}), "no role"),
    ],
)
async def test_a_failure_is_an_error(
    answer: Answer, says: str, connection: Connection, server: ScriptedServer
) -> None:
    """Nobody knows what the binding gives then: never nothing."""
    server.answers = [answer]
    with pytest.raises(RoleUnknownError, match=says):
        await RoleLookup(connection, LiveSettings()).get("ClusterRole", "", "reader")


async def test_a_broken_connection_is_tried_once_more(
    connection: Connection, server: ScriptedServer
) -> None:
    """A kept one may have been closed; a second break is an error."""
    server.answers = [stream(then="break"), reply(ROLE)]
    gets = RoleLookup(connection, LiveSettings())
    assert await gets.get("ClusterRole", "", "reader") is not None


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb", "a?x=1", "a#b", "a b"])
async def test_a_name_that_no_role_has_is_not_asked_for(
    name: str, connection: Connection, server: ScriptedServer
) -> None:
    """It comes from an object, and would lead elsewhere in a URL."""
    server.answers = []
    gets = RoleLookup(connection, LiveSettings())
    assert await gets.get("ClusterRole", "", name) is None
    assert await gets.get("Role", name, "reader") is None
    assert server.bodies == []
