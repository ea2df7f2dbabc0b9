"""Walks along the log of a ledger in pages, for verifiers, and writes it into an export.

What comes while it walks is not part of it: it ends where the log ended when it began.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import BinaryIO, Final

from audit.ledger.log.export import FORMAT, EndLine, ExportLine, HeadLine, encode_line, leaf_line
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.leaves import payload_digest
from audit.ledger.log.problems import RecordPlace
from audit.ledger.log.verifier import PassingLeaf
from audit.ledger.store.queries import LedgerQueries
from core.base.times import milli_text, milliseconds_of

_PAGE: Final = 2000
_HEADS: Final = 1000


async def make_opening(
    ledger: LedgerQueries,
    keys: Sequence[str],
    since_ms: int | None,
    until_ms: int | None,
    now_ms: int,
) -> ExportLine:
    """Return the first line of an export of what was stored from a time to another.

    It begins at the last head that is no younger than `since_ms`, and ends at the first that is
    no older than `until_ms` (milliseconds since the epoch): so all that was stored in between is
    in it. `keys` are base64 of raw public keys.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    state = await ledger.log_state()
    first, size = state.prefix.size, state.tree.size
    if since_ms is not None or until_ms is not None:
        async for head in _heads(ledger, first - 1, size):
            time_ms = milliseconds_of(head.time)
            if since_ms is not None and time_ms <= since_ms:
                first = head.size
            if until_ms is not None and time_ms >= until_ms:
                size = head.size
                break
    before = state.prefix if first == state.prefix.size else await ledger.frontier(first)
    return ExportLine(
        format=FORMAT,
        log=state.id,
        first=first,
        size=size,
        since="" if since_ms is None else milli_text(since_ms),
        until="" if until_ms is None else milli_text(until_ms),
        keys=list(keys),
        frontier=[each.hex() for each in before.hashes],
        made=milli_text(now_ms),
    )


async def walk_log(
    ledger: LedgerQueries, opening: ExportLine
) -> AsyncIterator[list[PassingLeaf | TreeHead]]:
    """Yield what an export holds after its first line: leaves, and heads where they belong.

    What is missing among the leaves is missing here.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    heads = _heads(ledger, opening.first - 1, opening.size)
    head = await anext(heads, None)
    after = opening.first - 1
    while True:
        entries = await ledger.entries(after, limit=_PAGE)
        page: list[PassingLeaf | TreeHead] = []
        for entry in entries:
            while head is not None and head.size <= entry.position:
                page.append(head)
                head = await anext(heads, None)
            if entry.position >= opening.size:
                break
            where = RecordPlace(entry.position, entry.kind, entry.cluster, entry.id)
            page.append(PassingLeaf(where, entry.payload, entry.digest, entry.aside))
        if not entries or entries[-1].position >= opening.size - 1:
            while head is not None:
                page.append(head)
                head = await anext(heads, None)
            yield page
            return
        yield page
        after = entries[-1].position


async def _heads(ledger: LedgerQueries, after: int, last: int) -> AsyncIterator[TreeHead]:
    """Yield heads of more than `after` records and at most `last`; several may be of one size."""
    seen: set[tuple[str, str]] = set()
    while page := await ledger.heads(after, _HEADS):
        for head in page:
            if head.size > last:
                return
            if (head.root, head.time) not in seen:
                yield head
        if len(page) < _HEADS or page[0].size == page[-1].size:
            return
        # Of the last size there may be more: they are asked for again.
        seen = {(head.root, head.time) for head in page if head.size == page[-1].size}
        after = page[-1].size - 1


async def write_export(
    ledger: LedgerQueries,
    opening: ExportLine,
    file: BinaryIO,
    progress: Callable[[int, int], None],
) -> EndLine:
    """Write an export; give its last line. What is wrong with the log is written as it is.

    Raises:
        LedgerError: the ledger cannot be read.
        OSError: the file cannot be written.
    """
    file.write(encode_line(opening))
    leaves = heads = 0
    async for page in walk_log(ledger, opening):
        lines = list(map(_line, page))
        file.write(b"".join(lines))
        heads += sum(isinstance(each, TreeHead) for each in page)
        leaves += sum(isinstance(each, PassingLeaf) for each in page)
        progress(leaves, opening.size - opening.first)
    end = EndLine(leaves=leaves, heads=heads)
    file.write(encode_line(end))
    return end


def _line(part: PassingLeaf | TreeHead) -> bytes:
    if isinstance(part, TreeHead):
        return encode_line(HeadLine(head=part))
    digest = part.digest
    if digest is None:
        digest = b"" if part.payload is None else payload_digest(part.payload)
    return encode_line(leaf_line(part.where, digest, part.payload, aside=part.aside))
