"""What profiles, exceptions and BreakGlasses cover, as expressions that CEL can match. Pure.

Segments that hold a percent sign cannot be made in CEL, which writes `%` for each: an expression
takes it for any of them. So more may match than is covered, and never less.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from core.profiles.privileges import ONE, REST
from policies.backstop.rules import COVERED, UNCLEAR

ROOT: Final = "%2F"
"""The root of the node, the one encoded segment that CEL writes."""

_LONGEST: Final = 200
_END: Final = "@"
"""Stands between a privilege and the container that needs it."""


def expression(pattern: str) -> str:
    """Give the RE2 of one pattern, for a privilege up to the `@`.

    >>> expression("volume/hostPath:ro/var/log/**")
    'volume/hostPath:ro/var/log/[^@]+'
    """
    segments = pattern.split("/")
    written = [_segment(each) for each in segments if each != REST]
    return "/".join([*written, *(["[^@]+"] if segments[-1] == REST else [])])


def spellings(privilege: str) -> list[str]:
    """Give how CEL may write a privilege: its encoded segments stand as `%`."""
    segments = privilege.split("/")
    return sorted(
        {
            "/".join(UNCLEAR if _is_unclear(each) and each != kept else each for each in segments)
            for kept in ("", ROOT)
        }
    )


@lru_cache(4096)
def concerns(pattern: str) -> bool:
    """Say whether a pattern covers anything that the back-stop holds."""
    segments = pattern.split("/")
    return any(_meet(segments, held.split("/")) for each in COVERED for held in each.patterns)


def expressions(patterns: Iterable[str]) -> list[str]:
    """Give those of the patterns that matter, sorted, each once."""
    return sorted({expression(each) for each in patterns if concerns(each)})


def _segment(text: str) -> str:
    if text == ONE:
        return "[^/@]+"
    written = text.replace(".", "[.]")
    return f"(?:{UNCLEAR}|{written})" if _is_unclear(text) else written


def _is_unclear(text: str) -> bool:
    return "%" in text or len(text) > _LONGEST


def _meet(one: list[str], other: list[str]) -> bool:
    """Say whether some privilege is covered by both patterns."""
    if not one or not other:
        return not one and not other
    if REST in {one[0], other[0]}:
        return True
    same = one[0] == other[0] or ONE in {one[0], other[0]}
    return same and _meet(one[1:], other[1:])
