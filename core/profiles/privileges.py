"""The grammar of privileges and patterns, and which pattern covers which privilege or pattern.

    privilege = segment *( "/" segment )
    pattern   = the same, where a segment "*" stands for one whole segment
                and a last segment "**" for one or more

A segment is made of `A-Za-z0-9._:-` and percent-encoded octets. Nothing else is special:
`volume/hostPath:ro/var/log` is four segments. Source: `docs/reference/privileges.md`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from core.base.errors import InvalidObjectError

ONE: Final = "*"
REST: Final = "**"

_END: Final = ""
"""Marks a node at which a pattern ends; no segment is empty."""

_MOST_KNOWN: Final = 4096
"""Privileges whose sets are remembered: an image repository is one, a port of the node another."""

_Tree = dict[str, "_Tree"]

_SEGMENT = re.compile(r"(?:[A-Za-z0-9._:-]|%[0-9A-F]{2})+")

_LONGEST_KNOWN: Final = 1024
"""No pattern is longer; what is looked up once and is longer is not worth the room."""

_UNSPELT: Final = "\0"
"""Stands for a segment that no pattern spells: only wildcards cover it."""


def validate_pattern(pattern: str, *, field: str, what: str = "profile") -> None:
    """Raise InvalidObjectError unless `pattern` follows the grammar above.

    `field` and `what` name the place in the message. A segment `.` or `..` is refused:
    privileges are made from cleaned paths and can never hold one.
    """
    segments = pattern.split("/")
    for position, segment in enumerate(segments):
        if segment == ONE or (segment == REST and position == len(segments) - 1):
            continue
        if segment == REST:
            raise InvalidObjectError(what, field, f'{pattern!r}: "**" may only stand last')
        if segment in {".", ".."} or not _SEGMENT.fullmatch(segment):
            raise InvalidObjectError(
                what,
                field,
                f"{pattern!r}: segment {segment!r} must be A-Z a-z 0-9 . _ : - or %XX, "
                'or "*" for one segment, or a last "**" for one or more',
            )


def covers(pattern: str, privilege: str) -> bool:
    """Return whether `pattern` covers `privilege`. Both must follow the grammar.

    >>> covers("volume/hostPath:ro/**", "volume/hostPath:ro/var/log")
    True
    >>> covers("host/port/*", "host/port")
    False
    """
    wanted = privilege.split("/")
    given = pattern.split("/")
    if given[-1] == REST:
        given.pop()
        if len(wanted) <= len(given):
            return False
    elif len(given) != len(wanted):
        return False
    return all(g in (ONE, w) for g, w in zip(given, wanted, strict=False))


def overlaps(first: str, second: str) -> bool:
    """Return whether two patterns cover a privilege that is the same.

    >>> overlaps("shared-volume/*", "shared-volume/user/*")
    False
    >>> overlaps("shared-volume/**", "shared-volume/user/*")
    True
    """
    ours, theirs = first.split("/"), second.split("/")
    for index, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if REST in {one, other}:
            return True
        if one != other and ONE not in {one, other}:
            return False
        if index + 1 in {len(ours), len(theirs)}:
            return len(ours) == len(theirs)
    return False


class PatternSet:
    """Many patterns, compiled: asking costs one look-up, or a step for each segment.

    Agrees with `covers` for every input (property test).
    """

    __slots__ = ("_exact", "_tree")

    def __init__(self, patterns: Iterable[str]) -> None:
        exact: set[str] = set()
        tree: _Tree = {}
        for pattern in patterns:
            if "*" not in pattern:
                exact.add(pattern)
                continue
            node = tree
            for segment in pattern.split("/"):
                node = node.setdefault(segment, {})
            node[_END] = {}
        self._exact = frozenset(exact)
        self._tree = tree

    def covers(self, privilege: str) -> bool:
        """Return whether any of the patterns covers `privilege`."""
        return privilege in self._exact or (bool(self._tree) and self._walk(privilege))

    def __iter__(self) -> Iterator[str]:
        """Yield each pattern once, in no order."""
        yield from self._exact
        yield from _spelled(self._tree)

    def _walk(self, privilege: str) -> bool:
        nodes = [self._tree]
        for segment in privilege.split("/"):
            if any(REST in node for node in nodes):
                return True
            nodes = [node[key] for node in nodes for key in {segment, ONE} if key in node]
            if not nodes:
                return False
        return any(_END in node for node in nodes)


class PatternIndex:
    """The patterns of many sets at once: one question tells every set that covers a privilege.

    Sets are bits: the first is 1, the second 2. A question costs what it costs one set, however
    many there are. Agrees with `covers` for every input (property test).
    """

    def __init__(self, sets: Iterable[PatternSet]) -> None:
        self._exact: dict[str, int] = {}
        self._root = _Node()
        self._known: dict[str, int] = {}
        for position, patterns in enumerate(sets):
            for pattern in patterns:
                self._add(pattern, 1 << position)

    def covering(self, privilege: str) -> int:
        """Return the bits of the sets that cover `privilege`."""
        if len(privilege) > _LONGEST_KNOWN:
            return self._exact.get(privilege, 0) | self._walk(privilege)
        known = self._known.get(privilege)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[privilege] = self._exact.get(privilege, 0) | self._walk(privilege)
        return known

    def _add(self, pattern: str, bit: int) -> None:
        if "*" not in pattern:
            self._exact[pattern] = self._exact.get(pattern, 0) | bit
            return
        node = self._root
        for segment in pattern.split("/"):
            node = node.below.setdefault(segment, _Node())
        node.ends |= bit

    def _walk(self, privilege: str) -> int:
        found, nodes = 0, [self._root]
        for segment in privilege.split("/"):
            further = []
            for node in nodes:
                if rest := node.below.get(REST):
                    found |= rest.ends
                further += [node.below[key] for key in {segment, ONE} if key in node.below]
            if not further:
                return found
            nodes = further
        for node in nodes:
            found |= node.ends
        return found


class _Node:
    """A segment of patterns: those that go on below it, and the bits of those that end here."""

    __slots__ = ("below", "ends")

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.ends = 0


def _spelled(tree: _Tree) -> Iterator[str]:
    for segment, below in tree.items():
        if _END in below:
            yield segment
        for rest in _spelled({key: node for key, node in below.items() if key != _END}):
            yield f"{segment}/{rest}"


def contains_pattern(patterns: PatternSet, pattern: str, longest: int) -> bool:
    """Return whether `patterns` cover all that `pattern` covers, one alone or several together.

    `longest` is the number of segments of the longest of `patterns`. Exact: a segment that no
    pattern spells, put for a wildcard, is covered by wildcards alone, and what they cover with
    it they cover with any other; beyond `longest` only a last `**` covers, and then any length.
    """
    segments = [_UNSPELT if segment == ONE else segment for segment in pattern.split("/")]
    if segments[-1] != REST:
        return patterns.covers("/".join(segments))
    given = segments[:-1]
    most = max(longest + 1 - len(given), 1)
    return all(
        patterns.covers("/".join(given + [_UNSPELT] * further)) for further in range(1, most + 1)
    )


def find_uncovered(patterns: Iterable[str], by: PatternSet) -> list[str]:
    """Return those of `patterns`, sorted and without what the others say too, that `by` lacks."""
    longest = _longest(by)
    return [p for p in reduce_patterns(patterns) if not contains_pattern(by, p, longest)]


def reduce_patterns(patterns: Iterable[str]) -> list[str]:
    """Return the patterns, sorted, without those that the others cover.

    >>> reduce_patterns(["host/port/80", "host/*/80", "host/**"])
    ['host/**']
    """
    kept = sorted(set(patterns))
    for pattern in list(kept):
        others = PatternSet(other for other in kept if other != pattern)
        if contains_pattern(others, pattern, _longest(others)):
            kept.remove(pattern)
    return kept


def _longest(patterns: PatternSet) -> int:
    return max((pattern.count("/") + 1 for pattern in patterns), default=0)
