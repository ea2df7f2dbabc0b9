"""`semver.*`: versions as semver.org orders them (OPA: internal/semver/semver.go)."""

import re
from typing import Any, Final

from core.base.safe_text import cut_after
from policies.builtins import arguments

_VERSION: Final = re.compile(
    r"v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?"
)
_IDENTIFIERS: Final = re.compile(r"[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*")
_LARGEST: Final = 2**63 - 1

Version = tuple[tuple[int, ...], str]


def compare(one: Any, other: Any) -> int:
    """`semver.compare`: -1, 0 or 1."""
    (core_a, pre_a), (core_b, pre_b) = (
        _parsed(value, position) for position, value in enumerate((one, other), 1)
    )
    if core_a != core_b:
        return 1 if core_a > core_b else -1
    if pre_a == pre_b:
        return 0
    if not pre_a or not pre_b:
        return -1 if pre_a else 1
    key_a, key_b = _key(pre_a), _key(pre_b)
    if key_a == key_b:
        # Numbers too large for OPA are equal to it; it then goes on to the next identifier.
        return 0
    return 1 if key_a > key_b else -1


def is_valid(value: Any) -> bool:
    """`semver.is_valid`: of anything."""
    return isinstance(value, str) and _read(value) is not None


def _parsed(value: Any, position: int) -> Version:
    read = _read(arguments.text(value, position))
    if read is None:
        shown = cut_after(value, 100)
        raise ValueError(f"operand {position}: string {shown} is not a valid SemVer")
    return read


def _read(text: str) -> Version | None:
    found = _VERSION.fullmatch(text)
    if not found:
        return None
    *core, pre, metadata = found.groups()
    numbers = tuple(int(each) if len(each) < 20 else _LARGEST + 1 for each in core)
    if max(numbers) > _LARGEST:
        return None
    if any(part and not _IDENTIFIERS.fullmatch(part) for part in (pre, metadata)):
        return None
    pre = pre or ""
    if any(each.isdigit() and len(each) > 1 and each[0] == "0" for each in pre.split(".")):
        return None
    return numbers, pre


def _key(pre: str) -> list[tuple[int, int, str]]:
    """Order identifiers: numbers before words; a list's beginning before the list."""
    return [
        (0, int(each) if len(each) < 20 else _LARGEST, "") if each.isdigit() else (1, 0, each)
        for each in pre.split(".")
    ]
