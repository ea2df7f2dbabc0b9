"""Reads logs that diagnostic settings send to Azure Event Hubs, by the Kafka protocol.

It takes part in no consumer group: partitions are assigned, and the ledger keeps how far each was
read, in the transaction that stores what was read. So nothing is shared out anew, and nothing is
lost between two places that keep offsets.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition  # type: ignore[import-untyped]
from aiokafka.errors import KafkaError  # type: ignore[import-untyped]

from audit.access.model.batch import MOST_BATCH, RecordBatch, SourcePlaces, SourceRecord
from audit.access.sources.envelopes import parts_of
from core.base.errors import SallyportError, SettingsError, SourceError
from core.base.ids import stable_id
from core.base.times import milli_text
from core.weights.documents.events import FORMAT, LogGap
from network.error_texts import describe
from network.event_hubs import (
    EventHubTokens,
    connection_string_settings,
    consumer_settings,
    scope_of,
    stop_consumer,
    token_settings,
)

GetToken = Callable[[str], Awaitable[str]]

_START_S: Final = 30.0

_PARTITIONS_S: Final = 300.0
"""Between two looks at how many partitions there are: their number can be raised."""

_MOST_MESSAGES: Final = 2000


@dataclass(frozen=True, slots=True)
class HubPlace:
    """How far a partition was read."""

    offset: int
    """Of the next message."""
    unix_ms: int
    """When the last message was put in, by the broker's clock."""

    @property
    def text(self) -> str:
        """As the ledger keeps it."""
        return f"{self.offset} {self.unix_ms}"


def read_place(text: str) -> HubPlace | None:
    """Read a partition's place; None where it has none."""
    words = text.split()
    whole = len(words) == 2 and all(word.isdigit() for word in words)  # noqa: PLR2004  As written.
    return HubPlace(int(words[0]), int(words[1])) if whole else None


class HubPartitions:
    """The partitions that are read, and how far."""

    def __init__(self, name: str, cluster: str, consumer: Any, places: SourcePlaces) -> None:
        self._name, self._cluster, self._consumer = name, cluster, consumer
        self._places = places
        self._at: dict[Any, HubPlace] = {}
        self._known: set[Any] = set()
        self._beyond: set[Any] = set()
        """Whose place lies past their end: what they have is of another event hub."""

    async def assign(self, topics: Sequence[str]) -> None:
        """Read every partition there is, each from its place; new ones from their beginning."""
        # Nothing public has it ask for what partitions a topic has.
        await self._consumer._client.set_topics(topics)  # noqa: SLF001
        found = {
            TopicPartition(topic, number)
            for topic in topics
            for number in self._consumer.partitions_for_topic(topic) or ()
        }
        missing = [topic for topic in topics if not any(each.topic == topic for each in found)]
        if missing:
            text = f"there is no event hub {missing[0]!r}: check weights.event_hub.topics"
            raise SourceError(text)
        if found == self._known:
            return
        self._consumer.assign(sorted(found))
        for partition in sorted(found):
            place = self._at.get(partition) or read_place(
                self._places.get(f"{self._name}:{_key(partition)}", "")
            )
            if place is not None:
                self._at[partition] = place
                self._consumer.seek(partition, place.offset)
        self._known = found

    async def ends(self) -> dict[Any, int]:
        """Return where each partition ends now; of those that have nothing, nothing."""
        ends = await self._consumer.end_offsets(sorted(self._known))
        begins = await self._consumer.beginning_offsets(sorted(self._known))
        self._beyond = {each for each, at in self._at.items() if at.offset > ends[each]}
        return {each: int(end) for each, end in ends.items() if end > begins[each]}

    def has_reached(self, ends: dict[Any, int]) -> bool:
        """Return whether all was read up to there."""
        return all(
            each in self._at and each not in self._beyond and self._at[each].offset >= end
            for each, end in ends.items()
        )

    def stretches(self, partition: Any, messages: Sequence[Any]) -> list[RecordBatch]:
        """Put messages of one partition into stretches."""
        found: list[RecordBatch] = []
        records: list[SourceRecord] = []
        gaps: list[LogGap] = []
        size, begin = 0, self._at.get(partition)
        self._beyond.discard(partition)
        for message in messages:
            gaps.extend(self._gap(partition, message))
            where = f"{_key(partition)}@{message.offset}"
            if not message.value:
                records.append(SourceRecord(b"", where, "is an empty message"))
            else:
                parts = parts_of(message.value)
                records.extend(SourceRecord(part.raw, where, part.problem) for part in parts)
                size += len(message.value)
            self._at[partition] = HubPlace(message.offset + 1, max(int(message.timestamp), 0))
            if size >= MOST_BATCH // 2:
                found.append(self._stretch(partition, begin, records, gaps))
                records, gaps, size, begin = [], [], 0, self._at[partition]
        if records:
            found.append(self._stretch(partition, begin, records, gaps))
        return found

    def _stretch(
        self,
        partition: Any,
        begin: HubPlace | None,
        records: list[SourceRecord],
        gaps: list[LogGap],
    ) -> RecordBatch:
        end = self._at[partition].text
        key = _key(partition)
        return RecordBatch(self._name, key, begin.text if begin else "", end, records, gaps)

    def _gap(self, partition: Any, message: Any) -> list[LogGap]:
        """Say what is missing before a message; offsets of a partition go on one by one."""
        before = self._at.get(partition)
        if before is None or message.offset == before.offset:
            return []
        count = message.offset - before.offset
        why = f"{count} messages were deleted before they were read: retention is too short"
        if count < 0:
            why = "the event hub was made anew: what was in it and not read is lost"
        end_ms = max(int(message.timestamp), before.unix_ms)
        subject = _key(partition)
        return [
            LogGap(
                format=FORMAT,
                id=stable_id(end_ms, "gap", self._cluster, subject, before.text, why),
                cluster=self._cluster,
                log="storage",
                subject=subject,
                begin=milli_text(before.unix_ms),
                end=milli_text(end_ms),
                why=why,
            )
        ]


