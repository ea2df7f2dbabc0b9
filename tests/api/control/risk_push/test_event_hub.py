"""Records of a real Kafka broker, read as Event Hubs is, end in the stored snapshot, each once."""

import asyncio
import json
import sys
import time
import uuid
from pathlib import Path

import msgspec
import pytest

from control.risk.push import event_hub
from core.base.errors import NotLeaderError
from core.risk.model import RiskLevel, RiskSource, RiskState
from identity.clients.event_hub import EventHub
from tests.api.control.risk_push.senders import (
    POINTS,
    Doomed,
    Issued,
    connection_string_file,
    head_version,
    hub_settings,
    known,
    new_topic,
    reading,
    risky,
)
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.kafka import Kafka
from tests.harness.worlds.entra_records import (
    DETECTION,
    EVENT,
    PERSON,
    TENANT,
    USER,
    changed,
    message,
)

MANY = 300


async def test_records_end_in_the_stored_snapshot(
    apiserver: ApiServer, kafka: Kafka, namespace: str
) -> None:
    """A level and what it rests on, over a token of the namespace's scope; then the offset."""
    topic = await new_topic(kafka)
    tokens = Issued(kafka.issuer)
    await kafka.put(topic, message(USER, DETECTION))
    settings = hub_settings(kafka, topic)
    async with reading(apiserver, namespace, settings, tokens) as reader:

        async def done() -> bool:
            return await kafka.committed(settings.group, topic) == 1

        await reader.until(done)
        entry = await reader.entry(PERSON)
        assert entry is not None
        assert (entry.level, entry.state) == (RiskLevel.MEDIUM, RiskState.AT_RISK)
        assert (entry.event_id, entry.event_type) == (EVENT, "anonymizedIPAddress")
        assert reader.counted() == {"changed": 2}
    assert set(tokens.asked) == {"https://127.0.0.1/.default"}


async def test_what_comes_while_it_reads_is_stored_at_once(
    apiserver: ApiServer, kafka: Kafka, namespace: str
) -> None:
    """Ten records, one after the other: half of them within seconds; prints how long."""
    topic = await new_topic(kafka)
    async with (
        reading(apiserver, namespace, hub_settings(kafka, topic), Issued(kafka.issuer)) as reader,
        kafka.producer() as producer,
    ):
        running = asyncio.create_task(reader.until(lambda: False, 900))
        took = []
        for number in range(10):
            await asyncio.sleep(0.3)
            began = time.monotonic()
            await producer.send_and_wait(topic, message(risky(number)))
            while not await known(reader, number):
                assert time.monotonic() - began < 60
                await asyncio.sleep(0.005)
            took.append(time.monotonic() - began)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    rest = sorted(took[1:])  # The first one waits for the consumer to join its group.
    print(f"event hub to store: median {rest[4] * 1000:.0f} ms, most {rest[-1] * 1000:.0f} ms")
    assert rest[4] < 5, "it waits for more to come"


async def test_no_record_stops_the_others_and_refused_ones_change_nothing(
    apiserver: ApiServer, kafka: Kafka, namespace: str
) -> None:
    """Poison between sound ones; then poison alone, at which the stored head stays as it is."""
    topic = await new_topic(kafka)
    ahead = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 4000))
    poison = (
        b"\xff\xfe not JSON",
        b"",
        b"[" * 200_000,
        message(changed(USER, id="ada@example.com")),
        message({**USER, "tenantId": str(uuid.uuid4())}),
        message(changed(USER, riskLastUpdatedDateTime=ahead)),
        message(changed(USER, riskLastUpdatedDateTime="once")),
        message({**USER, "category": "SignInLogs"}),
        message(7, USER["properties"]),
    )
    wanted = {"changed": 2, "malformed": 5, "subject": 1, "tenant": 1, "future": 1, "time": 1}
    wanted["skipped"] = 1
    settings = hub_settings(kafka, topic)
    await kafka.put(topic, message(risky(1)), *poison, message(risky(2)))
    async with reading(apiserver, namespace, settings, Issued(kafka.issuer)) as reader:

        async def committed(offset: int) -> bool:
            return await kafka.committed(settings.group, topic) == offset

        await reader.until(lambda: committed(11))
        assert await known(reader, 1, 2)
        assert reader.counted() == wanted
        before = await head_version(reader.connection, namespace)
        old = risky(1, "none", "2022-08-22T18:11:50Z")
        await kafka.put(topic, *poison, message(old), message(risky(1)))
        await reader.until(lambda: committed(22))
        assert await head_version(reader.connection, namespace) == before
        assert (reader.counted()["older"], reader.counted()["same"]) == (1, 1)


