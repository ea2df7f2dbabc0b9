"""The event hub while something does not work: the store, the broker, or what lets one in."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import pytest

from control.risk.push import event_hub
from core.base.errors import ClusterError, EntraError
from kube.client.objects import Objects
from tests.api.control.risk_push.senders import (
    Issued,
    connection_string_file,
    hub_settings,
    known,
    new_topic,
    reading,
    risky,
)
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.kafka import Kafka
from tests.harness.worlds.entra_records import message

MANY = 300


async def test_what_could_not_be_stored_is_read_again(
    apiserver: ApiServer, kafka: Kafka, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kube-apiserver refuses the first write, the second one hangs and is cut off: both count."""
    topic = await new_topic(kafka)
    await kafka.put(topic, message(risky(1)))
    settings = hub_settings(kafka, topic)
    async with reading(apiserver, namespace, settings, Issued(kafka.issuer)) as reader:
        create = Objects.create

        async def fail(*_: object) -> dict[str, object]:
            raise ClusterError("kube-apiserver does not answer")

        async def hang(*_: object) -> dict[str, object]:
            await asyncio.sleep(60)
            raise AssertionError

        monkeypatch.setattr(Objects, "create", fail)
        with pytest.raises(ClusterError):
            await reader.until(lambda: False)
        assert await kafka.committed(settings.group, topic) == -1
        monkeypatch.setattr(Objects, "create", hang)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(4):
                await reader.events.run(reader.leadership)
        assert await kafka.committed(settings.group, topic) == -1
        monkeypatch.setattr(Objects, "create", create)
        await reader.until(lambda: known(reader, 1))


async def test_a_broker_that_is_away_is_told_and_read_on_when_it_is_back(
    apiserver: ApiServer, kafka: Kafka, namespace: str
) -> None:
    """Aiokafka would try for ever in silence; the loop fails with the reason, and begins anew."""
    topic = await new_topic(kafka)
    settings = hub_settings(kafka, topic, silent_s=8.0)
    async with reading(apiserver, namespace, settings, Issued(kafka.issuer)) as reader:
        await kafka.put(topic, message(risky(1)))
        await reader.until(lambda: known(reader, 1))
        await reader.until(lambda: reader.counted() == {"changed": 1})
        kafka.stop()
        try:
            with pytest.raises(EntraError, match=r"identity\.event_hub\.servers"):
                await reader.until(lambda: False)
        finally:
            kafka.start()
        await kafka.put(topic, message(risky(2)))
        began = time.monotonic()
        while not await known(reader, 2):
            assert time.monotonic() - began < 120
            with suppress(EntraError):
                await reader.until(lambda: known(reader, 2))


async def test_a_broker_that_falls_silent_is_given_up(
    apiserver: ApiServer, kafka: Kafka, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps its connections and answers nothing: aiokafka would see that after minutes only."""
    topic = await new_topic(kafka)
    settings = hub_settings(kafka, topic, silent_s=8.0)
    async with reading(apiserver, namespace, settings, Issued(kafka.issuer)) as reader:
        await kafka.put(topic, message(risky(1)))
        monkeypatch.setattr(event_hub, "RUN_S", 1.0)
        await reader.events.run(reader.leadership)
        monkeypatch.undo()
        kafka.freeze()
        try:
            with pytest.raises(EntraError, match=r"has not answered for \d+ s"):
                await reader.events.run(reader.leadership)
        finally:
            kafka.thaw()
        await kafka.put(topic, message(risky(2)))
        await reader.until(lambda: known(reader, 2))


async def test_a_connection_string_is_taken_where_it_is_allowed(
    apiserver: ApiServer, kafka: Kafka, namespace: str, tmp_path: Path
) -> None:
    """And read anew at each connection: a wrong one, then the right one."""
    topic = await new_topic(kafka)
    string = connection_string_file(tmp_path)
    right = string.read_text()
    settings = hub_settings(
        kafka, topic, connection_string_file=string, allow_connection_string=True
    )
    await kafka.put(topic, message(risky(1)))
    async with reading(apiserver, namespace, settings, None) as reader:
        string.write_text("Endpoint=sb://127.0.0.1/;SharedAccessKey=s3cret-and-wrong")
        with pytest.raises(EntraError, match="the connection string") as refused:
            await reader.until(lambda: False)
        assert "s3cret" not in str(refused.value)
        string.write_text(right)
        await reader.until(lambda: known(reader, 1))


async def test_a_token_that_the_broker_refuses_is_told_with_the_fix(
    apiserver: ApiServer, kafka: Kafka, namespace: str
) -> None:
    """An expired one; one that Entra does not give is told in Entra's words. No token is quoted."""
    topic = await new_topic(kafka)
    tokens = Issued(kafka.issuer, lasts_s=-600)
    async with reading(apiserver, namespace, hub_settings(kafka, topic), tokens) as reader:
        with pytest.raises(EntraError, match="Azure Event Hubs Data Receiver") as refused:
            await reader.events.run(reader.leadership)
        assert "eyJ" not in str(refused.value)
    none = _NoTokens()
    async with reading(apiserver, namespace, hub_settings(kafka, topic), none) as reader:
        with pytest.raises(EntraError, match="there is no token today"):
            await reader.events.run(reader.leadership)


async def test_reading_goes_on_when_tokens_expire(
    apiserver: ApiServer, kafka: Kafka, namespace: str
) -> None:
    """Tokens of four seconds: the broker ends each connection with its token, for fifteen."""
    topic = await new_topic(kafka)
    tokens = Issued(kafka.issuer, lasts_s=4)
    async with reading(apiserver, namespace, hub_settings(kafka, topic), tokens) as reader:
        running = asyncio.create_task(reader.until(lambda: False, 900))
        for number in range(10):
            await asyncio.sleep(1.5)
            await kafka.put(topic, message(risky(number)))
            async with asyncio.timeout(60):
                while not await known(reader, number):  # noqa: ASYNC110  A Secret tells nobody.
                    await asyncio.sleep(0.05)
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert len(tokens.asked) >= 4


class _NoTokens:
    async def get(self, _: str) -> str:
        """Return none."""
        raise EntraError("there is no token today", "token")


async def test_the_trust_of_the_broker_is_demanded(
    apiserver: ApiServer, kafka: Kafka, namespace: str
) -> None:
    """A broker whose CA is not the one of the settings hears no token."""
    topic = await new_topic(kafka)
    tokens = Issued(kafka.issuer)
    settings = hub_settings(kafka, topic, trust=None)
    async with reading(apiserver, namespace, settings, tokens) as reader:
        with pytest.raises(EntraError):
            await reader.events.run(reader.leadership)
    assert tokens.asked == []
