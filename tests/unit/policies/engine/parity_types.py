"""Values of the wrong types for both engines: where rules declare a field, and in projections."""

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice
from typing import Any, Final

from policies.engine.interface import ShownFields
from policies.projection.model import NO_POD
from policies.site.fields import DeclaredFields, steps_of
from tests.unit.policies.engine.parity import Case, examples, of_library

WRONG: Final = (None, True, -1.5, "junk", ["junk"], {"junk": "junk"})
"""Of each type one."""

_ITEMS: Final = "[]"

Place = tuple[str | int, ...]


def in_fields(reads: DeclaredFields, each: int, count: int) -> Iterator[Case]:
    """Yield an object of each kind with wrong values at each declared field, and on its way.

    `each` is how many of `WRONG` a field gets. Then come `count` examples with one of them anywhere
    in what rules see of them.
    """
    found = [*of_library(0, reads)]
    first = {case.shown.kind: case for case in reversed(found)}
    for kind in sorted(reads.kinds):
        case = first.get(kind) or replace(found[0], projection=NO_POD, shown=ShownFields(kind))
        for number, steps in enumerate(_on_the_way(reads, kind)):
            for wrong in islice(cycle(WRONG), number % len(WRONG), number % len(WRONG) + each):
                yield _with(case, _put(json.loads(case.shown.fields), steps, wrong))
    rng = random.Random(0)  # noqa: S311  Must repeat, need not be secret.
    for _ in range(count):
        case = rng.choice(found)
        yield _with(case, _changed(json.loads(case.shown.fields), rng))


def in_projections(count: int) -> Iterator[Case]:
    """Yield examples of the built-in rules with one of `WRONG` anywhere in their projections."""
    rng = random.Random(0)  # noqa: S311  As above.
    found = list(examples())
    for _ in range(count):
        case = rng.choice(found)
        projection = json.dumps(_changed(json.loads(case.projection), rng)).encode()
        yield replace(case, group="wrong types in projections", projection=projection)


def _with(case: Case, fields: Any) -> Case:
    shown = ShownFields(case.shown.kind, json.dumps(fields).encode())
    return replace(case, group="wrong types in declared fields", shown=shown)


def _on_the_way(reads: DeclaredFields, kind: str) -> list[tuple[str, ...]]:
    """Return the steps of each declared field of a kind, and of what it lies in."""
    declared = [tuple(steps_of(field)) for field in json.loads(reads.declared(kind))]
    return sorted({steps[:end] for steps in declared for end in range(1, len(steps) + 1)})


def _put(value: Any, steps: tuple[str, ...], wrong: Any) -> Any:
    """Return a value with a wrong one in all places of a field; what is not there yet is made."""
    if not steps:
        return copy.deepcopy(wrong)
    step, *rest = steps
    if step == _ITEMS:
        items = value if isinstance(value, list) and value else [{}]
        return [_put(item, tuple(rest), wrong) for item in items]
    inside = value if isinstance(value, dict) else {}
    return inside | {step: _put(inside.get(step), tuple(rest), wrong)}


def _changed(value: Any, rng: random.Random) -> Any:
    places = [*_places(value)]
    if not places:
        return value
    place = rng.choice(places)
    inside = value
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = copy.deepcopy(rng.choice(WRONG))
    return value


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    if place:
        yield place
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[step], (*place, step))
