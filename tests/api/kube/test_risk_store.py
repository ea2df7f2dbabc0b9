"""The stored risk snapshot survives its writers: several at once, killed ones, broken Secrets."""

import asyncio
import base64
import uuid
from typing import Any

import pytest
from structlog.testing import capture_logs

from core.base.errors import ClusterError, NotLeaderError
from core.risk.columns import SnapshotBase
from core.risk.model import RiskSource, identity_key
from core.risk.snapshot import Coverage, RiskSnapshot, SnapshotDraft
from core.risk.snapshot_storage import HEAD_NAME, shard_name
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.risk import store as risk_store
from kube.risk.store import RiskStore
from tests.api.kube.risk import NOW, KilledError, Mortal, connected, many, oid, risky, store
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client

ROUNDS = 50
LEADING = Leadership(1, float("inf"), lambda: 0.0)


@pytest.fixture
async def place(client: Client) -> str:
    """A namespace of its own."""
    name = f"risk-{uuid.uuid4().hex[:8]}"
    await client.create_namespace(name)
    return name


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few changes are many: the base is written anew every other time."""
    monkeypatch.setattr(risk_store, "MANY", 300)
    monkeypatch.setattr(risk_store, "MANY_PER_RECORD", 0.0)


def people(snapshot: RiskSnapshot) -> set[bytes]:
    """Return who is in it."""
    return {key for key, _ in snapshot.entries(RiskSource.ENTRA)}


def expected(count: int, first: int = 0) -> set[bytes]:
    """Return so many people."""
    return {identity_key(oid(number)) for number in range(first, first + count)}


async def test_there_is_nothing_at_first(apiserver: ApiServer, place: str) -> None:
    """An empty snapshot, nothing known; reading it writes nothing."""
    async with store(apiserver, place) as one:
        found = await one.read()
        assert (found.head.version, found.head.users.as_of) == (0, None)
        unchanged = await one.update(lambda _: None)
        assert unchanged.head.version == 0
        assert (await one.read()).head.version == 0


async def test_what_one_writes_the_other_reads(apiserver: ApiServer, place: str) -> None:
    """Versions count up; what changes nothing is not written."""
    async with store(apiserver, place) as one, store(apiserver, place) as other:
        await one.update(risky(1))
        after = await other.update(risky(2), LEADING)
        assert after.head.version == 2
        assert people(await one.read()) == expected(2, first=1)
        assert (await one.update(risky(2))).head.version == 2
        assert (await other.read()).head.written == NOW


@pytest.mark.usefixtures("small")
async def test_nothing_is_lost_between_writers_at_once(apiserver: ApiServer, place: str) -> None:
    """50 rounds of three at a time, two of which write all anew whenever it has grown."""
    async with (
        store(apiserver, place) as one,
        store(apiserver, place) as two,
        store(apiserver, place) as three,
        store(apiserver, place) as reader,
    ):
        for number in range(ROUNDS):
            writes = [
                each.update(risky(3 * number + place_), leading)
                for place_, (each, leading) in enumerate(
                    ((one, LEADING), (two, LEADING), (three, None))
                )
            ]
            await asyncio.gather(*writes)
            assert people(await reader.read()) == expected(3 * (number + 1))
        final = await reader.read()
        assert final.head.version == 3 * ROUNDS
        assert len(final.base) > 100, "the base was written anew, time and again"


@pytest.mark.usefixtures("small")
async def test_a_first_import_of_many_goes_into_the_base_at_once(
    apiserver: ApiServer, place: str
) -> None:
    """More than the head can hold, also without a leadership."""
    async with store(apiserver, place) as one, store(apiserver, place) as other:
        after = await one.update(many(0, 12_000))
        assert isinstance(after.base, SnapshotBase)
        assert (len(after.base), after.changes) == (12_000, {})
        found = await other.read()
        assert (people(found), found.head.version) == (expected(12_000), 1)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("sent", [False, True], ids=["before it", "right after it"])
async def test_a_writer_that_is_killed_leaves_a_snapshot_that_can_be_read(
    apiserver: ApiServer, place: str, monkeypatch: pytest.MonkeyPatch, *, sent: bool
) -> None:
    """At each of its writes, shards and head: the old one or the new one, whole; the next goes on.

    Nobody waits for the dead one longer than is said.
    """
    monkeypatch.setattr(risk_store, "ABANDONED_S", 0.0)
    async with store(apiserver, place) as one:
        await one.update(many(0, 20), LEADING)
        await one.update(many(20, 20), LEADING)
    last, known = 0, 40
    while True:
        async with connected(apiserver) as connection, store(apiserver, place) as other:
            mortal = RiskStore(Mortal(connection, last, sent=sent), place, lambda: NOW)
            try:
                await mortal.update(many(known, 20), LEADING)
                killed = False
            except KilledError:
                killed = True
            found = people(await other.read())
            assert found in (expected(known), expected(known + 20))
            await other.update(many(known, 20), LEADING)
            known += 20
            async with store(apiserver, place) as reader:
                assert people(await reader.read()) == expected(known)
        if not killed:
            break
        last += 1
    assert last >= 19, "head, nonce, sixteen shards, head"


@pytest.mark.usefixtures("small")
async def test_a_writer_that_slept_cannot_spoil_the_shards_of_another(
    apiserver: ApiServer, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its late shard is a conflict: it slept before writing it, and another one wrote all anew."""
    monkeypatch.setattr(risk_store, "ABANDONED_S", 0.0)
    async with connected(apiserver) as connection, store(apiserver, place) as other:
        await other.update(many(0, 20), LEADING)
        for late in range(2, 18, 5):
            asleep, awake = asyncio.Event(), asyncio.Event()
            sleeper = RiskStore(_Sleeper(connection, late, asleep, awake), place, lambda: NOW)
            task = asyncio.create_task(sleeper.update(many(1000 + late, 20), LEADING))
            await asyncio.wait_for(asleep.wait(), 60)
            before = people(await other.update(many(2000 + 100 * late, 30), LEADING))
            awake.set()
            await task
            async with store(apiserver, place) as fresh:
                found = people(await fresh.read())
            assert before | expected(20, first=1000 + late) == found


