"""Writes the log of a ledger into an export, page by page."""

from collections.abc import Callable
from typing import BinaryIO

from audit.ledger.log.export import EndLine, ExportLine, HeadLine, encode_line, leaf_line
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.leaves import payload_digest
from audit.ledger.log.verifier import Seen
from audit.ledger.store.log_export import walk
from audit.ledger.store.queries import Asking


async def export(
    ledger: Asking,
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
    async for page in walk(ledger, opening):
        lines = list(map(_line, page))
        file.write(b"".join(lines))
        heads += sum(isinstance(each, TreeHead) for each in page)
        leaves += sum(isinstance(each, Seen) for each in page)
        progress(leaves, opening.size - opening.first)
    end = EndLine(leaves=leaves, heads=heads)
    file.write(encode_line(end))
    return end


def _line(part: Seen | TreeHead) -> bytes:
    if isinstance(part, TreeHead):
        return encode_line(HeadLine(head=part))
    digest = part.digest
    if digest is None:
        digest = b"" if part.payload is None else payload_digest(part.payload)
    return encode_line(leaf_line(part.where, digest, part.payload, aside=part.aside))
