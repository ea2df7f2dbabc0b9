"""Reads the ledger's last days, from which a process learns that has nothing saved."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import msgspec

from audit.ledger.store.decisions import Query
from core.base.errors import LedgerError

DAYS: Final = 30
"""The longest that a mean remembers is thirty days with acts (`audit.behaviour.rates`)."""

AGAIN_S: Final = 2.0

_PAGE: Final = 1000
_DAY_MS: Final = 86_400_000

Find = Callable[[Query], Awaitable[list[bytes]]]
"""Gives documents of a ledger, as `audit.ledger.store.Store.find` does."""


class _Identified(msgspec.Struct, frozen=True, gc=False):
    id: str


_DECODER: Final = msgspec.json.Decoder(_Identified)


async def pages(
    find: Find, now: float, on_problem: Callable[[LedgerError], None]
) -> AsyncIterator[list[bytes]]:
    """Give the documents of the last days until `now`, page by page, the oldest first.

    Where the ledger does not answer, it is asked again until it does; `on_problem` hears of it.
    """
    now_ms = int(now * 1000)
    query = Query(
        source="validate",
        since_ms=now_ms - DAYS * _DAY_MS,
        until_ms=now_ms,
        oldest_first=True,
        limit=_PAGE,
    )
    while True:
        try:
            page = await find(query)
        except LedgerError as error:
            on_problem(error)
            await asyncio.sleep(AGAIN_S)
            continue
        if not page:
            return
        yield page
        query = msgspec.structs.replace(query, after=_DECODER.decode(page[-1]).id)
