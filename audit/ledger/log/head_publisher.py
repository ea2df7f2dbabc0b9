"""Signs a head of the log at a steady beat, and brings it to the anchors with leaves' marks.

What cannot be signed or brought is logged loudly, counted, and tried again with the next beat.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from structlog.typing import FilteringBoundLogger

from audit.ledger.log.anchors import Anchor
from audit.ledger.log.entries import LogState
from audit.ledger.log.heads import TreeHead, key_id, sign_head
from audit.ledger.log.keys import make_key, read_key
from audit.ledger.log.leaves import MARK_BYTES, mark_of
from core.base.errors import LedgerError

_AT_ONCE: Final = 10_000
"""Leaves whose marks are asked for together; others use the ledger in between."""


class SignableLog(Protocol):
    """What is asked of the ledger."""

    async def log_state(self) -> LogState:
        """Return how far the log has come."""

    async def last_head(self) -> TreeHead | None:
        """Return the last head that was signed."""

    async def add_head(self, head: TreeHead) -> None:
        """Keep a signed head."""

    async def leaf_hashes(self, begin: int, end: int) -> list[bytes]:
        """Return the hashes of leaves from a position to before another."""


class HeadPublisher:
    """The heads of one ledger. One task at a time may use it."""

    def __init__(
        self,
        ledger: SignableLog,
        key: Path,
        anchors: Sequence[Anchor],
        logger: FilteringBoundLogger,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Note where the key is: it is read at each beat, so that it can be replaced."""
        self.state: LogState | None = None
        """Of the log, when it was last looked at."""
        self.head: TreeHead | None = None
        """The last one."""
        self.anchored: dict[str, int] = {anchor.name: 0 for anchor in anchors}
        """How many leaves each anchor has."""
        self.anchored_at: dict[str, float] = {}
        """Unix time at which each anchor last had the last head."""
        self.failures: Counter[str] = Counter({anchor.name: 0 for anchor in anchors})
        """By anchor; `signing` for heads that could not be signed."""
        self._ledger = ledger
        self._path = key
        self._anchors = anchors
        self._logger = logger
        self._clock = clock
        self._problems: dict[str, str] = {}

    async def beat(self) -> None:
        """Sign a head if the log has grown, and bring the last one to all anchors."""
        try:
            head = await self._last()
        except LedgerError as error:
            self._fail("signing", error)
            return
        self._problems.pop("signing", None)
        for anchor in self._anchors:
            try:
                await self._bring(anchor, head)
            except LedgerError as error:
                self._fail(anchor.name, error)
            else:
                self.anchored_at[anchor.name] = self._clock()
                if self._problems.pop(anchor.name, None):
                    self._logger.info("anchor reached again", anchor=anchor.name)

    async def _last(self) -> TreeHead | None:
        """Return the last head, signed now if the log is longer than the one before."""
        head = await self._ledger.last_head()
        state = await self._ledger.log_state()  # After it: another auditor may append and sign.
        self.state, self.head = state, head
        if state.tree.size > (head.size if head else 0):
            now_ms = int(self._clock() * 1000)
            key = self._key(head)
            self.head = sign_head(state.id, state.tree.size, state.tree.root, now_ms, key)
            await self._ledger.add_head(self.head)
        elif head is not None and head.size > state.tree.size:
            raise LedgerError(
                f"its last head is of {head.size} records, and it has only {state.tree.size}: what "
                "was recorded has gone; `sallyport ledger verify` says what"
            )
        return self.head

    def _key(self, before: TreeHead | None) -> Ed25519PrivateKey:
        """Return the key; it is made where nothing was signed yet."""
        key = read_key(self._path)
        if key is None and before is not None:
            raise LedgerError(
                f"ledger.signing_key: {self._path} is not there, and heads were signed with the "
                f"key {before.key}: restore it, or make another on purpose (`openssl genpkey "
                "-algorithm ed25519`)"
            )
        if key is None:
            key = make_key(self._path)
            name = key_id(key.public_key())
            self._logger.info("signing key made", path=str(self._path), key=name)
        return key

    async def _bring(self, anchor: Anchor, head: TreeHead | None) -> None:
        """Bring an anchor what it lacks.

        Raises:
            LedgerError: it does not take it, or has more than the ledger.
        """
        reached = self.anchored[anchor.name] = await anchor.reached()
        size = head.size if head else 0
        if reached > size:  # Another auditor may have signed and brought a later head meanwhile.
            head = await self._ledger.last_head()
            size = head.size if head else 0
        if reached > size:
            raise LedgerError(
                f"it has {reached} records of the ledger, whose last head has {size}: the ledger "
                "is another or an older one; `sallyport ledger verify` says more"
            )
        if head is None or reached == size:
            return
        marks = await self._marks(reached, size) if anchor.keeps_marks else b""
        await anchor.publish(head, marks)
        self.anchored[anchor.name] = size

    async def _marks(self, begin: int, end: int) -> bytes:
        """Return the marks of leaves; zeros for those that retention removed, which nobody has."""
        first = max(begin, self.state.prefix.size if self.state else 0)
        marks = bytearray((min(first, end) - begin) * MARK_BYTES)
        for start in range(first, end, _AT_ONCE):
            hashes = await self._ledger.leaf_hashes(start, min(start + _AT_ONCE, end))
            marks += b"".join(map(mark_of, hashes))
        return bytes(marks)

    def _fail(self, what: str, error: LedgerError) -> None:
        """Count a failure, and say it when it is another than before."""
        self.failures[what] += 1
        if self._problems.get(what) != str(error):
            self._problems[what] = str(error)
            event = "no head signed" if what == "signing" else "anchor not reached"
            self._logger.error(event, anchor=what, problem=str(error))
