"""Intents are read when somebody writes one: each as it is now, and what is broken left out."""

import re
from typing import Any

import pytest
from aiohttp import web

from core.base.errors import NotSyncedError
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.egress.allowlists import IntentLookup
from tests.unit.kube.scripted_server import ScriptedServer, reply

SPEC: dict[str, Any] = {
    "to": [{"dnsName": "packages.example.org", "ports": [{"protocol": "TCP", "port": 443}]}],
    "owner": "platform",
    "reason": "packages",
}
ALLOWLIST = SPEC | {"serviceAccounts": ["trainer"], "expiresAt": "2031-01-01T00:00:00Z"}


def stored(name: str, spec: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an item of a list, which carries no kind; with the status that control writes."""
    metadata = {"name": name, "namespace": "train", "uid": name, "resourceVersion": "1"}
    return {"metadata": metadata, "spec": spec or ALLOWLIST, "status": {"addresses": 3}}


async def test_a_namespace_is_read_page_by_page(
    connection: Connection, server: ScriptedServer
) -> None:
    """By name, without those that cannot be read; they hide no other."""
    broken = stored("broken", ALLOWLIST | {"owner": ""})
    paths: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        paths.append(request.path)
        more = "continue" in request.query
        found = [stored("a")] if more else [stored("b"), broken]
        metadata = {"resourceVersion": "1", "continue": "" if more else "next"}
        return await reply({"metadata": metadata, "items": found})(request)

    server.answers = [answer]
    found = await IntentLookup(connection, LiveSettings()).in_namespace("train")
    assert [each.key for each in found] == ["train/a", "train/b"]
    assert paths == ["/apis/sallyport.dev/v1alpha1/namespaces/train/egressallowlists"] * 2


async def test_one_is_read_by_name(connection: Connection, server: ScriptedServer) -> None:
    """None where there is none."""
    intents = IntentLookup(connection, LiveSettings())
    server.answers = [reply(stored("a"))]
    found = await intents.allowlist("train", "a")
    assert found is not None
    assert found.meta.uid == "a"
    server.answers = [reply({"metadata": {"name": "s", "uid": "s"}, "spec": SPEC})]
    shared = await intents.destinations("s")
    assert shared is not None
    assert shared.expires is None
    server.answers = [reply({"kind": "Status", "code": 404}, 404)]
    assert await intents.allowlist("train", "a") is None
    assert await intents.destinations("s") is None


@pytest.mark.parametrize(
    "answer",
    [reply({}, 500), reply({}, 403), reply({"items": [{}]}), reply([1])],
    ids=["500", "403", "another list", "no object"],
)
async def test_what_the_cluster_does_not_say_is_an_error(
    connection: Connection, server: ScriptedServer, answer: Any
) -> None:
    """Neither none, nor an empty namespace: nothing is judged by it."""
    intents = IntentLookup(connection, LiveSettings())
    server.answers = [answer]
    for ask in (intents.allowlist("train", "a"), intents.destinations("s")):
        with pytest.raises(NotSyncedError, match=re.compile("Egress(Allowlist|Destinations)")):
            await ask


@pytest.mark.parametrize("status", [403, 500])
async def test_a_list_that_fails_is_an_error(
    connection: Connection, server: ScriptedServer, status: int
) -> None:
    """Two halves of the Internet must not pass because nobody saw the first."""
    server.answers = [reply({}, status)]
    with pytest.raises(NotSyncedError, match="the EgressAllowlists of train"):
        await IntentLookup(connection, LiveSettings()).in_namespace("train")
