"""Changes JSON as a tree, so that what comes out is nearly always JSON again.

Bytes changed at random are no JSON at all, which every reader refuses in the same place.
"""

import json
import random
from collections.abc import Callable
from typing import Any, Final

ODD_VALUES: Final[list[Any]] = [
    None, True, -1, 0, 2**31, 2**63, 2**64, 1e308, 1.5, "", "*", "/", "..", "\u0000", "\ud800",
    "x" * 300, [], {}, [[]], [None], {"": None}, "1Gi", "0x1", "%2F", "2026-01-01T00:00:00Z",
]  # fmt: skip
_MOST_LEVELS: Final = 60
_MOST_CHANGES: Final = 4
_MOST_GROWN: Final = 2000
"""Places of a tree that may still grow."""

Place = tuple[Any, Any]
"""A list or an object, and an index or a name in it."""


def mutate_json(
    data: bytes, most: int, seed: int, otherwise: Callable[[bytes, int], bytes]
) -> bytes:
    """Return the JSON changed in a few places; of what is none, what `otherwise` makes of it."""
    chance = random.Random(seed)  # noqa: S311  No secret is made of it.
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return otherwise(data, most)
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        value = _changed(value, chance, otherwise)
    try:
        made = json.dumps(value, separators=chance.choice([(",", ":"), (", ", ": ")])).encode()
    except (ValueError, RecursionError):
        return otherwise(data, most)
    return made if len(made) <= most else otherwise(data, most)


def _changed(value: Any, chance: random.Random, otherwise: Callable[[bytes, int], bytes]) -> Any:
    places = list(_places(value))
    if not places:
        return _copy(chance.choice(ODD_VALUES))
    holder, key = chance.choice(places)
    other_holder, other_key = chance.choice(places)
    grows = len(places) < _MOST_GROWN
    act = chance.randrange(6)
    if act == 0:
        del holder[key]
    elif act == 1:
        holder[key] = _copy(chance.choice(ODD_VALUES))
    elif act == 2 and grows:
        holder[key] = _copy(other_holder[other_key])
    elif act == 3 and grows and isinstance(holder, list):
        holder.extend(_copy(holder[key]) for _ in range(chance.choice([1, 8, 70])))
    elif act == 4 and isinstance(holder[key], str):
        text = otherwise(holder[key].encode("utf-8", "replace"), 400)
        holder[key] = text.decode("utf-8", "replace")
    elif isinstance(holder, dict):
        holder[chance.choice([str(other_key), key.upper(), key + "s"])] = _copy(holder[key])
    return value


def _copy(value: Any) -> Any:
    """Return a value of its own: a tree that holds one twice can hold itself, without end."""
    return json.loads(json.dumps(value))


def _places(value: Any) -> list[Place]:
    """Return every place of a tree, by levels."""
    found: list[Place] = []
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MOST_LEVELS):
        below = []
        for each in level:
            keys = list(each) if isinstance(each, dict) else range(len(each))
            for key in keys:
                found.append((each, key))
                if isinstance(each[key], dict | list):
                    below.append(each[key])
        level = below
        if not level:
            break
    return found
