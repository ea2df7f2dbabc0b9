"""What someone with the ledger's key lets the ledger itself do, which then records it honestly."""

import datetime as dt
from collections.abc import Callable
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.problems import Flaw
from audit.ledger.store.store import Store
from audit.ledger.store.tables import log
from tests.unit.audit.ledger.log_verify.honest_ledgers import SIZE, Clock, decision, publish
from tests.unit.audit.ledger.log_verify.honest_log import DAY_MS
from tests.unit.audit.ledger.log_verify.tampered_rows import copied
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS


def _as_if_upgraded(connection: sa.Connection) -> None:
    """Put a row in as an earlier release would, and let the ledger take in such rows again."""
    copied(connection, position=None)
    connection.execute(sa.update(log).values(adopt_until_ms=NOW_MS + 9 * DAY_MS))


async def keep_a_day(store: Store, clock: Clock) -> None:
    """Let retention remove all but a day, two days later."""
    clock.now_ms = NOW_MS + 2 * DAY_MS
    await store.retain(1, dt.datetime.fromtimestamp(clock.now_ms / 1000, dt.UTC).date())
    await publish(store, None, clock.now_ms)


async def append_old(store: Store, clock: Clock) -> None:
    """Record a decision of nine days ago."""
    clock.now_ms = NOW_MS + 400_000
    await store.deliver(CLUSTER, [decision(9001, NOW_MS - 9 * DAY_MS)])
    await publish(store, None, clock.now_ms)


async def adopt_forged(store: Store, clock: Clock) -> None:
    """Let the ledger take rows in again, eight days later; it does so honestly."""
    with store._backend.engine.begin() as connection:  # noqa: SLF001  Past the ledger.
        _as_if_upgraded(connection)
    clock.now_ms = NOW_MS + 8 * DAY_MS
    assert await store.adopt() == 1
    await publish(store, None, clock.now_ms)


async def append_ahead(store: Store, clock: Clock) -> None:
    """Record decisions of the future, with the clock there and back."""
    clock.now_ms = NOW_MS + 40 * DAY_MS
    await store.deliver(CLUSTER, [decision(9002, clock.now_ms)])
    clock.now_ms = NOW_MS + 400_000
    await publish(store, None, clock.now_ms)


BY_STORE: Final[dict[str, tuple[Callable[[Store, Clock], Any], Flaw, int]]] = {
    "retention in which a day is kept": (keep_a_day, Flaw.RETENTION, SIZE),
    "a decision of nine days ago": (append_old, Flaw.BACK_DATED, SIZE),
    "a decision of the future": (append_ahead, Flaw.AHEAD, SIZE),
    "a row put in and adopted": (adopt_forged, Flaw.ADOPTED, SIZE),
}
