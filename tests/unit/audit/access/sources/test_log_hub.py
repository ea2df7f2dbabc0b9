"""Logs in event hubs are read by the Kafka protocol, from a real broker that lets in as they do."""

import asyncio
import json
import ssl
import time
import uuid
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete  # type: ignore[import-untyped]
from aiokafka.structs import TopicPartition  # type: ignore[import-untyped]

from audit.access.model.batch import RecordBatch
from audit.clients.log_hub import LogHub, LogHubSettings
from core.base.errors import EntraError, SettingsError, SourceError
from network.event_hubs import CONNECTION_STRING_USER
from tests.harness.programs.kafka import CONNECTION_STRING, Kafka
from tests.unit.audit.access.sources.hourly_blobs import told


def message(*numbers: int) -> bytes:
    """Return a message as diagnostic settings send it."""
    return json.dumps({"records": [{"n": number} for number in numbers]}).encode()


def numbers(stretches: list[RecordBatch]) -> list[int]:
    """Return the records of stretches."""
    return sorted(json.loads(line)["n"] for line in told(stretches)[0])


@pytest.fixture
def settings(kafka: Kafka, tmp_path: Path) -> LogHubSettings:
    """An event hub of its own for each test, read to its end with a connection string."""
    secret = tmp_path / "connection-string"
    secret.write_text(CONNECTION_STRING)
    return LogHubSettings(
        servers=(kafka.server,),
        topics=(f"logs-{uuid.uuid4()}",),
        connection_string_file=secret,
        trust=kafka.authority.certificate_path,
        follow=False,
    )


async def read(
    settings: LogHubSettings, places: dict[str, str], *, most: int = 1000
) -> list[RecordBatch]:
    """Read what is new, as a process would that has just started, and note the places."""
    hub = LogHub("hub", "aks-1", settings, None)
    found: list[RecordBatch] = []
    stretches = hub.stretches(dict(places))
    async for stretch in stretches:
        assert stretch.begin == places.get(stretch.name, "")
        places[stretch.name] = stretch.end
        found.append(stretch)
        if len(found) == most:
            break
    await stretches.aclose()
    return found


async def test_every_partition_is_read_once_and_from_its_place(
    kafka: Kafka, settings: LogHubSettings
) -> None:
    """Envelopes, lists of them and single records; what is none is refused with its offset."""
    topic = settings.topics[0]
    await kafka.make_topic(topic, partitions=3)
    for partition in range(3):
        await kafka.put(topic, message(partition * 10, partition * 10 + 1), partition=partition)
    await kafka.put(topic, b'[{"records":[{"n":31}]},{"records":[{"n":32}]}]', partition=0)
    await kafka.put(topic, b'{"n":33}', b"nonsense", partition=1)
    places: dict[str, str] = {}
    stretches = await read(settings, places)
    assert numbers(stretches) == [0, 1, 10, 11, 20, 21, 31, 32, 33]
    (refused,) = [one for s in stretches for one in s.records if one.problem]
    assert refused.place == f"{topic}/1@2"
    assert set(places) == {f"hub:{topic}/{number}" for number in range(3)}
    assert await read(settings, places) == []
    await kafka.put(topic, message(40), partition=2)
    again = await read(settings, places)
    assert (numbers(again), told(again)[2]) == ([40], [])


async def test_what_was_read_and_not_stored_is_read_again(
    kafka: Kafka, settings: LogHubSettings
) -> None:
    """The broker keeps no offsets of ours: only the places count."""
    topic = settings.topics[0]
    await kafka.make_topic(topic)
    await kafka.put(topic, message(1), message(2))
    assert numbers(await read(settings, {})) == [1, 2]
    assert numbers(await read(settings, {})) == [1, 2]


async def _delete_before(kafka: Kafka, topic: str, offset: int) -> None:
    """Delete what lies before an offset, as retention does."""
    admin = AIOKafkaAdminClient(
        bootstrap_servers=kafka.server,
        security_protocol="SASL_SSL",
        ssl_context=ssl.create_default_context(cafile=kafka.authority.certificate_path),
        sasl_mechanism="PLAIN",
        sasl_plain_username=CONNECTION_STRING_USER,
        sasl_plain_password=CONNECTION_STRING,
    )
    await admin.start()
    try:
        where = {TopicPartition(topic, 0): RecordsToDelete(before_offset=offset)}
        await admin.delete_records(where)
    finally:
        await admin.close()
        await asyncio.sleep(0.2)  # TLS ends in its own time.


