"""The ledger that a report was read from: how large, which root, who signed it."""

from typing import Protocol

import msgspec

from audit.ledger.log.entries import LogState
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.verdict import Verdict
from audit.reports.attention import plural
from audit.reports.display_text import report_line
from audit.reports.model import LedgerState
from core.base.errors import LedgerError


class ReportedLog(Protocol):
    """What is asked of `audit.ledger.store.store.Store`."""

    async def log_state(self) -> LogState:
        """Return how far the log has come."""

    async def last_head(self) -> TreeHead | None:
        """Return the last head that was signed."""


async def read_ledger(log: ReportedLog) -> LedgerState:
    """Read it. What is stored later is not in a report that is made by it.

    Raises:
        LedgerError: the ledger does not answer.
    """
    state, head = await log.log_state(), await log.last_head()
    size, root = state.tree.size, state.tree.root.hex()
    if head is None:
        return LedgerState(
            log=state.id, size=size, root=root, status="none of them under a signed head yet"
        )
    return LedgerState(
        log=state.id,
        size=size,
        root=root,
        time=head.time,
        key=head.key,
        status=describe_head(size, root, head),
    )


def describe_head(size: int, root: str, head: TreeHead) -> str:
    """Say how the last signed head stands to the ledger as it was read. Pure."""
    if head.size > size:
        raise LedgerError("the signed head is of more entries than there are: verify the ledger")
    if head.size == size and head.root != root:
        return "ITS SIGNED HEAD IS OF ANOTHER LEDGER: run `sallyport ledger verify`"
    younger = size - head.size
    under = "all of them under a signed head"
    if younger:
        under = f"{younger:,} of them younger than the last signed head"
    return under


def add_verdict(state: LedgerState, verdict: Verdict, anchors: int) -> LedgerState:
    """Add what the verifier said of the ledger. Pure."""
    if not verdict.sound:
        found = len(verdict.problems) + verdict.more_problems
        first = f"; first: {report_line(verdict.problems[0].says)}" if verdict.problems else ""
        text = f"VERIFICATION FAILED: {plural(found, 'problem')}{first}"
    else:
        by = plural(anchors, "anchor")
        text = f"verified here against {by}, which proves {plural(verdict.anchored, 'record')}"
        if verdict.not_anchored:
            text += f"; {verdict.not_anchored:,} younger than that are not anchored yet"
    return msgspec.structs.replace(state, verdict=text, sound=verdict.sound)