def _key(partition: Any) -> str:
    return f"{partition.topic}/{partition.partition}"


@dataclass(frozen=True, slots=True)
class LogHubSettings:
    """Which event hubs are read, and how one gets in."""

    servers: tuple[str, ...]
    """`NAMESPACE.servicebus.windows.net:9093`."""
    topics: tuple[str, ...]
    """The event hubs."""
    connection_string_file: Path | None = None
    """None for signing in with tokens, which is better: a connection string is a long-lived key."""
    trust: Path | None = None
    """CA of the brokers (PEM); the public ones where it is None."""
    follow: bool = True
    """Whether to wait for more; otherwise it ends at what is the end when it begins."""
    silent_s: float = 60.0
    """A broker that has answered nothing for so long is gone."""

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        for name in ("servers", "topics"):
            if not getattr(self, name):
                raise SettingsError(f"weights.event_hub.{name}: is missing")

    @property
    def scope(self) -> str:
        """What a token is asked for: `https://NAMESPACE.servicebus.windows.net/.default`."""
        return scope_of(self.servers)


class LogHub:
    """One source; each use of `stretches` has connections of its own."""

    def __init__(
        self, name: str, cluster: str, settings: LogHubSettings, get_token: GetToken | None
    ) -> None:
        """Take the settings and, but for a connection string, what gives tokens.

        Raises:
            SettingsError: the CA cannot be read, or there is nothing to get in with.
        """
        # It logs addresses, answers of brokers, and at times records.
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        if get_token is None and settings.connection_string_file is None:
            raise SettingsError("weights.event_hub: needs a sign-in, or a connection string")
        self.name = name
        self._cluster = cluster
        self._settings = settings
        self._sign_in = (
            EventHubTokens(get_token, settings.scope, SallyportError) if get_token else None
        )
        try:
            self._context = ssl.create_default_context(cafile=settings.trust)
        except OSError as error:
            text = f"weights.event_hub.trust cannot be read ({describe(error)}): give PEM"
            raise SettingsError(text) from None

    async def stretches(self, places: SourcePlaces) -> AsyncGenerator[RecordBatch, None]:
        """Yield what came after these places, as `LogSource` says.

        Raises:
            SourceError: a broker cannot be reached, does not let it in, or is silent.
        """
        consumer = AIOKafkaConsumer(**self._options())
        try:
            try:
                async with asyncio.timeout(_START_S):
                    await consumer.start()
                reading = HubPartitions(self.name, self._cluster, consumer, places)
                await reading.assign(self._settings.topics)
                ends = {} if self._settings.follow else await reading.ends()
            except (KafkaError, OSError) as error:
                raise self._failed(error) from error
            async for stretch in self._followed(consumer, reading, ends):
                yield stretch
        finally:
            await stop_consumer(consumer)

    async def _followed(
        self, consumer: Any, reading: "HubPartitions", ends: dict[Any, int]
    ) -> AsyncIterator[RecordBatch]:
        assigned = time.monotonic()
        while self._settings.follow or not reading.has_reached(ends):
            try:
                found = await consumer.getmany(timeout_ms=500, max_records=_MOST_MESSAGES)
                if time.monotonic() - assigned > _PARTITIONS_S:
                    assigned = time.monotonic()
                    await reading.assign(self._settings.topics)
            except (KafkaError, OSError) as error:
                raise self._failed(error) from error
            for partition, messages in found.items():
                for stretch in reading.stretches(partition, messages):
                    yield stretch
            if not found:
                self._require_answers(consumer, assigned)

    def _require_answers(self, consumer: Any, since: float) -> None:
        """Say so where nothing is answered any more: aiokafka tries for ever, and in silence."""
        heard = [consumer.last_poll_timestamp(each) for each in consumer.assignment()]
        latest = max((at / 1000 for at in heard if at and at > 0), default=0.0)
        silent = time.time() - latest if latest else time.monotonic() - since
        if silent > self._settings.silent_s:
            raise SourceError(f"the event hub has not answered for {silent:.0f} s: {self._fix()}")

    def _options(self) -> dict[str, Any]:
        options = consumer_settings(self._settings.servers, self._context, MOST_BATCH) | {
            "group_id": None,
        }
        if self._sign_in is not None:
            return options | token_settings(self._sign_in)
        file = self._settings.connection_string_file
        assert file is not None  # noqa: S101  Checked before.
        try:
            return options | connection_string_settings(file)
        except (OSError, UnicodeDecodeError) as error:
            name = "weights.event_hub.connection_string_file"
            raise SourceError(f"{name} cannot be read ({type(error).__name__})") from error

    def _failed(self, error: Exception) -> SourceError:
        if self._sign_in is not None and self._sign_in.problem:
            return SourceError(f"the event hub: {self._sign_in.problem}")
        kind = describe(error)  # The type's name, or a constant text of the system.
        return SourceError(f"the event hub cannot be read from ({kind}): {self._fix()}")

    def _fix(self) -> str:
        role = "that the identity has the role Azure Event Hubs Data Receiver"
        way = role if self._sign_in else "the connection string"
        return f"check weights.event_hub.servers, topics, the network, and {way}"
