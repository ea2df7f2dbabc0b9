"""Reads what an anchor keeps, line by line, and judges whether its lines follow on each other."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from audit.ledger.log.anchors import BEGINNING, FORMAT, AnchorLine, decode_line, line_digest
from audit.ledger.log.heads import TreeHead, decode_head
from audit.ledger.log.problems import Problem, Wrong, problem

_MOST_PROBLEMS: Final = 10


class AnchorReading:
    """The lines of one anchor; `problems` and `torn` are complete once it was read to its end.

    A line may also be a bare head (JSON): ConfigMaps keep those, and people who note heads.
    """

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
        """Give each line that can be read."""
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
            self.problems.append(problem(Wrong.ANCHOR, f"the anchor {self.name}: {says}"))


class NotedHeads(AnchorReading):
    """Heads that somebody noted, as sizes and roots in hex."""

    def __init__(self, heads: Sequence[tuple[int, str]]) -> None:
        """Take them in any order."""
        super().__init__("of heads that you noted", ())
        self._noted = sorted(heads)

    def __iter__(self) -> Iterator[AnchorLine]:
        """Give each as the line of an anchor without marks."""
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
