"""What a variable of Rego may stand for, as far as it comes from the input."""

from collections.abc import Iterable
from typing import Final, NamedTuple

ANY: Final = "*"
"""A step of a path whose name is computed, or an element of a list."""

Path = tuple[str, ...]

_DEEPEST: Final = 4
_MOST: Final = 200
"""Constants of one variable: more are taken for any."""


class InputPath(NamedTuple):
    """What lies at a path of the input."""

    path: Path


class Text(NamedTuple):
    """A constant."""

    text: str


class Items(NamedTuple):
    """A collection that the policy made, of any of these."""

    of: frozenset["InputPath | Text | Items"]


Atom = InputPath | Text | Items
Value = frozenset[Atom]
"""Any of them; empty for what does not come from the input."""

NOTHING: Final[Value] = frozenset()


def collection(values: Iterable[Value]) -> Value:
    """Return a collection of the values; one that lies too deep is spread."""
    joined: Value = frozenset().union(*values)
    if not joined:
        return NOTHING
    return joined if _depth(joined) >= _DEEPEST else frozenset({Items(joined)})


def _depth(value: Value) -> int:
    return max((1 + _depth(atom.of) for atom in value if isinstance(atom, Items)), default=0)


def step(value: Value, key: Value, *, constant: bool) -> Value:
    """Return what lies one step below: under the names that `key` may be, or under any."""
    names = sorted(atom.text for atom in key if isinstance(atom, Text)) if constant else []
    found: set[Atom] = set()
    for atom in value:
        if isinstance(atom, Items):
            found |= atom.of
        elif isinstance(atom, InputPath):
            found |= {InputPath((*atom.path, name)) for name in names[:_MOST] or [ANY]}
    return frozenset(found)


def only_constants(key: Value) -> bool:
    """Return whether a key is known to be one of some constants."""
    return bool(key) and len(key) <= _MOST and all(isinstance(atom, Text) for atom in key)


def places(value: Value) -> frozenset[Path]:
    """Return the paths that the value itself may stand for."""
    return frozenset(atom.path for atom in value if isinstance(atom, InputPath))


def whole(value: Value) -> frozenset[Path]:
    """Return all paths in it."""
    inner = (whole(atom.of) for atom in value if isinstance(atom, Items))
    return places(value).union(*inner)
