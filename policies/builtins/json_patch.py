"""`json.patch`: RFC 6902 as OPA reads it, sets included (OPA: topdown/json.go, edittree)."""

import re
from decimal import Decimal
from typing import Any, Final

from policies.builtins import arguments
from policies.builtins.arguments import type_name
from policies.builtins.values import Set, canonical, equal, key_of

_MOST_OPERATIONS: Final = 200
_MOST_CHARACTERS: Final = 65_536
_INDEX: Final = re.compile(r"-?[0-9]{1,18}")
_NOTHING: Final = object()
Path = list[Any]


def patch(value: Any, operations: Any) -> Any:
    """`json.patch`: a value, changed by operations one after the other."""
    steps = arguments.array(operations, 2)
    arguments.check_limit(len(steps), _MOST_OPERATIONS, "the number of operations")
    arguments.check_limit(len(canonical(value)), _MOST_CHARACTERS, "the size of a value to patch")
    copied = 0
    for step in steps:
        value, chunk = _apply(value, step)
        copied += len(canonical(chunk))
        arguments.check_limit(copied, _MOST_CHARACTERS, "the size of what is copied")
    if value is _NOTHING:
        raise ValueError("nothing is left of the value")
    return value


def _apply(value: Any, step: Any) -> tuple[Any, Any]:
    """Return the changed value, and what was copied: into itself, that doubles each time."""
    if not isinstance(step, dict):
        raise ValueError(  # noqa: TRY004  As all errors of arguments.
            "must be an array of JSON-Patch objects, but at least one element is not an object"
        )
    path, operation = _path(_given(step, "path")), _given(step, "op")
    chunk = None
    if operation == "add":
        value = _added(value, path, _given(step, "value"))
    elif operation == "remove":
        value = _removed(value, path)
    elif operation == "replace":
        value = _replaced(value, path, _given(step, "value"))
    elif operation in {"move", "copy"}:
        source = _path(_given(step, "from"))
        chunk = _at(value, source)
        value = _added(_removed(value, source) if operation == "move" else value, path, chunk)
    elif operation != "test":
        raise ValueError(f"unrecognized op: {str(operation)[:50]!r}")
    elif not equal(_at(value, path), _given(step, "value")):
        raise ValueError("test: the value is another")
    return value, chunk


def _given(step: dict[Any, Any], name: str) -> Any:
    if name not in step:
        raise ValueError(f"missing required attribute {name!r}")
    return step[name]


def _path(value: Any) -> Path:
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        raise ValueError(  # noqa: TRY004  As all errors of arguments.
            "operand 2 must be one of {set, array} containing string paths or array of path "
            f"segments but got {type_name(value)}"
        )
    if not value:
        return []
    parts = value.lstrip("/").split("/")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = _child(value, part)
    if value is _NOTHING:
        raise ValueError("the value was removed")
    return value


def _child(value: Any, part: Any) -> Any:
    if isinstance(value, dict) and key_of(part) in value:
        return value[key_of(part)]
    if isinstance(value, Set) and part in value:
        return part
    if isinstance(value, list):
        index = _index(value, part)
        if 0 <= index < len(value):
            return value[index]
    raise ValueError(f"path {str(part)[:100]!r} does not exist")


def _index(values: list[Any], part: Any) -> int:
    if part == "-" and isinstance(part, str):
        return len(values)
    if isinstance(part, str) and _INDEX.fullmatch(part):
        if part != "0" and part.startswith("0"):
            raise ValueError("leading zeros are not allowed in JSON paths")
        return int(part)
    whole = isinstance(part, (int, Decimal)) and not isinstance(part, bool)
    if whole and part == int(arguments.number(part, 2)):
        return int(part)
    raise ValueError("invalid type for indexing")


def _added(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    return _changed(value, path, lambda parent, part: _inserted(parent, part, new))


def _inserted(parent: Any, part: Any, new: Any) -> Any:
    if isinstance(parent, dict):
        return {**parent, key_of(part): new}
    if isinstance(parent, Set):
        if not equal(part, new):
            raise ValueError("a set's key does not equal the value to be inserted")
        return Set([*parent, new])
    if isinstance(parent, list):
        index = _index(parent, part)
        if not 0 <= index <= len(parent):
            raise ValueError("index for array insertion out of bounds")
        return [*parent[:index], new, *parent[index:]]
    raise ValueError(f"expected composite type, found {type_name(parent)}")


def _removed(value: Any, path: Path) -> Any:
    if not path:
        return _NOTHING
    return _changed(value, path, _without)


def _without(parent: Any, part: Any) -> Any:
    _child(parent, part)
    if isinstance(parent, dict):
        return {key: each for key, each in parent.items() if key != key_of(part)}
    if isinstance(parent, Set):
        return Set(each for each in parent if not equal(each, part))
    index = _index(parent, part)
    return [*parent[:index], *parent[index + 1 :]]


def _replaced(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    return _added(_removed(value, path), path, new)


def _changed(value: Any, path: Path, change: Any) -> Any:
    """Return a value in which the parent of a path's end is another.

    Nothing is changed in place.
    """
    parents = [value]
    for part in path[:-1]:
        parents.append(_child(parents[-1], part))
    made = change(parents.pop(), path[-1])
    for parent, part in zip(reversed(parents), reversed(path[:-1]), strict=True):
        if isinstance(parent, dict):
            made = {**parent, key_of(part): made}
        elif isinstance(parent, Set):
            made = Set([*(each for each in parent if not equal(each, part)), made])
        else:
            index = _index(parent, part)
            made = [*parent[:index], made, *parent[index + 1 :]]
    return made