@pytest.mark.parametrize("point", POINTS)
async def test_a_leader_that_is_killed_loses_nothing(
    apiserver: ApiServer, kafka: Kafka, namespace: str, tmp_path: Path, point: str
) -> None:
    """SIGKILL between reading, storing and committing; the next one has all of it, once."""
    topic = await new_topic(kafka, 2)
    string = connection_string_file(tmp_path)
    settings = hub_settings(
        kafka, topic, connection_string_file=string, allow_connection_string=True
    )
    for partition in (0, 1):
        numbers = range(partition, MANY, 2)
        batches = [numbers[first : first + 15] for first in range(0, len(numbers), 15)]
        messages = [message(*map(risky, batch)) for batch in batches]
        await kafka.put(topic, *messages, partition=partition)
    doomed = Doomed(  # It reads in small batches: the first is not all.
        kubeconfig=str(apiserver.kubeconfig()),
        namespace=namespace,
        server=kafka.server,
        trust=str(kafka.authority.certificate_path),
        topic=topic,
        group=settings.group,
        string_file=str(string),
        point=point,
    )
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.api.control.risk_push.senders",
        msgspec.json.encode(doomed).decode(),
    )
    async with asyncio.timeout(180):
        assert await program.wait() == -9
    async with reading(apiserver, namespace, settings, None) as reader:
        stored = len(list((await reader.store.read()).entries(RiskSource.ENTRA)))
        assert stored < MANY
        assert (stored > 0) == (point != POINTS[0])
        await reader.until(lambda: known(reader, *range(MANY)), 120)
        entries = dict((await reader.store.read()).entries(RiskSource.ENTRA))
        assert len(entries) == MANY
        assert {entry.level for entry in entries.values()} == {RiskLevel.HIGH}


async def test_the_next_leader_goes_on_where_the_last_one_stopped(
    apiserver: ApiServer, kafka: Kafka, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One keeps the hub open from run to run, leaves it when its term ends, and the other reads.

    It need not wait for the other's session to end, which lasts longer than this test.
    """
    monkeypatch.setattr(event_hub, "RUN_S", 0.5)
    options = EventHub._options  # noqa: SLF001 -- to change one of them
    lasting = {"session_timeout_ms": 300_000}
    monkeypatch.setattr(EventHub, "_options", lambda hub: options(hub) | lasting)
    topic = await new_topic(kafka)
    settings = hub_settings(kafka, topic)
    async with (
        reading(apiserver, namespace, settings, Issued(kafka.issuer)) as one,
        reading(apiserver, namespace, settings, Issued(kafka.issuer)) as other,
    ):
        await kafka.put(topic, message(risky(1)))
        open_after: list[bool] = []
        deadline = time.monotonic() + 90
        while len(open_after) < 3 or not await known(one, 1):
            assert time.monotonic() < deadline
            await one.events.run(one.leadership)
            open_after.append(one.hub.is_open)
        one.leadership.end()
        one.events.loop.forget()
        with pytest.raises(NotLeaderError):
            await one.events.run(one.leadership)
        assert all(open_after)
        assert not one.hub.is_open
        await kafka.put(topic, message(risky(2)))
        await other.until(lambda: known(other, 2))
        assert other.counted() == {"changed": 1}


def test_records_name_our_tenant() -> None:
    """The samples are of the tenant that the readers are told: else nothing would be tried."""
    assert json.loads(message(USER))["records"][0]["tenantId"] == TENANT
