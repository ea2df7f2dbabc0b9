"""An Azure Resource Manager with the tokens of a fake Entra, and clients of it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from identity.clients.resource_manager import ManagerSettings, ResourceManager
from identity.clients.tokens import Tokens
from tests.harness.fakes.entra.entra import FakeEntra
from tests.harness.fakes.resource_manager import FakeResourceManager

T = TypeVar("T")


@contextmanager
def azure_in(folder: Path) -> Iterator[FakeResourceManager]:
    """Run both."""
    for name in ("entra", "arm"):
        (folder / name).mkdir()
    entra = FakeEntra(folder / "entra").start()
    manager = FakeResourceManager(entra, folder / "arm").start()
    try:
        yield manager
    finally:
        manager.stop()
        entra.stop()


async def asking(azure: FakeResourceManager, work: Callable[[ResourceManager], Awaitable[T]]) -> T:
    """Do something with a client."""
    settings = ManagerSettings(azure.site, azure.trust, rate_s=0.0)
    manager = ResourceManager(Tokens(azure.entra.poller_settings().sign_in), settings)
    try:
        return await work(manager)
    finally:
        await manager.close()
