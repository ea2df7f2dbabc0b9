"""How Azure Event Hubs are read and written by the Kafka protocol: settings, sign-in and ends.

Source: Learn, "Recommended configurations for Apache Kafka clients" (Azure Event Hubs).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from aiokafka.abc import AbstractTokenProvider  # type: ignore[import-untyped]
from aiokafka.errors import KafkaConnectionError  # type: ignore[import-untyped]

from core.base.errors import SallyportError

CONNECTION_STRING_USER: Final = "$ConnectionString"
"""As which a connection string signs in (Event Hubs, "Apache Kafka endpoint")."""

_MOST_STRING: Final = 4096

_CONSUMING: Final[Mapping[str, Any]] = {
    "client_id": "sallyport",
    "enable_auto_commit": False,
    "auto_offset_reset": "earliest",
    "fetch_max_wait_ms": 500,
    "metadata_max_age_ms": 180_000,
    "connections_max_idle_ms": 180_000,
    "request_timeout_ms": 30_000,
    "security_protocol": "SASL_SSL",
}

_Problem = TypeVar("_Problem", bound=SallyportError)


class EventHubTokens(AbstractTokenProvider, Generic[_Problem]):  # type: ignore[misc]  # aiokafka has no types.
    """Gives aiokafka a token for each connection, and keeps why there is none.

    `get_token` raises errors of `problems` alone.
    """

    def __init__(
        self,
        get_token: Callable[[str], Awaitable[str]],
        scope: str,
        problems: type[_Problem],
    ) -> None:
        self.problem: _Problem | None = None
        self._get_token = get_token
        self._scope = scope
        self._problems = problems

    async def token(self) -> str:
        """Return a token; aiokafka goes on trying only after errors of its own."""
        try:
            found = await self._get_token(self._scope)
        except self._problems as error:
            self.problem = error
            raise KafkaConnectionError("no token") from None
        self.problem = None
        return found


def scope_of(servers: Sequence[str]) -> str:
    """Return what a token is asked for: `https://NAMESPACE.servicebus.windows.net/.default`."""
    return f"https://{servers[0].rpartition(':')[0]}/.default"


def consumer_settings(servers: Sequence[str], context: object, most_bytes: int) -> dict[str, Any]:
    """Return the settings of a consumer but for its group and how it gets in.

    `context` is the TLS context, `most_bytes` what one fetch brings.
    """
    brokers = {"bootstrap_servers": list(servers), "ssl_context": context}
    return {**_CONSUMING, **brokers, "fetch_max_bytes": most_bytes}


def producer_settings(servers: Sequence[str], context: object) -> dict[str, Any]:
    """Return the settings of a producer but for how it gets in; all replicas acknowledge."""
    return {
        "client_id": "sallyport",
        "bootstrap_servers": list(servers),
        "ssl_context": context,
        "acks": "all",
        "request_timeout_ms": 30_000,
        "metadata_max_age_ms": 180_000,
        "connections_max_idle_ms": 180_000,
        "security_protocol": "SASL_SSL",
    }


def token_settings(provider: object) -> dict[str, Any]:
    """Return the settings that sign in with tokens."""
    return {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_provider": provider}


def connection_string_settings(file: Path) -> dict[str, Any]:
    """Return the settings that sign in with a connection string, read anew: it may be renewed.

    Raises:
        OSError, UnicodeDecodeError: the file cannot be read.
    """
    with file.open(encoding="utf-8") as opened:
        password = opened.read(_MOST_STRING).strip()
    return {
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": CONNECTION_STRING_USER,
        "sasl_plain_password": password,
    }


async def stop_consumer(consumer: Any) -> None:
    """Close every connection, also where aiokafka 0.14 stops half-way."""
    stopping = asyncio.ensure_future(consumer.stop())
    await asyncio.wait({stopping})
    if stopping.cancelled() or stopping.exception() is not None:
        # It does where it cancels a fetch of its own that pauses.
        fetches = list(consumer._fetcher._pending_tasks) if consumer._fetcher else []  # noqa: SLF001
        for fetch in fetches:
            fetch.cancel()
        await asyncio.gather(*fetches, return_exceptions=True)
        await consumer._client.close()  # noqa: SLF001
