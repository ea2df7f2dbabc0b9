"""Functions of objects, sets, arrays and graphs (OPA: subset.go, casts.go, reachable.go)."""

import re
from decimal import Decimal
from math import isinf
from typing import Any, Final

from policies.builtins import arguments
from policies.builtins.rego_repr import order
from policies.builtins.values import Number, Set, canonical, equal, key_of

_MOST_STEPS: Final = 2000
_LONGEST_PATH: Final = 50
_MOST_NUMBERS: Final = 20_000
_NUMBER: Final = re.compile(
    r"[+-]?(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<exponent>[eE][+-]?[0-9]+)?"
)
_LONGEST_NUMBER: Final = 1000


def subset(whole: Any, part: Any) -> bool:
    """`object.subset`: whether one value lies in another, of its own kind."""
    if isinstance(whole, list) and isinstance(part, Set):
        return _set_in_array(whole, part)
    found = _same_kind(whole, part)
    if found is None:
        raise ValueError("both arguments object.subset must be of the same type or array and set")
    return found


def _same_kind(whole: Any, part: Any) -> bool | None:
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and _within(whole[key], each) for key, each in part.items())
    if isinstance(whole, Set) and isinstance(part, Set):
        return all(each in whole for each in part)
    if isinstance(whole, list) and isinstance(part, list):
        return _joined(part) in _joined(whole) if part else True
    return None


def _within(whole: Any, part: Any) -> bool:
    found = _same_kind(whole, part)
    return equal(whole, part) if found is None else found


def _joined(values: list[Any]) -> str:
    """Return the elements as lines; none of them has a line's end in it."""
    return "\n" + "".join(f"{canonical(each)}\n" for each in values)


def _set_in_array(whole: list[Any], part: Set) -> bool:
    """Count as OPA does: an element that is there twice counts twice."""
    missing = len(part)
    for each in whole:
        missing -= each in part
        if missing == 0:
            return True
    return False


def union_n(values: Any) -> dict[Any, Any]:
    """`object.union_n`: what comes later counts, and objects in one place become one."""
    found: dict[Any, Any] = {}
    for each in arguments.array(values, 1):
        found = _union(found, arguments.mapping(each, 1))
    return found


def _union(one: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    both = {
        key: _union(one[key], each)
        for key, each in other.items()
        if isinstance(each, dict) and isinstance(one.get(key), dict)
    }
    return one | other | both


def cast_array(value: Any) -> list[Any]:
    """`cast_array`: a set as an array, in order."""
    if isinstance(value, Set):
        return sorted(value, key=order)
    return arguments.array(value, 1)


def cast_set(value: Any) -> Set:
    """`cast_set`: an array as a set."""
    if isinstance(value, (list, Set)):
        return Set(value)
    raise arguments.must_be(1, "one of {set, array}", value)


def cast_string(value: Any) -> str:
    """`cast_string`: a string, or an error."""
    return arguments.text(value, 1)


def cast_object(value: Any) -> dict[Any, Any]:
    """`cast_object`: an object, or an error."""
    return arguments.mapping(value, 1)


def cast_boolean(value: Any) -> bool:
    """`cast_boolean`: a boolean, or an error."""
    if isinstance(value, bool):
        return value
    raise arguments.must_be(1, "boolean", value)


def cast_null(value: Any) -> None:
    """`cast_null`: null, or an error."""
    if value is not None:
        raise arguments.must_be(1, "null", value)


def to_number(value: Any) -> int | Decimal:
    """`to_number`: null and false are 0, true is 1; a text is the number that it is in decimals."""
    if value is None or isinstance(value, bool):
        return int(bool(value))
    if isinstance(value, (int, Decimal)):
        return value
    if not isinstance(value, str):
        raise arguments.must_be(1, "one of {null, boolean, number, string}", value)
    arguments.check_limit(len(value), _LONGEST_NUMBER, "the length of a number")
    parts = _NUMBER.fullmatch(value)
    if not parts or not (parts["whole"] or parts["fraction"]):
        raise ValueError(f"invalid number: {value[:100]}")
    if isinf(float(value)):
        raise ValueError(f"value out of range: {value[:100]}")
    # OPA counts and compares with `05` and `5.` as well, but cannot write them.
    text = ("-" if value.startswith("-") else "") + (parts["whole"].lstrip("0") or "0")
    text += "" if parts["fraction"] is None else f".{parts['fraction'] or 0}"
    found = Number(text + (parts["exponent"] or ""))
    arguments.number(found, 1)
    return int(text) if found.text.lstrip("-").isdigit() and text != "-0" else found


def range_step(first: Any, last: Any, step: Any) -> list[int]:
    """`numbers.range_step`: from one number to another, both included, up or down."""
    start, end, by = (arguments.big(each, at) for at, each in enumerate((first, last, step), 1))
    if by <= 0:
        raise ValueError("numbers.range_step: step must be a positive integer")
    arguments.check_limit(abs(end - start) // by, _MOST_NUMBERS, "the number of numbers")
    return list(range(start, end + 1, by) if start <= end else range(start, end - 1, -by))


def reachable_paths(graph: Any, initial: Any) -> Set:
    """`graph.reachable_paths`: every way through a graph, to its end or to where it comes again."""
    edges = arguments.mapping(graph, 1)
    if not isinstance(initial, (list, Set)):
        raise arguments.must_be(2, "one of {array, set}", initial)
    paths = _Paths(edges)
    for node in initial:
        key = key_of(node)
        if key in edges:
            nexts = _nodes(edges[key])
            for each in nexts:
                paths.follow(each, [node], frozenset([key]))
            if not nexts:
                paths.found.append([node])
    return Set(paths.found)


def _nodes(edges: Any) -> list[Any]:
    return list(edges) if isinstance(edges, (list, Set)) else []


class _Paths:
    def __init__(self, edges: dict[Any, Any]) -> None:
        self._edges = edges
        self._steps = 0
        self.found: list[list[Any]] = []

    def follow(self, node: Any, path: list[Any], passed: frozenset[Any]) -> None:
        self._steps += 1
        arguments.check_limit(self._steps, _MOST_STEPS, "the number of steps in a graph")
        arguments.check_limit(len(path), _LONGEST_PATH, "the length of a path")
        key = key_of(node)
        if key not in self._edges:
            self.found.append(path)
            return
        path, passed = [*path, node], passed | {key}
        nexts = _nodes(self._edges[key])
        if not nexts:
            self.found.append(path)
        for each in nexts:
            if key_of(each) in passed:
                self.found.append(path)
            else:
                self.follow(each, path, passed)
