"""Async tests here run on uvloop, as the gate does, and most of them against one gate."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest_asyncio
import uvloop

from tests.unit.webhooks.gate import Gate, running_gate
from webhooks.limits import AppSettings


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run each async test once, on uvloop."""
    return {"uvloop": uvloop.new_event_loop}


@pytest_asyncio.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    """A gate that reads bodies of at most 100,000 bytes."""
    settings = AppSettings(max_body_bytes=100_000)
    async with running_gate(tmp_path, app_settings=settings) as running:
        yield running
