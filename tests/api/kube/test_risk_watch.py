"""A gate has the last good risk snapshot, whatever becomes of the stored one."""

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from core.base.background import in_background
from core.risk.columns import SnapshotBase
from core.risk.model import RiskSource, identity_key
from core.risk.snapshot import RiskSnapshot
from core.risk.snapshot_storage import HEAD_NAME, SECRET_NAMES, shard_name
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from kube.leader.lease import Leadership
from kube.risk import store as risk_store
from kube.risk.store import RiskStore
from kube.risk.watch import WatchedRisk
from tests.api.kube.objects import wait_for
from tests.api.kube.risk import NOW, connected, many, oid, risky, store
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.rbac import service_account

LEADING = Leadership(1, float("inf"), lambda: 0.0)
MERGE = "application/merge-patch+json"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few changes are many: there is a base soon."""
    monkeypatch.setattr(risk_store, "MANY", 300)
    monkeypatch.setattr(risk_store, "MANY_PER_RECORD", 0.0)


@pytest.fixture
async def place(client: Client) -> str:
    """A namespace of its own."""
    name = f"risk-{uuid.uuid4().hex[:8]}"
    await client.create_namespace(name)
    return name


@asynccontextmanager
async def watching(server: ApiServer, namespace: str) -> AsyncIterator[WatchedRisk]:
    """Watch as a gate does."""
    async with connected(server) as connection, _watching(connection, namespace) as watched:
        yield watched


@asynccontextmanager
async def _watching(connection: Connection, namespace: str) -> AsyncIterator[WatchedRisk]:
    watched = WatchedRisk(connection, LiveSettings(namespace=namespace, risk=True))
    async with in_background(watched.run()):
        await wait_for(lambda: not watched.missing, 60)
        yield watched


def snapshot_of(watched: WatchedRisk) -> RiskSnapshot:
    """Return what is in force."""
    found = watched.current()
    assert found is not None
    return found


def count(watched: WatchedRisk) -> int:
    """Return how many people are in it."""
    return sum(1 for _ in snapshot_of(watched).entries(RiskSource.ENTRA))


async def change(client: Client, place: str, name: str, data: Json) -> None:
    """Change what a Secret holds."""
    path = f"/api/v1/namespaces/{place}/secrets/{name}"
    status, _ = await client.request("PATCH", path, {"data": data}, content_type=MERGE)
    assert status == 200


async def read(client: Client, place: str, name: str) -> Json:
    """Return what a Secret holds."""
    _, body = await client.request("GET", f"/api/v1/namespaces/{place}/secrets/{name}")
    data: Json = body["data"]
    return data


async def test_a_gate_sees_what_was_written_and_what_is(apiserver: ApiServer, place: str) -> None:
    """From before it started, and a change within two seconds; unchanged shards are shared."""
    async with store(apiserver, place) as one:
        await one.update(many(0, 40), LEADING)
        async with watching(apiserver, place) as watched:
            assert count(watched) == 40
            before = snapshot_of(watched).base
            assert isinstance(before, SnapshotBase)
            await one.update(risky(40))
            await wait_for(lambda: count(watched) == 41, 20)
            after = snapshot_of(watched).base
            assert isinstance(after, SnapshotBase)
            assert all(a is b for a, b in zip(before.shards, after.shards, strict=True))
            await one.update(many(41, 40), LEADING)
            await wait_for(lambda: count(watched) == 81, 20)
            assert watched.problem == ""


async def test_the_rights_by_name_are_enough(
    apiserver: ApiServer, place: str, client: Client
) -> None:
    """One that may see no other Secret: list and watch of the head, get of the shards."""
    await client.create_service_account("gate", place)
    rules = [
        {"resources": ["secrets"], "resourceNames": [HEAD_NAME], "verbs": ["get", "list", "watch"]},
        {"resources": ["secrets"], "resourceNames": list(SECRET_NAMES[1:]), "verbs": ["get"]},
    ]
    rbac = "rbac.authorization.k8s.io/v1"
    metadata = {"name": "gate", "namespace": place}
    await client.apply(
        [
            {
                "apiVersion": rbac,
                "kind": "Role",
                "metadata": metadata,
                "rules": [{"apiGroups": [""], **each} for each in rules],
            },
            {
                "apiVersion": rbac,
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": "gate",
                },
                "subjects": [service_account("gate", place)],
            },
        ]
    )
    async with store(apiserver, place) as one:
        await one.update(many(0, 40), LEADING)
    token = await client.create_token("gate", place)
    connection = Connection(apiserver.kubeconfig_for_token(place, token))
    await connection.open()
    try:
        async with _watching(connection, place) as watched:
            await wait_for(lambda: count(watched) == 40, 20)
    finally:
        await connection.close()


async def test_without_a_snapshot_there_is_an_empty_one(apiserver: ApiServer, place: str) -> None:
    """It says that nothing is known; the gate does not wait for more."""
    with capture_logs() as logs:
        async with watching(apiserver, place) as watched:
            assert snapshot_of(watched).head.users.as_of is None
            assert "it is missing" in watched.problem
            async with store(apiserver, place) as one:
                await one.update(risky(1))
            await wait_for(lambda: count(watched) == 1, 20)
    assert [each["event"] for each in logs] == [
        "stored risk snapshot is not in force: the last good one is",
        "stored risk snapshot is in force",
    ]


@pytest.mark.parametrize("part", ["head", "sha256"])
async def test_a_broken_head_leaves_the_last_good_one(
    apiserver: ApiServer, place: str, client: Client, part: str
) -> None:
    """Said once, however often it changes; when it is mended it is in force again."""
    async with store(apiserver, place) as one:
        await one.update(many(0, 40), LEADING)
        good = await read(client, place, HEAD_NAME)
        async with watching(apiserver, place) as watched:
            with capture_logs() as logs:
                await change(client, place, HEAD_NAME, {part: base64.b64encode(b"x").decode()})
                await wait_for(lambda: bool(watched.problem), 20)
                await change(client, place, HEAD_NAME, {"other": ""})
                await asyncio.sleep(0.3)
                assert count(watched) == 40
                await change(client, place, HEAD_NAME, good)
                await wait_for(lambda: not watched.problem, 20)
            assert len([each for each in logs if each["log_level"] == "error"]) == 1


async def test_a_head_that_is_deleted_leaves_the_last_good_one(
    apiserver: ApiServer, place: str, client: Client
) -> None:
    """Until there is another one."""
    async with store(apiserver, place) as one:
        await one.update(many(0, 40), LEADING)
        async with watching(apiserver, place) as watched:
            await client.request("DELETE", f"/api/v1/namespaces/{place}/secrets/{HEAD_NAME}")
            await wait_for(lambda: "missing" in watched.problem, 20)
            assert count(watched) == 40
            await one.update(risky(40), LEADING)
            await wait_for(lambda: count(watched) == 41, 20)


async def test_shards_that_are_not_those_of_the_head_are_not_taken(
    apiserver: ApiServer, place: str, client: Client
) -> None:
    """A gate that has them keeps them; one that starts has an empty snapshot until they are right.

    So it is while a generation is written anew that a slow gate still reads.
    """
    async with store(apiserver, place) as one:
        await one.update(many(0, 40), LEADING)
        generation = "a" if await _has_shards(client, place, "a") else "b"
        name = shard_name(generation, 5)
        good = await read(client, place, name)
        async with watching(apiserver, place) as old:
            await change(client, place, name, {"shard": base64.b64encode(b"x").decode()})
            await one.update(risky(40))
            await wait_for(lambda: count(old) == 41, 20)
            async with watching(apiserver, place) as young:
                assert count(young) == 0
                assert "is not the one that the head names" in young.problem
                await change(client, place, name, good)
                await wait_for(lambda: count(young) == 41, 20)
                assert old.problem == ""


async def _has_shards(client: Client, place: str, generation: str) -> bool:
    path = f"/api/v1/namespaces/{place}/secrets/{shard_name(generation, 0)}"
    status, _ = await client.request("GET", path)
    return status == 200


async def test_a_backup_is_taken_once_control_has_written_upon_it(
    apiserver: ApiServer, place: str, client: Client
) -> None:
    """Until then what is held is newer knowledge; from then on the lower version counts."""
    now = [NOW]
    async with connected(apiserver) as connection:
        one = RiskStore(Objects(connection), place, lambda: now[0])
        await one.update(risky(1))
        backup = await read(client, place, HEAD_NAME)
        for number in range(2, 6):
            now[0] += 10
            await one.update(risky(number))
        async with watching(apiserver, place) as watched:
            assert count(watched) == 5
            await change(client, place, HEAD_NAME, backup)
            await wait_for(lambda: "older" in watched.problem, 20)
            assert count(watched) == 5
            now[0] += 10
            fresh = RiskStore(Objects(connection), place, lambda: now[0])
            after = await fresh.update(risky(9))
            assert after.head.version == 2
            await wait_for(lambda: count(watched) == 2, 20)


async def test_a_cluster_gives_it_where_it_is_wanted(
    apiserver: ApiServer, place: str, crds: None
) -> None:
    """`risk` of a LiveCluster: loaded before it is ready; None where nothing is decided by it."""
    del crds
    async with store(apiserver, place) as one:
        await one.update(risky(1))
    for wanted in (True, False):
        settings = LiveSettings(namespace=place, risk=wanted)
        cluster = LiveCluster(apiserver.kubeconfig(), settings)
        assert ("risk snapshot: not read yet" in cluster.missing()) is wanted
        await cluster.start()
        try:
            await cluster.wait(60)
            found: Any = cluster.risk()
            if wanted:
                assert found.entry(RiskSource.ENTRA, identity_key(oid(1)))
            else:
                assert found is None
        finally:
            await cluster.stop()
