"""Kafka, and Azure Event Hubs by its protocol: each notice one message, a CloudEvent.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from aiokafka.errors import (  # type: ignore[import-untyped]
    KafkaError,
    MessageSizeTooLargeError,
)

from audit.notifications.cloud_events import MEDIA_TYPE, cloud_event
from audit.notifications.notice import Notice
from audit.notifications.secret_files import read_secret
from audit.notifications.sink import NoticeRefusedError, SinkAwayError
from audit.notifications.sinks.tls_socket import TlsServer
from network.error_texts import describe
from network.event_hubs import (
    CONNECTION_STRING_USER,
    EventHubTokens,
    producer_settings,
    scope_of,
    token_settings,
)

CONNECTION_STRING: Final = "connection-string"
_MECHANISMS: Final = {"plain": "PLAIN", "scram-sha-512": "SCRAM-SHA-512"}
_START_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class KafkaPlace:
    """Which topic, of which brokers, and how one gets in."""

    servers: tuple[str, ...]
    topic: str
    sign_in: str
    """`entra`, `connection-string`, `plain`, `scram-sha-512` or `certificate`."""
    trust: Path | None = None
    secrets: Path | None = None


class KafkaSink:
    """Sends to one topic over connections that it keeps, and makes anew after a failure."""

    most = 100

    def __init__(
        self, place: KafkaPlace, get_token: Callable[[str], Awaitable[str]] | None
    ) -> None:
        """Take the place and, for `entra`, what gives tokens; it raises SinkAwayError."""
        # It logs addresses, answers of brokers, and at times records.
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        self._place = place
        self._tokens = (
            EventHubTokens(get_token, scope_of(place.servers), SinkAwayError) if get_token else None
        )
        self._producer: AIOKafkaProducer | None = None

    def fitting(self, notices: Sequence[Notice]) -> int:
        """Return all; see `Sink`."""
        return len(notices)

    async def send(self, notices: Sequence[Notice]) -> None:
        """Send all; see `Sink`. Each is acknowledged by all replicas that are in step."""
        try:
            producer = self._producer or await self._start()
            sent = [
                await producer.send(
                    self._place.topic,
                    cloud_event(notice),
                    notice.id.encode(),
                    headers=[("content-type", MEDIA_TYPE.encode())],
                )
                for notice in notices
            ]
            await asyncio.gather(*sent)
        except MessageSizeTooLargeError:
            raise NoticeRefusedError("it is larger than the topic takes") from None
        except (KafkaError, OSError, ValueError, TimeoutError) as error:
            await self.close()
            raise self._failed(error) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close every connection."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaError, OSError):
                await producer.stop()

    async def _start(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(**self._options())
        self._producer = producer
        async with asyncio.timeout(_START_S):
            await producer.start()
        return producer

    def _options(self) -> dict[str, Any]:
        place = self._place
        host = place.servers[0].rpartition(":")[0]
        context = TlsServer(host, 0, place.trust, place.secrets).context()
        options = producer_settings(place.servers, context)
        if place.sign_in == "certificate":
            return options | {"security_protocol": "SSL"}
        if self._tokens is not None:
            return options | token_settings(self._tokens)
        assert place.secrets is not None  # noqa: S101  The settings demand it.
        if place.sign_in == CONNECTION_STRING:
            user, password = CONNECTION_STRING_USER, read_secret(place.secrets, CONNECTION_STRING)
        else:
            user = read_secret(place.secrets, "username")
            password = read_secret(place.secrets, "password")
        return options | {
            "sasl_mechanism": _MECHANISMS.get(place.sign_in, "PLAIN"),
            "sasl_plain_username": user,
            "sasl_plain_password": password,
        }

    def _failed(self, error: Exception) -> SinkAwayError:
        if self._tokens is not None and self._tokens.problem:
            return self._tokens.problem
        kind = describe(error)  # The type's name, or a constant text of the system.
        fix = "check servers, topic, the network, and what it signs in with"
        return SinkAwayError(f"the topic cannot be written to ({kind}): {fix}")
