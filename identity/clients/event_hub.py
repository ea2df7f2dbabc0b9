"""Reads what Entra ID's diagnostic settings send to Azure Event Hubs, by the Kafka protocol.

Offsets are committed by whoever calls, once what was read is stored: what a process that is killed
had read and not stored is read again by the next one.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from aiokafka import AIOKafkaConsumer  # type: ignore[import-untyped]
from aiokafka.errors import (  # type: ignore[import-untyped]
    CommitFailedError,
    IllegalStateError,
    KafkaError,
)

from core.base.errors import EntraError, SettingsError
from network.error_texts import describe
from network.event_hubs import (
    EventHubTokens,
    connection_string_settings,
    consumer_settings,
    scope_of,
    stop_consumer,
    token_settings,
)

MOST_MESSAGES: Final = 200
"""Of one batch; each is one write of the snapshot at most, and at most 1 MB."""

_MOST_FETCHED: Final = 4 * 1024 * 1024
_START_S: Final = 30.0
_SILENT_S: Final = 60.0
"""A broker that is asked twice a second and has not answered for so long is gone."""


class TokenSource(Protocol):
    """The part of `identity.clients.tokens.Tokens` that is used."""

    async def get(self, scope: str) -> str:
        """Return a token for a scope; raises EntraError."""


@dataclass(frozen=True, slots=True)
class EventHubSettings:
    """Which event hubs are read, and how one gets in."""

    servers: tuple[str, ...]
    """`NAMESPACE.servicebus.windows.net:9093`."""
    topics: tuple[str, ...]
    """The event hubs."""
    group: str = "sallyport"
    """The consumer group; each cluster needs one of its own."""
    connection_string_file: Path | None = None
    """None for signing in with tokens, which is better: a connection string is a long-lived key."""
    allow_connection_string: bool = False
    trust: Path | None = None
    """CA of the brokers (PEM); the public ones where it is None."""
    silent_s: float = _SILENT_S

    def __post_init__(self) -> None:
        """Refuse what cannot work, or must not.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        for name in ("servers", "topics", "group"):
            if not getattr(self, name):
                raise SettingsError(f"identity.event_hub.{name}: is missing")
        if self.connection_string_file is not None and not self.allow_connection_string:
            raise SettingsError(
                "identity.event_hub.connection_string_file: a connection string is a long-lived "
                "key: sign in with tokens, or set identity.event_hub.allow_connection_string"
            )

    @property
    def scope(self) -> str:
        """What a token is asked for: `https://NAMESPACE.servicebus.windows.net/.default`."""
        return scope_of(self.servers)


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages that were read, in their order in each partition."""

    messages: Sequence[bytes | None]
    offsets: Mapping[Any, int]
    """By partition, where to go on once they are stored."""


class EventHub:
    """One consumer of a group; whoever reads with it opens and closes it."""

    def __init__(self, settings: EventHubSettings, tokens: TokenSource | None) -> None:
        """Take the settings and, but for a connection string, what gives tokens.

        Raises:
            SettingsError: the CA cannot be read, or there is nothing to get in with.
        """
        # It logs addresses, answers of brokers, and at times records.
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        if tokens is None and settings.connection_string_file is None:
            raise SettingsError("identity.event_hub: needs a sign-in, or a connection string")
        self._settings = settings
        self._sign_in = EventHubTokens(tokens.get, settings.scope, EntraError) if tokens else None
        self._context = _context(settings)
        self._consumer: Any = None
        self._opened = 0.0

    @property
    def is_open(self) -> bool:
        """Whether it takes part in its group."""
        return self._consumer is not None

    async def open(self) -> None:
        """Take part in the group, from where it stopped; from the oldest message where it is new.

        Raises:
            EntraError: the broker cannot be reached, or does not let it in.
        """
        self._consumer = AIOKafkaConsumer(*self._settings.topics, **self._options())
        try:
            async with asyncio.timeout(_START_S):
                await self._consumer.start()
        except (KafkaError, OSError) as error:
            raise self._failed("cannot be read from", error) from error
        self._opened = time.time()

    async def receive(self, wait_s: float) -> Batch | None:
        """Return messages; None where none came in time.

        Raises:
            EntraError: the broker refuses, or has been silent for long.
        """
        try:
            found = await self._consumer.getmany(
                timeout_ms=int(wait_s * 1000), max_records=MOST_MESSAGES
            )
        except (KafkaError, OSError) as error:
            raise self._failed("cannot be read from", error) from error
        if not any(found.values()):
            self._require_answers()
            return None
        messages = [record.value for records in found.values() for record in records]
        offsets = {where: records[-1].offset + 1 for where, records in found.items() if records}
        return Batch(messages, offsets)

    async def commit(self, batch: Batch) -> None:
        """Note that a batch is stored. What another consumer reads now, it notes itself.

        Raises:
            EntraError: the broker did not take it; the batch is read once more.
        """
        try:
            await self._consumer.commit(dict(batch.offsets))
        except (CommitFailedError, IllegalStateError):
            return  # The group was shared out anew: the batch is read again, and changes nothing.
        except (KafkaError, OSError) as error:
            raise self._failed("does not note what was read", error) from error

    async def close(self) -> None:
        """Leave the group, so that the next one need not wait, and close every connection."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await stop_consumer(consumer)

    def _options(self) -> dict[str, Any]:
        options = consumer_settings(self._settings.servers, self._context, _MOST_FETCHED) | {
            "group_id": self._settings.group,
            "session_timeout_ms": 10_000,
            "heartbeat_interval_ms": 3_000,
        }
        if self._sign_in is not None:
            return options | token_settings(self._sign_in)
        file = self._settings.connection_string_file
        assert file is not None  # noqa: S101  Checked before.
        try:
            return options | connection_string_settings(file)
        except (OSError, UnicodeDecodeError) as error:
            name = "identity.event_hub.connection_string_file"
            raise EntraError(f"{name} cannot be read ({type(error).__name__})", "token") from error

    def _require_answers(self) -> None:
        """Say so where nothing is answered any more: aiokafka tries for ever, and in silence."""
        heard = [self._consumer.last_poll_timestamp(each) for each in self._consumer.assignment()]
        latest = max((at / 1000 for at in heard if at and at > 0), default=self._opened)
        silent = time.time() - max(latest, self._opened)
        if silent > self._settings.silent_s:
            raise EntraError(
                f"the event hub has not answered for {silent:.0f} s: {self._fix()}", "unreachable"
            )

    def _failed(self, what: str, error: Exception) -> EntraError:
        if self._sign_in is not None and self._sign_in.problem is not None:
            return self._sign_in.problem
        kind = describe(error)  # The type's name, or a constant text of the system.
        return EntraError(f"the event hub {what} ({kind}): {self._fix()}", "unreachable")

    def _fix(self) -> str:
        role = "that the identity has the role Azure Event Hubs Data Receiver"
        way = role if self._sign_in else "the connection string"
        return f"check identity.event_hub.servers, topics, the network, and {way}"


def _context(settings: EventHubSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=settings.trust)
    except OSError as error:
        text = f"the CA of the event hub cannot be read ({describe(error)}): give PEM"
        raise SettingsError(text) from None
