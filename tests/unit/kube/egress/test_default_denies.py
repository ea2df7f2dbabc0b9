"""Whether a namespace is closed by default, as a watch of one policy of each shows it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from app.cluster.default_deny import default_deny_of
from app.settings.egress import EgressSection
from core.base.background import in_background
from core.base.errors import NotSyncedError
from kube.client.connection import Connection
from kube.client.settings import DefaultDeny, LiveSettings
from kube.egress.generated_policies import GeneratedPolicies, WatchedDefaultDenies
from tests.unit.kube.scripted_server import Answer, ScriptedServer, eventually, reply, stream

WANTED = default_deny_of(EgressSection())
FAST = LiveSettings(
    default_deny=WANTED, namespace_wait_s=0.05, backoff_first_s=0.01, backoff_cap_s=0.01
)


def deny(namespace: str, version: str = "1", **spec: Any) -> dict[str, Any]:
    """Return the policy of a namespace as kube-apiserver shows it."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": "sallyport-default-deny",
            "namespace": namespace,
            "resourceVersion": version,
            "labels": {"app.kubernetes.io/managed-by": "sallyport"},
            "managedFields": [{"manager": "sallyport-egress"}],
        },
        "spec": {"podSelector": {}, "policyTypes": ["Egress"], **spec},
    }


def listed(*found: dict[str, Any]) -> Answer:
    """Answer a list."""
    return reply({"metadata": {"resourceVersion": "1"}, "items": list(found)})


def line(kind: str, found: dict[str, Any]) -> bytes:
    """Return one line of a watch."""
    return json.dumps({"type": kind, "object": found}).encode() + b"\n"


@asynccontextmanager
async def watching(
    connection: Connection, settings: LiveSettings = FAST
) -> AsyncIterator[WatchedDefaultDenies]:
    """Keep a watch while the context lasts."""
    watched = WatchedDefaultDenies(connection, settings)
    async with in_background(watched.run()):
        yield watched


async def test_only_what_is_as_it_is_made_counts(
    connection: Connection, server: ScriptedServer
) -> None:
    """One of the name alone is watched, and every other word of it opens something."""
    server.answers = [
        listed(
            deny("sound"),
            deny("empty", egress=[]),
            deny("open", egress=[{}]),
            deny("some", podSelector={"matchLabels": {"app": "x"}}),
            deny("ingress", policyTypes=["Ingress"]),
            deny("bare") | {"metadata": deny("bare")["metadata"] | {"labels": {}}},
        ),
        stream(then="hang"),
    ]
    async with watching(connection) as watched:
        await eventually(lambda: watched.tried)
        asked = ("sound", "empty", "open", "some", "ingress", "bare", "none")
        found = [name for name in asked if await watched.is_egress_closed(name)]
    assert found == ["sound", "empty"]
    assert server.requests[0]["fieldSelector"] == "metadata.name=sallyport-default-deny"


async def test_what_comes_a_moment_later_is_waited_for(
    connection: Connection, server: ScriptedServer
) -> None:
    """And what goes, or changes, is missed at once."""
    server.answers = [
        listed(deny("old")),
        stream(
            line("ADDED", deny("new", "2")),
            line("MODIFIED", deny("old", "3", egress=[{}])),
            then="hang",
        ),
    ]
    settings = LiveSettings(default_deny=WANTED, namespace_wait_s=5.0)
    async with watching(connection, settings) as watched:
        await eventually(lambda: watched.tried)
        async with asyncio.timeout(4):
            assert await watched.is_egress_closed("new")
    async with watching(connection) as watched:
        server.answers = [listed(), stream(then="hang")]
        await eventually(lambda: watched.tried)
        assert not await watched.is_egress_closed("old")


async def test_what_is_not_known_is_an_error(
    connection: Connection, server: ScriptedServer
) -> None:
    """Before the first list; where the engine's kind is not served; where nobody watches."""
    server.answers = [reply({"message": "no such kind", "code": 404}, 404)]
    async with watching(connection) as watched:
        with pytest.raises(NotSyncedError, match="first list not finished"):
            await watched.is_egress_closed("any")
        await eventually(lambda: watched.tried)
        with pytest.raises(
            NotSyncedError, match=r"knows no NetworkPolicy, by which egress\.engine"
        ):
            await watched.is_egress_closed("any")
    async with watching(connection, LiveSettings()) as nobody:
        assert nobody.tried
        with pytest.raises(NotSyncedError, match="nobody watches"):
            await nobody.is_egress_closed("any")


@pytest.mark.parametrize(
    ("engine", "kind"), [("cilium", "CiliumNetworkPolicy"), ("cilium-aks", "CiliumNetworkPolicy")]
)
def test_each_engine_has_its_own(engine: Any, kind: str) -> None:
    """The policy is what is rendered, in the words of the engine."""
    found = default_deny_of(EgressSection(engine=engine))
    assert found == DefaultDeny(kind, "sallyport-default-deny", found.digest)
    assert found.digest != WANTED.digest


async def test_what_was_generated_is_listed(connection: Connection, server: ScriptedServer) -> None:
    """By its mark, in one namespace; no answer is an error."""
    server.answers = [listed(deny("train")), reply({"message": "no"}, 403)]
    lists = GeneratedPolicies(connection, FAST)
    (found,) = await lists.list("train")
    assert msgspec.json.decode(found)["metadata"]["namespace"] == "train"
    assert server.requests[0]["labelSelector"] == "app.kubernetes.io/managed-by=sallyport"
    assert await lists.list("../x") == ()
    with pytest.raises(NotSyncedError, match="policies that Sallyport made in train"):
        await lists.list("train")