class _Sleeper(Objects):
    """Falls asleep before a write, once."""

    def __init__(self, connection: Any, last: int, asleep: Any, awake: Any) -> None:
        super().__init__(connection)
        self._left, self._asleep, self._awake = last, asleep, awake

    async def create(self, collection: str, body: Any) -> dict[str, Any]:
        await self._sleep()
        return await super().create(collection, body)

    async def merge(self, path: str, body: Any) -> dict[str, Any]:
        await self._sleep()
        return await super().merge(path, body)

    async def _sleep(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._asleep.set()
            await self._awake.wait()


async def test_whoever_does_not_lead_writes_nothing(apiserver: ApiServer, place: str) -> None:
    """A leadership that is over is an error before the write."""
    over = Leadership(1, 0.0, lambda: 1.0)
    async with store(apiserver, place) as one:
        with pytest.raises(NotLeaderError):
            await one.update(risky(1), over)
        assert (await one.read()).head.version == 0


@pytest.mark.usefixtures("small")
async def test_a_head_that_is_lost_is_written_again_from_memory(
    apiserver: ApiServer, place: str, client: Client
) -> None:
    """By whoever knows the snapshot; the base too. A stranger begins anew, with a new full pass."""
    path = f"/api/v1/namespaces/{place}/secrets/{HEAD_NAME}"
    async with store(apiserver, place) as one:
        await one.update(many(0, 40), LEADING)
        await one.update(_complete, LEADING)
        await client.request("DELETE", path)
        async with store(apiserver, place) as stranger:
            assert people(await stranger.read()) == set()
        after = await one.update(risky(40), LEADING)
        assert people(after) == expected(41)
    async with store(apiserver, place) as stranger:
        found = await stranger.read()
        assert (people(found), found.head.users.as_of) == (expected(41), 5.0)
        assert found.head.version > 2


def _complete(draft: SnapshotDraft) -> None:
    users = Coverage(as_of=5.0)
    draft.head = type(draft.head)(**{**_fields(draft.head), "users": users})


def _fields(head: Any) -> dict[str, Any]:
    return {name: getattr(head, name) for name in head.__struct_fields__}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("part", ["head", "sha256", "shard", "shard gone"])
async def test_what_is_broken_is_said_once_and_mended(
    apiserver: ApiServer, place: str, client: Client, part: str
) -> None:
    """From memory where the writer knows it; else by a new full pass, with what is sound."""
    async with store(apiserver, place) as one:
        await one.update(many(0, 40), LEADING)
        await one.update(_complete, LEADING)
    await _break(client, place, part)
    async with store(apiserver, place) as fresh:
        with capture_logs() as logs:
            found = await fresh.read()
            await fresh.read()
        assert [each["event"] for each in logs] == [
            "stored risk snapshot is broken: it is written anew"
        ]
        assert found.head.users.as_of is None
        await fresh.update(many(0, 41), LEADING)
    async with store(apiserver, place) as fresh:
        assert people(await fresh.read()) == expected(41)


async def _break(client: Client, place: str, part: str) -> None:
    """Put nonsense into the head, or into all shards of both generations, or delete these."""
    base = f"/api/v1/namespaces/{place}/secrets"
    if not part.startswith("shard"):
        body = {"data": {part: base64.b64encode(b"nonsense").decode()}}
        kind = "application/merge-patch+json"
        await client.request("PATCH", f"{base}/{HEAD_NAME}", body, content_type=kind)
        return
    for generation in "ab":
        path = f"{base}/{shard_name(generation, 3)}"
        if part == "shard gone":
            await client.request("DELETE", path)
        else:
            body = {"data": {"shard": base64.b64encode(b"nonsense").decode()}}
            await client.request("PATCH", path, body, content_type="application/merge-patch+json")


async def test_what_a_later_release_wrote_is_left_alone(
    apiserver: ApiServer, place: str, client: Client
) -> None:
    """Reading and writing both say so, and the Secret stays as it is."""
    content = base64.b64encode(b'{"format":3}').decode()
    await client.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": HEAD_NAME, "namespace": place},
            "data": {"head": content},
        }
    )
    async with store(apiserver, place) as one:
        for attempt in (one.read(), one.update(risky(1))):
            with pytest.raises(ClusterError, match="written by a later release"):
                await attempt
    _, body = await client.request("GET", f"/api/v1/namespaces/{place}/secrets/{HEAD_NAME}")
    assert body["data"] == {"head": content}


async def test_no_secret_comes_near_its_limit(
    apiserver: ApiServer, place: str, client: Client
) -> None:
    """10,000 people: each Secret as JSON is far below 1 MiB."""
    async with store(apiserver, place) as one:
        await one.update(many(0, 10_000), LEADING)
        await one.update(many(10_000, 3_000), LEADING)
    _, body = await client.request("GET", f"/api/v1/namespaces/{place}/secrets")
    sizes = [len(str(each)) for each in body["items"]]
    assert len(sizes) >= 17
    assert max(sizes) < 2**20
