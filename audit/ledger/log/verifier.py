"""Verifies a log that goes by leaf by leaf: an export's, or a ledger's. Nothing else is needed.

It imports the standard library, msgspec, cryptography and the modules beside it, so that whoever
doubts the ledger can verify without it. Memory stays flat, however long the log is. An export may
be packed with gzip.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit.ledger.log.adoption import AdoptionCheck
from audit.ledger.log.anchor_check import AnchorComparison, AnchorReading, JudgeHead
from audit.ledger.log.export import (
    MOST_LINE,
    EndLine,
    ExportLine,
    HeadLine,
    LeafLine,
    Line,
    decode_line,
)
from audit.ledger.log.heads import TreeHead
from audit.ledger.log.keys import LogKeys, public_key
from audit.ledger.log.leaves import leaf_hash, leaf_header, payload_digest
from audit.ledger.log.merkle import Frontier, WholeSubtree, grow
from audit.ledger.log.problems import Flaw, Problem, RecordPlace, make_place_problem, make_problem
from audit.ledger.log.record_check import AHEAD_MS, RecordCheck
from audit.ledger.log.retention import RemovalCheck
from audit.ledger.records.frames import FrameKind
from core.base.errors import InvalidObjectError
from core.base.times import milliseconds_of

Progress = Callable[[int, int], None]
"""Told how many of how many records are verified."""

_BATCH: Final = 4096
"""Leaves that the tree grows by at once, where nothing asks for its root before."""

_MOST: Final = 1000
"""Problems that are kept of what the verifier itself sees; the first is what matters."""

_HOUR_MS: Final = 3_600_000

_GZIP: Final = b"\x1f\x8b"

_BUFFER: Final = 1024 * 1024

_EVERY: Final = 65_536
"""Lines between two calls of `progress`."""


@dataclass(frozen=True, slots=True)
class VerificationTerms:
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
class VerifierTrust:
    """By what a log is judged: what the reader has from elsewhere."""

    anchors: Sequence[AnchorReading] = ()
    keys: Sequence[Ed25519PublicKey] = ()
    """Without any, those are trusted that the anchors name."""
    terms: VerificationTerms = VerificationTerms()


@dataclass(frozen=True, slots=True)
class PassingLeaf:
    """One leaf as it goes by."""

    where: RecordPlace
    payload: bytes | None
    digest: bytes | None
    """What is said of the payload, where anything is."""
    aside: bool = False


class Verifier:
    """Takes the parts of a log in their order; `finish` says what is wrong with it."""

    def __init__(self, opening: ExportLine, trust: VerifierTrust) -> None:
        """Begin with the first line of the export, or what would be it.

        Raises:
            ValueError: a key of the first line is none.
        """
        terms = trust.terms
        self.opening = opening
        self.keys = LogKeys(trust.keys, map(public_key, opening.keys))
        self.readings = trust.anchors
        self.problems: list[Problem] = []
        self.heads = 0
        self.last_head: TreeHead | None = None
        self.contents = RecordCheck(terms.most_late_h * _HOUR_MS)
        self.removals = RemovalCheck(opening, self.keys, terms.keep_days)
        self.adoptions = AdoptionCheck()
        self.waiting = 0
        """Rows of an earlier release that are yet to be taken in, where a ledger is verified."""
        self.anchors = [
            AnchorComparison(each.name, iter(each), opening.log, self._judge_of(each))
            for each in trust.anchors
        ]
        self.whole: list[WholeSubtree] = []
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

    def leaf(self, seen: PassingLeaf) -> None:
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
            wrong = Flaw.FORK if self._is_fork(head) else Flaw.HEAD
            self._say(make_place_problem(wrong, f"{says} ({head.time})", head.size))
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
            self._say(make_problem(Flaw.FILE, says))
        if self.size != self.opening.size:
            says = f"its first line says that it ends before {self.opening.size:,}"
            self._say(
                make_place_problem(
                    Flaw.RANGE, f"{says}, and it ends before {self.size:,}", self.size
                )
            )
        for anchor, reading in zip(self.anchors, self.readings, strict=True):
            anchor.finish(self.size, whole=self._is_to_the_end(anchor))
            self.problems += reading.problems + anchor.problems
        for key in self.keys.untrusted(self._used):
            says = f"heads are signed with the key {key}, which no anchor has: it was replaced"
            self._say(make_problem(Flaw.KEY, says))
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
        return max((anchor.proven for anchor in self.vouching), default=0)

    @property
    def vouching(self) -> list[AnchorComparison]:
        """The anchors that prove something: timestamps do only for whoever has a key."""
        pairs = zip(self.anchors, self.readings, strict=True)
        return [anchor for anchor, reading in pairs if reading.vouches or self.keys.has_given]

    def _judge_of(self, reading: AnchorReading) -> JudgeHead:
        return self.keys.judge_anchored if reading.vouches else self.keys.judge

    def _is_to_the_end(self, anchor: AnchorComparison) -> bool:
        """Return whether the log must hold all that the anchor knows of."""
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
                self._say(make_problem(Flaw.RANGE, says))

    def _placed(self, where: RecordPlace) -> RecordPlace:
        """Return the leaf by the place that it has, which must be the one that it says."""
        if where.at == self.size + self._off:
            return where if not self._off else RecordPlace(self.size, *where.named)
        says = f"it says that it is at {where.at:,}, and stands at {self.size:,}"
        placed = RecordPlace(self.size, *where.named)
        self._say(make_problem(Flaw.POSITION, says, placed))
        self._off = where.at - self.size
        return placed

    def _digest(self, seen: PassingLeaf, where: RecordPlace) -> bytes:
        if seen.payload is None:
            return seen.digest or b""
        digest = payload_digest(seen.payload)
        if seen.digest is not None and digest != seen.digest:
            says = "its document is not the one that its leaf was made of"
            self._say(make_problem(Flaw.CHANGED, says, where))
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
            self._say(make_place_problem(Flaw.HEAD, says, head.size))
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
    """Return a time in milliseconds since the epoch; 0 where there is none."""
    return milliseconds_of(time) if time else 0


def _is_narrower(name: str, asked: str, made: str) -> bool:
    return _ms(made) > _ms(asked) if name == "since" else _ms(made) < _ms(asked)


class DamagedExportError(ValueError):
    """Bytes are no export; `line` says where they cease to be one."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        super().__init__(f"line {line}: {problem}")


