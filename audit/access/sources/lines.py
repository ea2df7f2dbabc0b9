"""Lines of a blob as records. They are split when somebody looks: mostly another process does."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, overload

from audit.access.model.batch import MOST_RECORD, Record
from audit.access.sources.envelopes import parts_of, too_long, wraps

_BOM: Final = b"\xef\xbb\xbf"


class Lines(Sequence[Record]):
    """The records of whole lines; equal content gives equal records, in whatever process."""

    def __init__(self, content: bytes, name: str = "", at: int = 0) -> None:
        """Note the lines, and where they begin: the blob and its byte."""
        self.content = content
        self._name = name
        self._at = at

    def __iter__(self) -> Iterator[Record]:
        """Give the records; who wants but the first of them splits no more."""
        at = self._at
        begin, size = 0, len(self.content)
        while begin < size:
            end = self.content.find(b"\n", begin)
            end = size if end < 0 else end
            if end > begin:
                line = self.content[begin:end]
                if line != b"\r":
                    yield from records_of(line, f"{self._name}@{at + begin}")
            begin = end + 1

    def __len__(self) -> int:
        """Count the records: a line can wrap several."""
        return len(self._split)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        """Give records by their number."""
        return self._split[index]

    @cached_property
    def _split(self) -> list[Record]:
        return list(iter(self))  # Of itself, a list would ask for the length first.


def records_of(line: bytes, place: str, problem: str = "") -> Iterator[Record]:
    """Give the records of a line, or what is wrong with it."""
    line = line.removeprefix(_BOM)
    if problem:
        yield Record(line, place, problem)
    elif wraps(line):
        for part in parts_of(line):
            yield Record(part.raw, place, part.problem)
    else:
        yield Record(line, place, too_long(len(line)) if len(line) > MOST_RECORD else "")
