"""An issuer of security events, and its keys."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from identity.clients.signing_keys import SigningKeys
from tests.harness.fakes.event_transmitter import Transmitter
from tests.unit.identity.clients.issuer import Clock, settings_of


@pytest.fixture
def clock() -> Clock:
    """The keys' clock."""
    return Clock()


@pytest.fixture
def transmitter(tmp_path: Path) -> Iterator[Transmitter]:
    """A site with the issuer's keys."""
    with Transmitter(tmp_path) as running:
        yield running


@pytest_asyncio.fixture
async def keys(transmitter: Transmitter, clock: Clock) -> AsyncIterator[SigningKeys]:
    """The issuer's keys, not fetched yet."""
    made = SigningKeys(settings_of(transmitter), clock)
    yield made
    await made.close()
