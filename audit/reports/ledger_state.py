"""The ledger that a report was read from: how large, which root, who signed it."""

from typing import Final

import msgspec

from audit.ledger.log.heads import TreeHead
from audit.ledger.log.verdict import Verdict
from audit.ledger.store.queries import LedgerQueries
from audit.reports.attention import plural
from audit.reports.display_text import report_line
from audit.reports.model import LedgerState
from core.base.errors import LedgerError, SettingsError

NEWEST: Final = "last"
"""Instead of `SIZE:ROOT`: the newest head that is signed."""

_ROOT_DIGITS: Final = 64
_SIZE_DIGITS: Final = 18

_WHOLE: Final = "all of them under a signed head"
_OTHER: Final = "ITS SIGNED HEAD IS OF ANOTHER LEDGER: run `sallyport ledger verify`"


async def read_ledger(log: LedgerQueries) -> LedgerState:
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
    status = describe_head(size, root, head)
    if (head.size, head.root) == (size, root):
        return _state_at(state.id, await _first_of(log, size) or head)
    return LedgerState(
        log=state.id, size=size, root=root, time=head.time, key=head.key, status=status
    )


async def read_ledger_at(log: LedgerQueries, wanted: str) -> LedgerState:
    """Read it as it was at a signed head, `SIZE:ROOT` or NEWEST.

    Raises:
        SettingsError: it is no head.
        LedgerError: the ledger has no such head, or does not answer; the message says what it has.
    """
    state, newest = await log.log_state(), await log.last_head()
    if newest is None:
        raise LedgerError(
            "--at-head: it has no signed head yet: the auditor signs one each ledger.head_every_s"
        )
    size, root = _parse_head(wanted) or (newest.size, newest.root)
    if size > state.tree.size:
        raise LedgerError(
            f"--at-head: it has {state.tree.size:,} entries, and not {size:,}: it is another "
            "ledger, or an older copy"
        )
    if size < state.prefix.size:
        raise LedgerError(
            f"--at-head: retention removed its first {state.prefix.size:,} entries whole: reports "
            f"of its first {size:,} cannot be made any more"
        )
    has = (await log.frontier(size)).root.hex()
    if has != root:
        raise LedgerError(
            f"--at-head: its root at {size:,} entries is {has}, and not {root}: it is another "
            "ledger, or was changed; `sallyport ledger verify --head` says more"
        )
    head = await _first_of(log, size)
    if head is None:
        raise LedgerError(
            f"--at-head: its root at {size:,} entries is that one, but no head of {size:,} is "
            f"signed: give one of `sallyport ledger heads`, such as {newest.size}:{newest.root}"
        )
    if head.root != root:
        raise LedgerError(f"--at-head: {_OTHER}")
    return _state_at(state.id, head)


async def _first_of(log: LedgerQueries, size: int) -> TreeHead | None:
    """Return the first head that was signed of a size: another auditor may sign one too."""
    found = await log.heads(size - 1, 1)
    return found[0] if found and found[0].size == size else None


def _state_at(log: str, head: TreeHead) -> LedgerState:
    return LedgerState(
        log=log,
        size=head.size,
        root=head.root,
        time=head.time,
        key=head.key,
        head=f"{head.size}:{head.root}",
        status=_WHOLE,
    )


def _parse_head(text: str) -> tuple[int, str] | None:
    if text == NEWEST:
        return None
    size, _, root = text.partition(":")
    is_root = len(root) == _ROOT_DIGITS and not root.strip("0123456789abcdef")
    if not (size.isdecimal() and size.isascii() and len(size) <= _SIZE_DIGITS and is_root):
        raise SettingsError(
            f"--at-head {text}: give SIZE:ROOT, as a report or `sallyport ledger heads` prints it, "
            f"or {NEWEST}"
        )
    return int(size), root


def describe_head(size: int, root: str, head: TreeHead) -> str:
    """Say how the last signed head stands to the ledger as it was read. Pure."""
    if head.size > size:
        raise LedgerError("the signed head is of more entries than there are: verify the ledger")
    if head.size == size and head.root != root:
        return _OTHER
    younger = size - head.size
    return f"{younger:,} of them younger than the last signed head" if younger else _WHOLE


def add_verdict(state: LedgerState, verdict: Verdict, anchors: int) -> LedgerState:
    """Add what the verifier said of the ledger, as far as the report's entries go. Pure."""
    if not verdict.sound:
        found = len(verdict.problems) + verdict.more_problems
        first = f"; first: {report_line(verdict.problems[0].says)}" if verdict.problems else ""
        text = f"VERIFICATION FAILED: {plural(found, 'problem')}{first}"
    else:
        by, proven = plural(anchors, "anchor"), min(verdict.anchored, state.size)
        text = f"verified here against {by}, which proves {plural(proven, 'record')}"
        younger = verdict.not_anchored - max(verdict.size - state.size, 0)
        if younger > 0:
            text += f"; {younger:,} younger than that are not anchored yet"
    return msgspec.structs.replace(state, verdict=text, sound=verdict.sound)
