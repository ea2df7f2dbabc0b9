"""`sallyport ledger prove` and `heads`: what the ledger can show of itself."""

import uuid
from pathlib import Path
from typing import Final

from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.ledger.log.entries import LogEntry
from audit.ledger.log.export import leaf_line
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.problems import RecordPlace, kind_name
from audit.ledger.log.proofs import FORMAT, ConsistencyProof, InclusionProof, Proof
from audit.ledger.store.queries import LedgerQueries
from cli.shared.ledger_keys import trusted_keys_of
from core.base.errors import LedgerError, SettingsError

_PAGE: Final = 10_000


async def make_proof(
    settings: Settings,
    identity: str | None,
    sizes: tuple[int | None, int | None],
    keys: tuple[Path, ...],
) -> Proof:
    """Prove that the record of an id is in the log; or that a head continues another.

    Raises:
        SettingsError: neither is asked for, or both.
        LedgerError: there is no such record or head, or the ledger cannot be read.
    """
    first, second = sizes
    if (identity is None) == (first is None):
        raise SettingsError("name the ID of a record, or --from SIZE of a head")
    told = trusted_keys_of(settings, keys)
    async with open_ledger(settings) as ledger:
        head = await find_head(ledger, second)
        if first is None:
            entry = await _entry(ledger, identity or "")
            return await _inclusion(ledger, entry, head, told)
        earlier = await find_head(ledger, first)
        if earlier.size > head.size:
            raise SettingsError("--from: it is larger than --to")
        path = await ledger.consistency(earlier.size, head.size)
        return ConsistencyProof(
            format=FORMAT,
            first=earlier,
            second=head,
            path=[each.hex() for each in path],
            keys=told,
        )


async def last_heads(settings: Settings, limit: int) -> list[TreeHead]:
    """Return the last heads, the newest first.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    async with open_ledger(settings) as ledger:
        found: list[TreeHead] = []
        after = -1
        while page := await ledger.heads(after, _PAGE):
            found = [*found, *page][-limit:]
            after = page[-1].size
        return found[::-1]


async def find_head(ledger: LedgerQueries, size: int | None) -> TreeHead:
    """Return the head of a size; None: the last one.

    Raises:
        LedgerError: there is none, or the ledger does not answer.
    """
    if size is None:
        found = await ledger.last_head()
        if found is None:
            raise LedgerError("it has no head yet: the auditor signs one each ledger.head_every_s")
        return found
    for head in await ledger.heads(size - 1, 1):
        if head.size == size:
            return head
    raise LedgerError(f"it has no head of {size:,} records: `sallyport ledger heads` lists them")


async def _entry(ledger: LedgerQueries, identity: str) -> LogEntry:
    try:
        key = uuid.UUID(identity).bytes
    except ValueError:
        raise SettingsError(f"{identity!r} is no id: give all of its digits") from None
    found = await ledger.located(key)
    if not found:
        raise LedgerError(f"it has no record {identity}")
    if len(found) > 1:
        named = ", ".join(f"{kind_name(each.kind)} of {each.cluster}" for each in found)
        raise LedgerError(f"several records have the id {identity}: {named}")
    return found[0]


async def _inclusion(
    ledger: LedgerQueries, entry: LogEntry, head: TreeHead, told: list[str]
) -> Proof:
    if entry.position >= head.size:
        raise LedgerError("it came after the last head: try again when the next one is signed")
    where = RecordPlace(entry.position, entry.kind, entry.cluster, entry.id)
    path = await ledger.inclusion(entry.position, head.size)
    return InclusionProof(
        format=FORMAT,
        leaf=leaf_line(where, entry.digest, entry.payload, aside=entry.aside),
        head=head,
        path=[each.hex() for each in path],
        keys=told,
    )
