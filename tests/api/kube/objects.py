"""Objects that the tests make, and waiting for what they lead to."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Any

from core.base.errors import NotSyncedError

_numbers = itertools.count()


def new_name(stem: str) -> str:
    """Return a name that no other test uses."""
    return f"{stem}-{next(_numbers)}"


def profile(name: str, *privileges: str, **spec: Any) -> dict[str, Any]:
    """Return a ContainerProfile."""
    fields = {"rank": 500, "catalogue": 1, "privileges": list(privileges), **spec}
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "ContainerProfile",
        "metadata": {"name": name},
        "spec": fields,
    }


def is_answered(ask: Callable[[], object]) -> bool:
    """Return whether a cluster answers, and not that it has not been loaded."""
    try:
        ask()
    except NotSyncedError:
        return False
    return True


async def wait_for(condition: Callable[[], bool | Awaitable[bool]], timeout_s: float) -> float:
    """Wait until the condition holds and return the seconds that it took; fail after a while."""
    began = time.monotonic()
    while True:
        holds = condition()
        if holds is True or (not isinstance(holds, bool) and await holds):
            return time.monotonic() - began
        waited = time.monotonic() - began
        assert waited < timeout_s, f"not so after {waited:.1f} s"
        await asyncio.sleep(0.02)
