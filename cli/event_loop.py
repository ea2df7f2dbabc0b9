"""Runs the work of a command that asks a cluster, a ledger or a registry."""

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work, run in an event loop of its own."""
    import asyncio  # noqa: PLC0415 (keeps --help and completion quick)

    return asyncio.run(work)
