"""Checks a log against one anchor: its lines follow on each other, its marks and heads agree."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from audit.ledger.log.anchors import BEGINNING, FORMAT, AnchorLine, decode_line, line_digest
from audit.ledger.log.heads import TreeHead, decode_head
from audit.ledger.log.leaves import MARK_BYTES
from audit.ledger.log.problems import Flaw, Problem, RecordPlace, make_place_problem, make_problem

WINDOW: Final = 256
"""Records that are looked at after the first that differs, to say what was done to it."""

UNKNOWN: Final = bytes(MARK_BYTES)
"""The mark of a leaf that was removed before the anchor was there."""

JudgeHead = Callable[[TreeHead], str]
"""Says what is wrong with a head's signature; empty where it is right."""

_MOST_PROBLEMS: Final = 10

_MOST_CHANGED: Final = 20

_ALIKE: Final = 4
"""Marks in a row that must agree again: 2^-128 by chance."""


class AnchorReading:
    """The lines of one anchor; `problems` and `torn` are complete once it was read to its end.

    A line may also be a bare head (JSON): ConfigMaps keep those, and people who note heads.
    """

    vouches = True
    """Whether its word alone is enough: the log is trusted so far, and the keys of its heads."""
    timestamped = ""
    """RFC 3339: when an authority saw its last head; empty where none did."""
    most_delay_seconds = 0
    """Seconds between the time that a head says and its timestamp: the most of all heads."""

    def __init__(self, name: str, lines: Iterable[bytes]) -> None:
        """Take the name that problems are told by, and lines with their ends."""
        self.name = name
        self.problems: list[Problem] = []
        self.torn = 0
        """Lines that a crash cut short while they were written."""
        self._lines = lines
        self._before = BEGINNING
        self._unread: tuple[int, str] | None = None
        self._has_lines = False

    def __iter__(self) -> Iterator[AnchorLine]:
        """Yield each line that can be read."""
        number = 0
        ended = True
        for number, raw in enumerate(self._lines, 1):
            content = raw.rstrip(b"\n")
            ended = raw.endswith(b"\n")
            if not content:
                continue
            try:
                line = _read(content)
            except ValueError as error:
                self._unread = self._unread or (number, str(error))
                continue
            self._judge(line, number)
            self._before = line_digest(content)
            yield line
        if self._unread and ended:
            self._say(f"line {self._unread[0]} cannot be read ({self._unread[1]})")
        elif self._unread:
            self.torn += 1
        if not number:
            self._say("it is empty")

    def _judge(self, line: AnchorLine, number: int) -> None:
        """Demand that a line follows on the last that could be read."""
        unread, self._unread = self._unread, None
        first, self._has_lines = not self._has_lines, True
        if not line.before or line.before == self._before:
            self.torn += unread is not None
        elif first and unread is None:
            self._say("its beginning is missing: the first line says that others stood before it")
        else:
            says = f"line {number} does not follow on the one before it"
            self._say(f"{says}: lines were changed, removed or put in")

    def _say(self, says: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(make_problem(Flaw.ANCHOR, f"the anchor {self.name}: {says}"))


class NotedHeads(AnchorReading):
    """Heads that somebody noted, as sizes and roots in hex."""

    def __init__(self, heads: Sequence[tuple[int, str]]) -> None:
        """Take them in any order."""
        super().__init__("of heads that you noted", ())
        self._noted = sorted(heads)

    def __iter__(self) -> Iterator[AnchorLine]:
        """Yield each as the line of an anchor without marks."""
        for size, root in self._noted:
            head = TreeHead(format=FORMAT, log="", size=size, root=root, time="", key="")
            yield AnchorLine(format=FORMAT, before="", first=size, head=head)


def _read(content: bytes) -> AnchorLine:
    try:
        return decode_line(content)
    except ValueError:
        try:
            head = decode_head(content)
        except ValueError:
            pass
        else:
            return AnchorLine(format=FORMAT, before="", first=head.size, head=head)
        raise


class AnchorComparison:
    """What one anchor says of the log that goes by."""

    def __init__(self, name: str, lines: Iterator[AnchorLine], log: str, judge: JudgeHead) -> None:
        """Take the anchor's name and lines, and the id of the log that is compared with it."""
        self.name = name
        self.problems: list[Problem] = []
        self.heads = 0
        """Heads that were compared with the log's root."""
        self.proven = 0
        """Size of the last head whose root the log has."""
        self.reached = 0
        """Size of the last head there is."""
        self.first: TreeHead | None = None
        self.last: TreeHead | None = None
        self.before: TreeHead | None = None
        """The last head that is smaller than where the log begins."""
        self._lines = lines
        self._log = log
        self._judge = judge
        self._marks, self._first, self._end = b"", 0, 0
        self._heads: deque[TreeHead] = deque()
        self._ours: list[tuple[bytes, RecordPlace]] = []
        self._theirs: list[bytes] = []
        self._changed = 0
        self._is_shifted = False
        self._is_done = False

    @property
    def next_size(self) -> int:
        """Size at which the log's root must be compared next; -1 for none that is known."""
        return self._heads[0].size if self._heads else -1

    def leaf(self, where: RecordPlace, leaf_hash: bytes) -> None:
        """Compare the mark of a leaf, in the order of positions."""
        at = where.at
        if at >= self._end and not self._is_done:
            self.load(at)
        mark = self._mark(at)
        if self._is_shifted or mark == UNKNOWN or not (mark or self._ours):
            return
        ours = leaf_hash[:MARK_BYTES]
        if self._ours or mark != ours:
            self._ours.append((ours, where))
            self._theirs += [mark] if mark else []
            if len(self._ours) > WINDOW:
                self._diagnose()

    def load(self, at: int) -> None:
        """Read on, to the marks of a position and a head that is larger than it."""
        while self._end <= at and not (self._heads and self._heads[-1].size > at):
            line = next(self._lines, None)
            if line is None:
                self._is_done = True
                return
            if marks := line.mark_bytes:
                self._marks, self._first = marks, line.first
                self._end = line.first + len(marks) // MARK_BYTES
            if line.head is not None:
                self._take(line.head)

    def grown(self, size: int, root: Callable[[], bytes]) -> list[TreeHead]:
        """Compare the heads of this size; give those that the log has."""
        same: list[TreeHead] = []
        while self._heads and self._heads[0].size <= size:
            head = self._heads.popleft()
            if head.size < size:
                self.before = head  # Of leaves that are not here: nobody can tell.
                continue
            self.heads += 1
            if head.root == root().hex():
                self.proven = size
                same.append(head)
            elif not self.problems and not self._ours:
                says = f"the anchor {self.name} has another root for {size:,} records"
                self._say(make_place_problem(Flaw.DIFFERS, says, self.proven, size))
        return same

    def finish(self, size: int, *, whole: bool) -> None:
        """Read the anchor to its end; with `whole`, the log must be as long as it says."""
        for at in range(size, size + WINDOW) if self._ours else ():
            self.load(at)
            self._theirs += [mark] if (mark := self._mark(at)) else []
        self._diagnose()
        for line in self._lines:
            if line.head is not None:
                self._take(line.head)
        if whole and self.reached > size:
            last = f" at {self.last.time}" if self.last and self.last.time else ""
            says = f"the anchor {self.name} knows {self.reached:,}{last}"
            says = f"{self.reached - size:,} records are missing at the end: {says}"
            self._say(make_place_problem(Flaw.TRUNCATED, says, size, self.reached))

    def _mark(self, at: int) -> bytes:
        """Return the anchor's mark of a position; empty where none is at hand."""
        start = (at - self._first) * MARK_BYTES
        return self._marks[start : start + MARK_BYTES] if start >= 0 else b""

    def _take(self, head: TreeHead) -> None:
        wrong = None
        if head.log and head.log != self._log:
            says = f"is of the log {head.log}, and this is {self._log}"
            wrong = make_problem(Flaw.KEY, f"the anchor {self.name} {says}")
        elif says := self._judge(head):
            wrong = make_problem(Flaw.KEY, f"the anchor {self.name}: {says}")
        elif head.size < self.reached:
            says = f"a head of {head.size:,} records follows on one of {self.reached:,}"
            wrong = make_problem(Flaw.ANCHOR, f"the anchor {self.name}: {says}")
        if wrong is not None:
            if all(each.wrong is not wrong.wrong for each in self.problems):
                self._say(wrong)
            return
        self.reached = head.size
        self.first = self.first or head
        self.last = head
        self._heads.append(head)

    def _diagnose(self) -> None:
        """Say what was done to the first record that differs, of what was seen since."""
        ours, self._ours = self._ours, []
        theirs, self._theirs = self._theirs, []
        if not ours:
            return
        if (found := _shift(ours, theirs, self.name)) is not None:
            self._say(found)
            self._is_shifted = True
            return
        moved = {mark for mark, _ in ours} & set(theirs)
        for (mark, where), theirs_mark in zip(ours, theirs, strict=False):
            if mark == theirs_mark:
                continue
            self._changed += 1
            if self._changed <= _MOST_CHANGED:
                says = "stands at another place" if mark in moved else "is not what was recorded"
                wrong = Flaw.MOVED if mark in moved else Flaw.CHANGED
                says = f"it {says}: the anchor {self.name} has another mark"
                self._say(make_problem(wrong, says, where))

    def _say(self, found: Problem) -> None:
        self.problems.append(found)


def _shift(ours: list[tuple[bytes, RecordPlace]], theirs: list[bytes], name: str) -> Problem | None:
    """Return the problem if records were removed or put in before the first, or all differ."""
    mine = [mark for mark, _ in ours]
    where = ours[0][1]
    agree = sum(one == other for one, other in zip(mine, theirs, strict=False))
    if agree >= min(_ALIKE, len(theirs) // 2 + 1) or sorted(mine) == sorted(theirs):
        return None
    for by in range(1, WINDOW):
        rest = theirs[by : by + _ALIKE]
        if rest and mine[: len(rest)] == rest:
            says = f"{_records(by)} missing before it, which the anchor {name} has here"
            return make_problem(Flaw.REMOVED, says, where)
        rest = mine[by : by + _ALIKE]
        if rest and theirs[: len(rest)] == rest:
            says = f"{_records(by)} put in, this first: the anchor {name} has none here"
            return make_problem(Flaw.INSERTED, says, where)
    if len(theirs) <= _ALIKE:
        return None
    says = f"from it on nothing is what was recorded, by the marks of the anchor {name}"
    return make_problem(Flaw.REWRITTEN, says, where)


def _records(count: int) -> str:
    return "1 record is" if count == 1 else f"{count} records are"
