"""The partitions of event hubs that are read, how far each was read, and what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka import TopicPartition  # type: ignore[import-untyped]

from audit.access.model.batch import MOST_STRETCH, Places, Record, Stretch
from audit.access.sources.envelopes import parts_of
from core.base.errors import SourceError
from core.base.ids import stable_id
from core.base.times import milli_text
from core.weights.events import FORMAT, LogGap


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


class Partitions:
    """The partitions that are read, and how far."""

    def __init__(self, name: str, cluster: str, consumer: Any, places: Places) -> None:
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
        """Give where each partition ends now; of those that have nothing, nothing."""
        ends = await self._consumer.end_offsets(sorted(self._known))
        begins = await self._consumer.beginning_offsets(sorted(self._known))
        self._beyond = {each for each, at in self._at.items() if at.offset > ends[each]}
        return {each: int(end) for each, end in ends.items() if end > begins[each]}

    def has_reached(self, ends: dict[Any, int]) -> bool:
        """Say whether all was read up to there."""
        return all(
            each in self._at and each not in self._beyond and self._at[each].offset >= end
            for each, end in ends.items()
        )

    def stretches(self, partition: Any, messages: Sequence[Any]) -> list[Stretch]:
        """Put messages of one partition into stretches."""
        found: list[Stretch] = []
        records: list[Record] = []
        gaps: list[LogGap] = []
        size, begin = 0, self._at.get(partition)
        self._beyond.discard(partition)
        for message in messages:
            gaps.extend(self._gap(partition, message))
            where = f"{_key(partition)}@{message.offset}"
            if not message.value:
                records.append(Record(b"", where, "is an empty message"))
            else:
                parts = parts_of(message.value)
                records.extend(Record(part.raw, where, part.problem) for part in parts)
                size += len(message.value)
            self._at[partition] = HubPlace(message.offset + 1, max(int(message.timestamp), 0))
            if size >= MOST_STRETCH // 2:
                found.append(self._stretch(partition, begin, records, gaps))
                records, gaps, size, begin = [], [], 0, self._at[partition]
        if records:
            found.append(self._stretch(partition, begin, records, gaps))
        return found

    def _stretch(
        self, partition: Any, begin: HubPlace | None, records: list[Record], gaps: list[LogGap]
    ) -> Stretch:
        end = self._at[partition].text
        key = _key(partition)
        return Stretch(self._name, key, begin.text if begin else "", end, records, gaps)

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
