"""Paths of fields as a site's rules declare them, and the trees and types that they make."""

import re
from collections.abc import Iterable
from typing import Any, Final, TypedDict

from policies.bundle.format import Rule

_STEP: Final = re.compile(
    r"(?:^|\.)([A-Za-z_][A-Za-z0-9_-]*)|\['([^'\[\]\x00-\x1f\x7f]{1,316})'\]|(\[\])"
)
ITEMS: Final = "[]"

Tree = dict[str, Any]
"""Of steps; a step that ends a declared field has None."""


def steps_of(field: str) -> list[str]:
    """Give the steps of a field, `[]` for the elements of a list; none where it is no path."""
    steps, at = [], 0
    while at < len(field):
        found = _STEP.match(field, at)
        if found is None:
            return []
        steps.append(found[1] or found[2] or found[3])
        at = found.end()
    return steps if steps and steps[0] != ITEMS else []


def is_covered(field: str, declared: Iterable[str]) -> bool:
    """Say whether what was copied of an object by these declarations holds all of a field."""
    steps = steps_of(field)
    return any(steps[: len(outer)] == outer for outer in map(steps_of, declared) if outer)


def tree_of(fields: Iterable[str]) -> Tree:
    """Join fields: what contains another stands for both."""
    tree: Tree = {}
    for field in fields:
        *inner, last = steps_of(field)
        node = tree
        for step in inner:
            found = node.setdefault(step, {})
            if found is None:
                break
            node = found
        else:
            node[last] = None
    return tree


def shape_of(tree: Tree | None) -> Any:
    """Give the type of what a tree names: a value of another shape does not fit."""
    if tree is None:
        return Any
    if ITEMS in tree:
        return list[shape_of(tree[ITEMS])]  # type: ignore[misc]  # Made while it runs.
    steps = {step: shape_of(inner) | None for step, inner in tree.items()}
    return TypedDict("Shape", steps, total=False)  # type: ignore[operator]  # As above.


def schema_of(rules: Iterable[Rule]) -> dict[str, Any]:
    """Give the JSON Schema of all that these rules declare; a leaf may be anything."""
    fields = (field for rule in rules for field in rule.fields)
    return _SCHEMA_HEAD | _schema(tree_of(fields))


_SCHEMA_HEAD: Final = {"$schema": "http://json-schema.org/draft-07/schema#"}


def _schema(tree: Tree | None) -> dict[str, Any]:
    if tree is None:
        return {}
    if ITEMS in tree:
        return {"type": "array", "items": _schema(tree[ITEMS])}
    properties = {step: _schema(inner) for step, inner in sorted(tree.items())}
    return {"type": "object", "properties": properties, "additionalProperties": False}