async def test_messages_that_retention_took_are_a_gap(
    kafka: Kafka, settings: LogHubSettings
) -> None:
    """From the last message that was read to the first that is still there."""
    topic = settings.topics[0]
    await kafka.make_topic(topic)
    await kafka.put(topic, message(1))
    places: dict[str, str] = {}
    await read(settings, places)
    await kafka.put(topic, message(2), message(3), message(4))
    await _delete_before(kafka, topic, 3)
    stretches = await read(settings, places)
    (gap,) = told(stretches)[2]
    assert numbers(stretches) == [4]
    assert (gap.subject, gap.begin <= gap.end) == (f"{topic}/0", True)
    assert gap.why.startswith("2 messages were deleted")


async def test_a_hub_that_was_made_anew_is_a_gap(kafka: Kafka, settings: LogHubSettings) -> None:
    """Its offsets begin again: what was in the old one is lost, the new one is read whole."""
    topic = settings.topics[0]
    await kafka.make_topic(topic)
    await kafka.put(topic, message(1))
    places = {f"hub:{topic}/0": f"500 {int(time.time() * 1000) - 60_000}"}
    hub_places = dict(places)
    stretches = await read(settings, hub_places)
    (gap,) = told(stretches)[2]
    assert numbers(stretches) == [1]
    assert "made anew" in gap.why


async def test_following_gives_what_comes_later(kafka: Kafka, settings: LogHubSettings) -> None:
    """Nothing needs to be there when it begins."""
    topic = settings.topics[0]
    await kafka.make_topic(topic)
    followed = LogHubSettings(
        servers=settings.servers,
        topics=settings.topics,
        connection_string_file=settings.connection_string_file,
        trust=settings.trust,
    )
    reading = asyncio.ensure_future(read(followed, {}, most=1))
    await asyncio.sleep(0.5)
    await kafka.put(topic, message(7))
    assert numbers(await asyncio.wait_for(reading, 20)) == [7]


async def test_log_hub_signs_in_with_tokens_of_its_namespace(
    kafka: Kafka, settings: LogHubSettings
) -> None:
    """For the scope of the namespace; what keeps one from signing in is said."""
    topic = settings.topics[0]
    await kafka.make_topic(topic)
    await kafka.put(topic, message(1))
    asked: list[str] = []

    async def good(scope: str) -> str:
        asked.append(scope)
        return kafka.issuer.token()

    async def bad(scope: str) -> str:
        raise EntraError("the sign-in says no", "token")

    tokens = LogHubSettings(settings.servers, settings.topics, trust=settings.trust, follow=False)
    found = [one async for one in LogHub("hub", "aks-1", tokens, good).stretches({})]
    assert numbers(found) == [1]
    assert set(asked) == {"https://127.0.0.1/.default"}
    with pytest.raises(SourceError, match="the sign-in says no"):
        [one async for one in LogHub("hub", "aks-1", tokens, bad).stretches({})]
    await asyncio.sleep(0.2)  # TLS ends in its own time; this loop would end before.


async def test_a_hub_that_is_not_there_is_said(settings: LogHubSettings) -> None:
    """With the setting to look at, and without the connection string."""
    with pytest.raises(SourceError, match=r"weights\.event_hub\.topics") as caught:
        await read(settings, {})
    assert CONNECTION_STRING not in str(caught.value)


async def test_a_broker_that_is_not_there_is_said(settings: LogHubSettings) -> None:
    """Nothing is tried for ever in silence."""
    gone = LogHubSettings(
        ("127.0.0.1:1",), settings.topics, settings.connection_string_file, settings.trust
    )
    with pytest.raises(SourceError, match=r"weights\.event_hub\.servers"):
        await read(gone, {})


def test_settings_that_cannot_work_are_refused(settings: LogHubSettings) -> None:
    """Each names the setting."""
    with pytest.raises(SettingsError, match=r"weights\.event_hub\.topics"):
        LogHubSettings(settings.servers, ())
    with pytest.raises(SettingsError, match="needs a sign-in"):
        LogHub("hub", "aks-1", LogHubSettings(settings.servers, settings.topics), None)
