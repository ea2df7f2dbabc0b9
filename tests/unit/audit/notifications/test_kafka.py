"""Kafka and Event Hubs: a real broker takes CloudEvents; what fails is told."""

import json
import uuid
from pathlib import Path

import aiokafka  # type: ignore[import-untyped]
import msgspec
import pytest

from audit.notifications.cloud_events import cloud_event
from audit.notifications.sink import NoticeRefusedError, SinkAwayError
from audit.notifications.sinks.kafka import KafkaPlace, KafkaSink
from core.base.errors import SallyportError
from tests.harness.programs.kafka import CONNECTION_STRING, Kafka
from tests.unit.audit.notifications.notices import make_notice


@pytest.fixture(name="place")
async def make_place(kafka: Kafka, secrets: Path) -> KafkaPlace:
    """Return a topic of its own for each test, which a connection string opens."""
    topic = f"notices-{uuid.uuid4()}"
    await kafka.make_topic(topic)
    (secrets / "connection-string").write_text(f"{CONNECTION_STRING}\n")
    trust = kafka.authority.certificate_path
    return KafkaPlace((kafka.server,), topic, "connection-string", trust, secrets)


async def messages(kafka: Kafka, topic: str, count: int) -> list[tuple[bytes, bytes, object]]:
    """Return key, value and headers of so many messages of a topic."""
    server = kafka._open_server  # noqa: SLF001  The tests' own listener.
    consumer = aiokafka.AIOKafkaConsumer(
        topic, bootstrap_servers=server, auto_offset_reset="earliest", group_id=None
    )
    await consumer.start()
    try:
        found = [await consumer.getone() for _ in range(count)]
    finally:
        await consumer.stop()
    return [(each.key, each.value, each.headers) for each in found]


async def test_broker_takes_each_notice_as_a_cloud_event(kafka: Kafka, place: KafkaPlace) -> None:
    """In structured mode, under the notice's id: a topic can be compacted by it."""
    notices = [make_notice(number) for number in range(100)]
    sink = KafkaSink(place, None)
    await sink.send(notices)
    await sink.close()
    found = await messages(kafka, place.topic, len(notices))
    assert [key.decode() for key, _, _ in found] == [each.id for each in notices]
    assert found[0][1] == cloud_event(notices[0])
    media = b"application/cloudevents+json; charset=utf-8"
    assert found[0][2] == (("content-type", media),)


async def test_event_hub_is_written_to_with_a_token(kafka: Kafka, place: KafkaPlace) -> None:
    """Asked for the namespace; a sign-in that fails is told, and tried again with the next send."""
    asked: list[str] = []
    fails = [True]

    async def get_token(scope: str) -> str:
        asked.append(scope)
        if fails:
            raise SinkAwayError("signing in to tell a sink: Entra ID does not answer")
        return kafka.issuer.token()

    entra = KafkaPlace(place.servers, place.topic, "entra", place.trust)
    sink = KafkaSink(entra, get_token)
    with pytest.raises(SinkAwayError, match="Entra ID does not answer"):
        await sink.send([make_notice()])
    fails.clear()
    await sink.send([make_notice()])
    await sink.close()
    assert set(asked) == {"https://127.0.0.1/.default"}
    assert len(await messages(kafka, place.topic, 1)) == 1


async def test_wrong_key_is_read_again(kafka: Kafka, place: KafkaPlace, secrets: Path) -> None:
    """The sink is away until the Secret is mended; the key is never repeated."""
    wrong = CONNECTION_STRING.replace("bWFkZS", "d3Jvbm")
    (secrets / "connection-string").write_text(wrong)
    sink = KafkaSink(place, None)
    with pytest.raises(SinkAwayError, match="what it signs in with") as caught:
        await sink.send([make_notice()])
    assert "SharedAccessKey" not in str(caught.value)
    (secrets / "connection-string").write_text(CONNECTION_STRING)
    await sink.send([make_notice()])
    await sink.close()
    ((_, value, _),) = await messages(kafka, place.topic, 1)
    assert json.loads(value)["id"] == make_notice().id


async def test_notice_that_is_too_large_is_refused(place: KafkaPlace) -> None:
    """It would be each time; the sink goes on with the next."""
    sink = KafkaSink(place, None)
    with pytest.raises(NoticeRefusedError):
        await sink.send([msgspec.structs.replace(make_notice(), detail="x" * 2_000_000)])
    await sink.send([make_notice()])
    await sink.close()


async def test_broker_of_another_ca_is_told_nothing(place: KafkaPlace) -> None:
    """TLS is verified always."""
    strange = KafkaPlace(place.servers, place.topic, place.sign_in, None, place.secrets)
    sink = KafkaSink(strange, None)
    with pytest.raises(SallyportError, match="cannot be written to"):
        await sink.send([make_notice()])
    await sink.close()
