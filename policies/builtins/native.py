"""What the host says in place of a function that OPA compiled in, where that one says nothing.

docs/adr/0056-strict-built-ins.md says how a policy comes to ask for it.
"""

import enum
from collections.abc import Callable, Mapping
from typing import Any, Final

from policies.builtins import arguments, encoding, globs, networks, objects, regexes, strings
from policies.builtins.fallible import CAN_FAIL
from policies.builtins.values import UNDEFINED, Set

REPLACED: Final[Mapping[str, Callable[..., Any]]] = {
    "base64.decode": encoding.base64_decode,
    "base64.is_valid": encoding.base64_is_valid,
    "base64url.decode": encoding.base64url_decode,
    "glob.match": globs.match,
    "json.is_valid": encoding.json_is_valid,
    "json.marshal": lambda value: encoding.json_marshal_with_options(value, {}),
    "json.unmarshal": encoding.json_unmarshal,
    "net.cidr_contains": networks.contains,
    "net.cidr_intersects": networks.intersects,
    "net.cidr_overlap": networks.contains,
    "object.union_n": objects.union_n,
    "to_number": objects.to_number,
}
"""Which never run as OPA compiles them: they take for base64, JSON, a network, a number or an array
what is none, have `*` stop at a new line and IPv4 within IPv6 be another address, or write keys in
another order."""


class Guard(enum.Enum):
    """Of which argument the host is asked at once."""

    EMPTY = "empty"
    """Second, an empty text: compiled in, `replace` does not end, and `indexof` finds it."""
    NUL = "nul"
    """First, a text with a NUL: compiled in, an expression ends there."""
    SET = "set"
    """Second: compiled in, `concat` joins its members in another order."""


GUARDS: Final[Mapping[str, Guard]] = {
    "concat": Guard.SET,
    "indexof": Guard.EMPTY,
    "regex.find_all_string_submatch_n": Guard.NUL,
    "regex.match": Guard.NUL,
    "replace": Guard.EMPTY,
}


def without_value(name: str) -> Callable[..., Any]:
    """Give what is called in place of a function that has no value for its arguments.

    It has one, says that there is none, or raises ValueError where OPA's own function fails.
    """
    return REPLACED.get(name) or _OTHERS.get(name) or _failing(name)


def _failing(name: str) -> Callable[..., Any]:
    def fail(*given: Any) -> Any:
        kinds = ", ".join(map(arguments.type_name, given))
        on = f"; it fails on {CAN_FAIL[name]}" if name in CAN_FAIL else ""
        raise ValueError(f"it has no value for what it is given ({kinds}){on}")

    return fail


def _of_nothing(name: str) -> Callable[..., Any]:
    """Give what says that an empty list or set has none, and fails on everything else."""
    fail = _failing(name)

    def of(given: Any) -> Any:
        return UNDEFINED if isinstance(given, (list, Set)) and not len(given) else fail(given)

    return of


_OTHERS: Final[Mapping[str, Callable[..., Any]]] = {
    "concat": strings.concat,
    "max": _of_nothing("max"),
    "min": _of_nothing("min"),
    "regex.find_all_string_submatch_n": regexes.find_all_string_submatch_n,
    "regex.match": regexes.match,
    "replace": strings.replace,
}
