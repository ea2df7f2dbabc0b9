"""Resources that a container wants, as far as policies are told of them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from policies.projection.limits import MAX_NAME, bound, check_length

_ORDINARY: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources that every node has: not looked at."""

_LONGEST_QUANTITY: Final = 64
"""Characters of one that is remembered: real ones are shorter."""

_MOST_REMEMBERED: Final = 4096
"""Quantities: the same ones come with every Pod."""


def special_resources(limits: Mapping[str, str | int | float | None], path: str) -> tuple[str, ...]:
    """Return the resources that are wanted and that not every node has: hugepages, devices.

    Of these the API demands limits (ValidateContainerResourceRequirements in
    kubernetes/pkg/apis/core/validation): what is requested stands there too.

    Raises:
        InvalidObjectError: there are more than any real container wants, or one has a longer name.
    """
    if _ORDINARY.issuperset(limits):
        return ()
    found = [n for n in limits if n not in _ORDINARY and not is_nothing(limits[n])]
    if len(found) == 1 and len(found[0]) <= MAX_NAME:
        return tuple(found)
    field = f"{path}.resources.limits"
    bound(len(found), field)
    for name in found:
        check_length(name, field)
    return tuple(sorted(found))


def is_nothing(quantity: str | float | None) -> bool:
    """Return whether a quantity is absent or zero, in any spelling: 0, "0m", "0.0Gi", "0e3".

    Not by `core.kubernetes.quantities`, which refuses what is no quantity, takes what is below zero
    for zero and counts: here such a text asks for something.
    """
    if not isinstance(quantity, str):
        return not quantity
    known = len(quantity) <= _LONGEST_QUANTITY
    return _is_zero(quantity) if known else _is_zero.__wrapped__(quantity)


@lru_cache(_MOST_REMEMBERED)
def _is_zero(quantity: str) -> bool:
    number = quantity.strip().rstrip("KMGTPEinumk")
    return not number.lower().partition("e")[0].strip("+-0.")
