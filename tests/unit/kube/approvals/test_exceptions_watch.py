"""Exceptions of a cluster: kept by namespace; none where the cluster does not know the kind."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from aiohttp import web

from core.base.background import in_background
from core.base.errors import NotSyncedError
from kube.approvals.watch import WatchedExceptions
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.watch.statuses import ApprovalStatus
from tests.unit.kube.scripted_server import Answer, ScriptedServer, eventually, reply, stream

STATUS = {
    "observedGeneration": 1,
    "ends": "2031-01-01T00:00:00Z",
    "conditions": [{"type": "Active", "status": "True", "reason": "InForce", "message": "m"}],
}
FAST = LiveSettings(backoff_first_s=0.01, backoff_cap_s=0.05)


def stored(namespace: str, **spec: Any) -> dict[str, Any]:
    """Return an item of a list of exceptions, which carries no kind."""
    fields = {
        "workloads": [{"apiVersion": "v1", "kind": "Pod", "name": "llama"}],
        "excuses": [{"privilege": "host/network"}],
        "reason": "it must",
        "expiresAt": "2031-01-01T00:00:00Z",
    }
    metadata = {"name": "net", "namespace": namespace, "uid": namespace, "resourceVersion": "1"}
    return {"metadata": metadata, "spec": fields | spec}


def listing(*found: dict[str, Any]) -> Answer:
    """Return a server of these exceptions, and of no approvals."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await stream(then="hang")(request)
        listed = list(found) if request.path.endswith("policyexceptions") else []
        return await reply({"metadata": {"resourceVersion": "1"}, "items": listed})(request)

    return answer


@asynccontextmanager
async def watching(
    connection: Connection, settings: LiveSettings = FAST
) -> AsyncIterator[WatchedExceptions]:
    """Run both watches."""
    watched = WatchedExceptions(connection, settings)
    async with in_background(watched.run()):
        yield watched


def known(watched: WatchedExceptions, namespace: str = "train") -> list[str] | None:
    """Return the UIDs of a namespace's exceptions; None where they are not known."""
    try:
        return [each.meta.uid for each in watched.in_namespace(namespace)]
    except NotSyncedError:
        return None


async def test_a_cluster_without_the_definitions_has_none(
    connection: Connection, server: ScriptedServer
) -> None:
    """404 means that nothing is excused, and not that nobody knows."""
    server.answers = [reply({}, 404)]
    async with watching(connection) as watched:
        assert known(watched) is None
        await eventually(lambda: known(watched) == [])


@pytest.mark.parametrize("status", [403, 500])
async def test_a_cluster_that_does_not_say_is_an_error(
    connection: Connection, server: ScriptedServer, status: int
) -> None:
    """Without the right to list them, or with a failure, nobody knows."""
    server.answers = [reply({}, status)]
    async with watching(connection) as watched:
        await eventually(lambda: len(server.requests) > 4)
        assert known(watched) is None


async def test_they_are_kept_by_namespace_and_broken_ones_left_out(
    connection: Connection, server: ScriptedServer
) -> None:
    """Two of one name are two; one that cannot be read excuses nothing and hides no other."""
    server.answers = [
        listing(stored("train"), stored("eval"), stored("bad", excuses=[{"privilege": "*"}]))
    ]
    async with watching(connection) as watched:
        await eventually(lambda: known(watched) == ["train"])
        assert (known(watched, "eval"), known(watched, "bad")) == (["eval"], [])


async def test_gates_keep_no_status(connection: Connection, server: ScriptedServer) -> None:
    """Whatever stands there: nothing of it comes near a decision."""
    server.answers = [listing(stored("train") | {"status": STATUS})]
    async with watching(connection) as watched:
        await eventually(lambda: known(watched) == ["train"])
        assert watched.objects.with_status() == {}


async def test_statuses_are_kept_where_asked_also_of_what_cannot_be_read(
    connection: Connection, server: ScriptedServer
) -> None:
    """A broken object has a reason, and a broken status counts as none; neither hides another."""
    broken = stored("bad", excuses=[{"privilege": "*"}])
    forged = stored("eval") | {"status": {"conditions": "all"}}
    server.answers = [listing(stored("train") | {"status": STATUS}, broken, forged)]
    async with watching(connection, replace(FAST, statuses=True)) as watched:
        await eventually(lambda: known(watched) == ["train"])
        assert (known(watched, "eval"), known(watched, "bad")) == (["eval"], [])
        found = watched.objects.with_status()
    told = {key: (one.head.status, one.value is None) for key, one in found.items()}
    status = msgspec.convert(STATUS, ApprovalStatus)
    assert told == {
        "train/net": (status, False),
        "bad/net": (None, True),
        "eval/net": (None, False),
    }
    problem = found["bad/net"].head.problem
    assert problem.startswith("PolicyException net: spec.excuses[0].privilege: '*' must be one")
