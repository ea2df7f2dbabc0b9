"""Asks until the gate has heard who is at risk: it watches the snapshot."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from tests.api.people.risk.conftest import NAMESPACE
from tests.harness.programs.client import Answer, Client, Json, Outcome

SOON_S: Final = 60.0
_POLL_S: Final = 0.1


async def until(ask: Callable[[], Awaitable[Answer]], wanted: Callable[[Answer], bool]) -> Answer:
    """Return the first answer that is wanted.

    Raises:
        TimeoutError: none was within SOON_S; with the last.
    """
    deadline = time.monotonic() + SOON_S
    while not wanted(found := await ask()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"still {found.outcome}: {found.message or found.body}")
        await asyncio.sleep(_POLL_S)
    return found


async def refused(client: Client, item: Json) -> str:
    """Return the gate's words to who may not create an object."""
    found = await until(lambda: client.dry_run(item), lambda a: a.outcome is Outcome.DENIED)
    return found.message


async def admitted(client: Client, item: Json) -> Json:
    """Return an object as it would be stored."""
    found = await until(lambda: client.dry_run(item), lambda a: a.outcome is Outcome.ALLOWED)
    return found.body


async def enter(client: Client, name: str = "running") -> Answer:
    """Ask to enter a Pod; what the gate lets in fails later, without a node."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/exec"
    status, answer = await client.request("POST", path, parameters={"command": "id"})
    message = str(answer.get("message", answer))
    denied = status == HTTPStatus.FORBIDDEN and "admission webhook" in message
    return Answer(Outcome.DENIED if denied else Outcome.ALLOWED, message, answer)