def verify_export(path: Path, trust: VerifierTrust, progress: Progress) -> Verifier:
    """Verify the export in a file.

    Raises:
        InvalidObjectError: it is no export at all.
        OSError: it cannot be read.
    """
    with _opened(path) as file:
        lines = _lines(file)
        try:
            opening = _opening(next(lines, None))
            verifier = _begun(opening, trust)
        except ValueError as error:
            raise InvalidObjectError(str(path), "", str(error)) from None
        _feed(verifier, lines, progress)
    return verifier


def _opening(line: Line | None) -> ExportLine:
    if not isinstance(line, ExportLine):
        raise DamagedExportError(1, "it is not the first line of an export")
    return line


def _begun(opening: ExportLine, trust: VerifierTrust) -> Verifier:
    try:
        return Verifier(opening, trust)
    except ValueError as error:
        raise DamagedExportError(1, str(error)) from None


def _feed(verifier: Verifier, lines: Iterator[Line], progress: Progress) -> None:
    """Feed the verifier all lines after the first."""
    end: EndLine | None = None
    try:
        for number, line in enumerate(lines, 2):
            _demand_place(line, end, number)
            if isinstance(line, LeafLine):
                verifier.leaf(_seen(line, number))
            elif isinstance(line, HeadLine):
                verifier.head(line.head)
            elif isinstance(line, EndLine):
                end = line
            if number % _EVERY == 0:
                progress(verifier.size - verifier.opening.first, verifier.opening.size)
    except DamagedExportError as error:
        says = f"{error}: what comes after it was not read"
        verifier.problems.append(make_place_problem(Flaw.FILE, says, verifier.size))
    if end is None:
        verifier.problems.append(
            make_problem(Flaw.FILE, "its last line is missing: it was cut short")
        )
        verifier.finish()
    else:
        verifier.finish(end.leaves, end.heads)


def _demand_place(line: Line, end: EndLine | None, number: int) -> None:
    if end is not None:
        raise DamagedExportError(number, "it stands after the last line")
    if isinstance(line, ExportLine):
        raise DamagedExportError(number, "a second export begins here")


def _seen(line: LeafLine, number: int) -> PassingLeaf:
    try:
        content = line.content
        digest = None if line.digest is None else _unhex("digest", line.digest)
        where = RecordPlace(line.at, line.kind, line.cluster, _unhex("id", line.id))
        is_leaf = (content is None) != (digest is None) and 0 <= line.kind <= 255  # noqa: PLR2004  A byte.
        if not is_leaf or len(where.id) > 255 or len(where.cluster.encode()) > 255:  # noqa: PLR2004
            raise ValueError("it is no leaf")  # noqa: TRY301  The same as what fails above.
    except ValueError as error:
        raise DamagedExportError(number, str(error)) from None
    return PassingLeaf(where, content, digest, line.aside)


def _unhex(field: str, text: str) -> bytes:
    """Return the bytes of lower-case hex digits: others may say the same, and are no export's."""
    content = bytes.fromhex(text)
    if content.hex() != text:
        raise ValueError(f"{field}: give lower-case hex digits and nothing else")
    return content


def _lines(file: BinaryIO) -> Iterator[Line]:
    """Yield each line; raises DamagedExportError at the first that is none."""
    number = 0
    try:
        while content := file.readline(MOST_LINE):
            number += 1
            yield decode_line(content)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DamagedExportError(number + 1, "its gzip is damaged") from None
    except DamagedExportError:
        raise
    except ValueError as error:
        raise DamagedExportError(number, str(error).partition(" - at")[0]) from None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb", buffering=_BUFFER) as file:
        begins = file.read(len(_GZIP))
        file.seek(0)
        if begins != _GZIP:
            yield file
            return
        with gzip.open(file, "rb") as unpacked:
            yield cast("BinaryIO", unpacked)
