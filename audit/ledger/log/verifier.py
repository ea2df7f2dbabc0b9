"""Verifies a log that goes by leaf by leaf: an export's, or a ledger's. Nothing else is needed.

It imports the standard library, msgspec, cryptography and the modules beside it, so that whoever
doubts the ledger can verify without it. Memory stays flat, however long the log is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.ledger.log.adoptions import Adoptions
from audit.ledger.log.anchor_check import Comparison
from audit.ledger.log.anchor_reading import AnchorReading
from audit.ledger.log.export import ExportLine
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.keys import Keys, public_key
from audit.ledger.log.leaves import leaf_hash, leaf_header, payload_digest
from audit.ledger.log.merkle import Frontier, Whole, grow
from audit.ledger.log.problems import Problem, Where, Wrong, problem, stretch
from audit.ledger.log.record_check import AHEAD_MS, Contents
from audit.ledger.log.removals import Removals
from audit.ledger.records.frames import FrameKind
from core.base.times import milliseconds_of

_BATCH: Final = 4096
"""Leaves that the tree grows by at once, where nothing asks for its root before."""

_MOST: Final = 1000
"""Problems that are kept of what the verifier itself sees; the first is what matters."""

_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Terms:
    """What the reader knows, and the log cannot prove."""

    keep_days: int = 90
    """Records younger than this may not have been removed."""
    most_late_h: int = 72
    """Hours that a record may come late which only a spool can have kept."""
    since: str = ""
    """RFC 3339: from when on the export was asked for; empty for all."""
    until: str = ""
    now_ms: int = 0
    """By the reader's clock, milliseconds since the epoch: no head is of after it. 0: unknown."""


@dataclass(frozen=True, slots=True)
class Trust:
    """By what a log is judged: what the reader has from elsewhere."""

    anchors: Sequence[AnchorReading] = ()
    keys: Sequence[Ed25519PublicKey] = ()
    """Without any, those are trusted that the anchors name."""
    terms: Terms = Terms()


@dataclass(frozen=True, slots=True)
class Seen:
    """One leaf as it goes by."""

    where: Where
    payload: bytes | None
    digest: bytes | None
    """What is said of the payload, where anything is."""
    aside: bool = False


