"""Which pattern covers all that another covers: the order in which profiles lie."""

from collections.abc import Iterable
from typing import Final

from core.profiles.privileges import ONE, REST, PatternSet

_UNSPELT: Final = "\0"
"""Stands for a segment that no pattern spells: only wildcards cover it."""


def contains(patterns: PatternSet, pattern: str, longest: int) -> bool:
    """Say whether `patterns` cover all that `pattern` covers, one alone or several together.

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


def uncovered(patterns: Iterable[str], by: PatternSet) -> list[str]:
    """Give those of `patterns`, sorted and without what the others say too, that `by` lacks."""
    longest = _longest(by)
    return [p for p in reduced(patterns) if not contains(by, p, longest)]


def reduced(patterns: Iterable[str]) -> list[str]:
    """Give the patterns, sorted, without those that the others cover.

    >>> reduced(["host/port/80", "host/*/80", "host/**"])
    ['host/**']
    """
    kept = sorted(set(patterns))
    for pattern in list(kept):
        others = PatternSet(other for other in kept if other != pattern)
        if contains(others, pattern, _longest(others)):
            kept.remove(pattern)
    return kept


def _longest(patterns: PatternSet) -> int:
    return max((pattern.count("/") + 1 for pattern in patterns), default=0)
