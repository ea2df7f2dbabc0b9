"""Verifies a ledger where it is: its log as an export's, and its rows against the log."""

from audit.ledger.log.export import ExportLine
from audit.ledger.log.export_reading import Progress
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.verifier import Seen, Trust, Verifier
from audit.ledger.store.log_append import TILE_LEVELS
from audit.ledger.store.log_export import walk
from audit.ledger.store.verification import Examined
from core.base.times import milliseconds_of


async def verify_ledger(
    ledger: Examined, opening: ExportLine, trust: Trust, progress: Progress
) -> Verifier:
    """Verify what `opening` names of a ledger.

    Raises:
        LedgerError: it cannot be read.
    """
    verifier = Verifier(opening, trust)
    verifier.keep_whole(TILE_LEVELS)
    async for page in walk(ledger, opening):
        for part in page:
            if isinstance(part, TreeHead):
                verifier.head(part)
            else:
                verifier.leaf(part)
        leaves = [part for part in page if isinstance(part, Seen)]
        verifier.problems += await ledger.disagreements(leaves)
        whole, verifier.whole = verifier.whole, []
        verifier.problems += await ledger.wrong_tiles(whole)
        progress(verifier.size - opening.first, opening.size - opening.first)
    verifier.finish()
    tree = verifier.tree
    verifier.problems += await ledger.wrong_tiles(verifier.whole)
    verifier.problems += await ledger.wrong_end(tree.size, b"".join(tree.hashes))
    verifier.problems += await ledger.strays()
    outside, waiting = await ledger.unplaced()
    if waiting and verifier.adoptions.is_open(milliseconds_of(opening.made)):
        verifier.waiting = waiting
    else:
        verifier.problems += outside
    return verifier
