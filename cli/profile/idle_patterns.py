"""Patterns of a profile that cover nothing that any rule names: they are misspelt, or too short."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Final

from admission.fields.facts import UNKNOWN
from core.profiles.privileges import ONE, REST, overlaps
from policies.bundle.format import Rule

_NUMBERED: Final = ("shared-volume/user/", "shared-volume/group/")
"""Prefixes of privileges that end in a number, or in `any`."""


def find_idle_patterns(patterns: Iterable[str], rules: Mapping[str, Rule]) -> list[str]:
    """Return what to say of each pattern that covers nothing.

    Nothing of a bundle that does not say which privileges its rules name.
    """
    named = sorted({each for rule in rules.values() for each in rule.privileges})
    if not named:
        return []
    return [said for each in sorted(patterns) if (said := _said(each, named))]


def _said(pattern: str, named: list[str]) -> str:
    numbered = next((each for each in _NUMBERED if pattern.startswith(each)), None)
    if numbered is not None:
        last = pattern.removeprefix(numbered)
        is_number = last.isdecimal() and str(int(last)) == last
        if is_number or last in {"any", ONE, REST}:
            return ""
        return (
            f"no rule names a privilege that {pattern!r} covers: after {numbered} comes a number, "
            f"'any' or '{ONE}'"
        )
    if any(overlaps(pattern, each) for each in named):
        return ""
    if pattern == UNKNOWN:
        return (
            f"{pattern!r} is a rule and names no privilege: no profile covers a field that the "
            "gate does not know; ship a row (docs/operate/fields.md)"
        )
    near = _near(pattern, named)
    hint = f"; did you mean {near!r}?" if near else ": see docs/rules/index.md"
    return f"no rule names a privilege that {pattern!r} covers{hint}"


def _near(pattern: str, named: list[str]) -> str:
    tried = [pattern.replace("_", "-")]
    if pattern.endswith(f"/{ONE}"):
        tried.append(pattern.removesuffix(ONE) + REST)
    tried += difflib.get_close_matches(pattern, named, 1)
    return next((each for each in tried if any(overlaps(each, one) for one in named)), "")