class Verifier:
    """Takes the parts of a log in their order; `finish` says what is wrong with it."""

    def __init__(self, opening: ExportLine, trust: Trust) -> None:
        """Begin with the first line of the export, or what would be it.

        Raises:
            ValueError: a key of the first line is none.
        """
        terms = trust.terms
        self.opening = opening
        self.keys = Keys(trust.keys, map(public_key, opening.keys))
        self.readings = trust.anchors
        self.problems: list[Problem] = []
        self.heads = 0
        self.last_head: TreeHead | None = None
        self.contents = Contents(terms.most_late_h * _HOUR_MS)
        self.removals = Removals(opening, self.keys, terms.keep_days)
        self.adoptions = Adoptions()
        self.waiting = 0
        """Rows of an earlier release that are yet to be taken in, where a ledger is verified."""
        self.anchors = [
            Comparison(each.name, iter(each), opening.log, self.keys.judge_anchored)
            for each in trust.anchors
        ]
        self.whole: list[Whole] = []
        """Subtrees that became whole, once `keep_whole` was called; whoever reads it empties it."""
        self._tile_levels = 0
        self._terms = terms
        self._tree = opening.before
        self._leaves: list[bytes] = []
        self._used: dict[str, None] = {}
        self._owed: list[TreeHead] = []
        """Heads that anchors have of this size, and the log itself not yet."""
        self._off = 0
        self._demand_range()
        for anchor in self.anchors:
            anchor.load(self.size)
            if anchor.first is not None and anchor.first.time:
                self.adoptions.begun(_ms(anchor.first.time))
        self._meet_heads()
        if opening.first and not opening.since:
            before = (_ms(each.before.time) for each in self.anchors if each.before)
            self.removals.prefix_missing(max(before, default=0))

    @property
    def size(self) -> int:
        """How many leaves the log has so far."""
        return self._tree.size + len(self._leaves)

    def leaf(self, seen: Seen) -> None:
        """Take the next leaf."""
        self._demand_owed()
        where = self._placed(seen.where)
        digest = self._digest(seen, where)
        hashed = leaf_hash(leaf_header(where.kind, where.cluster, where.id), digest)
        self._leaves.append(hashed)
        for anchor in self.anchors:
            anchor.leaf(where, hashed)
        adopted = self.adoptions.takes(where, aside=seen.aside)
        self.contents.leaf(where, seen.payload, aside=seen.aside, adopted=adopted)
        if seen.payload is None:
            self.removals.missing(where, aside=seen.aside)
        elif where.kind == FrameKind.RETENTION and not seen.aside:
            self.removals.retention(where, seen.payload)
        elif where.kind == FrameKind.ADOPTION and not seen.aside:
            self.adoptions.record(where, seen.payload)
        if any(anchor.next_size == self.size for anchor in self.anchors):
            self._meet_heads()
        if len(self._leaves) >= _BATCH:
            self._grow()

    def head(self, head: TreeHead) -> None:
        """Take a head that the ledger has, after the leaf that it ends with."""
        self.heads += 1
        self._used[head.key] = None
        says = self._judge_head(head)
        if says:
            wrong = Wrong.FORK if self._is_fork(head) else Wrong.HEAD
            self._say(stretch(wrong, f"{says} ({head.time})", head.size))
            return
        self._owed = [each for each in self._owed if each != head]
        self._note_head(head)
        self.last_head = head

    def finish(self, leaves: int | None = None, heads: int | None = None) -> None:
        """Judge what can only be judged at the end; the counts are those of the last line."""
        self._demand_owed()
        counted = (self.size - self.opening.first, self.heads)
        if leaves is not None and (leaves, heads) != counted:
            says = f"its last line counts {leaves:,} records and {heads:,} heads"
            says += f", and there are {counted[0]:,} and {counted[1]:,}"
            self._say(problem(Wrong.FILE, says))
        if self.size != self.opening.size:
            says = f"its first line says that it ends before {self.opening.size:,}"
            self._say(stretch(Wrong.RANGE, f"{says}, and it ends before {self.size:,}", self.size))
        for anchor, reading in zip(self.anchors, self.readings, strict=True):
            anchor.finish(self.size, whole=self._is_to_the_end(anchor))
            self.problems += reading.problems + anchor.problems
        for key in self.keys.untrusted(self._used):
            says = f"heads are signed with the key {key}, which no anchor has: it was replaced"
            self._say(problem(Wrong.KEY, says))
        self.problems += self.removals.judged() + self.contents.problems + self.adoptions.problems

    def keep_whole(self, levels: int) -> None:
        """Keep in `whole` the subtrees of every so many levels that become whole."""
        self._tile_levels = levels

    @property
    def tree(self) -> Frontier:
        """The tree of the leaves so far."""
        self._grow()
        return self._tree

    @property
    def anchored(self) -> int:
        """The size of the largest head that an anchor has and this log agrees with."""
        return max((anchor.proven for anchor in self.anchors), default=0)

    def _is_to_the_end(self, anchor: Comparison) -> bool:
        """Say whether the log must hold all that the anchor knows of."""
        until = self.opening.until
        return not until or (anchor.last is not None and 0 < _ms(anchor.last.time) <= _ms(until))

    def _demand_range(self) -> None:
        """Demand that the export is of the time that was asked for."""
        for name in ("since", "until"):
            asked, made = getattr(self._terms, name), getattr(self.opening, name)
            narrower = made and (not asked or _is_narrower(name, asked, made))
            if narrower:
                whole = f"you asked for {asked}" if asked else "all was asked for"
                says = f"it was made for {name} {made}, and {whole}"
                self._say(problem(Wrong.RANGE, says))

    def _placed(self, where: Where) -> Where:
        """Give the leaf by the place that it has, which must be the one that it says."""
        if where.at == self.size + self._off:
            return where if not self._off else Where(self.size, *where.named)
        says = f"it says that it is at {where.at:,}, and stands at {self.size:,}"
        placed = Where(self.size, *where.named)
        self._say(problem(Wrong.POSITION, says, placed))
        self._off = where.at - self.size
        return placed

    def _digest(self, seen: Seen, where: Where) -> bytes:
        if seen.payload is None:
            return seen.digest or b""
        digest = payload_digest(seen.payload)
        if seen.digest is not None and digest != seen.digest:
            says = "its document is not the one that its leaf was made of"
            self._say(problem(Wrong.CHANGED, says, where))
        return digest

    def _judge_head(self, head: TreeHead) -> str:
        named = f"the head of {head.size:,} records"
        if head.log != self.opening.log:
            return f"{named} is of another log, {head.log}"
        if says := self.keys.judge(head):
            return says
        if head.size != self.size:
            return f"{named} stands after {self.size:,}"
        if head.root != self._root().hex():
            return f"{named} has another root than these records"
        if 0 < self._terms.now_ms < _ms(head.time) - AHEAD_MS:
            return f"{named} is of a time that is yet to come"
        is_older = self.last_head is not None and _ms(head.time) < _ms(self.last_head.time)
        return f"{named} is older than the head before it" if is_older else ""

    def _is_fork(self, head: TreeHead) -> bool:
        last = self.last_head
        return last is not None and last.size == head.size and last.root != head.root

    def _note_head(self, head: TreeHead) -> None:
        if head.time:
            self.contents.head(_ms(head.time))
            self.removals.head(_ms(head.time))
            self.adoptions.head(_ms(head.time))

    def _meet_heads(self) -> None:
        """Compare the heads of anchors that have this size."""
        for anchor in self.anchors:
            if 0 <= anchor.next_size <= self.size:
                for head in anchor.grown(self.size, self._root):
                    self._note_head(head)
                    self._owed += [head] if head.key and self.size > self.opening.first else []

    def _demand_owed(self) -> None:
        """Demand that the log had each head that an anchor has: it is kept before it is sent."""
        for head in {each.size: each for each in self._owed}.values():
            says = f"its head of {head.size:,} records, of {head.time}, is gone, or is another"
            self._say(stretch(Wrong.HEAD, says, head.size))
        self._owed = []

    def _root(self) -> bytes:
        return self.tree.root

    def _grow(self) -> None:
        if self._leaves:
            self._tree, whole = grow(self._tree, self._leaves, self._tile_levels)
            self.whole += whole
            self._leaves = []

    def _say(self, found: Problem) -> None:
        if len(self.problems) < _MOST:
            self.problems.append(found)


def _ms(time: str) -> int:
    """Give a time in milliseconds since the epoch; 0 where there is none."""
    return milliseconds_of(time) if time else 0


def _is_narrower(name: str, asked: str, made: str) -> bool:
    return _ms(made) > _ms(asked) if name == "since" else _ms(made) < _ms(asked)
