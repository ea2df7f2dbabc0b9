"""What the arguments of a built-in function must be; the words are OPA's (topdown/builtins).

Each raises ValueError where it is something else.
"""

from decimal import Decimal
from typing import Any, Final

from policies.builtins.values import Set

_LARGEST: Final = 2**63
_MOST_DIGITS: Final = 400
"""Of a number that is counted with; OPA's own counts with as many as there are."""


def type_name(value: Any) -> str:
    """Name the type of a value, as Rego's `type_name` does."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, Decimal)):
        return "number"
    names = {str: "string", list: "array", Set: "set", dict: "object"}
    return names.get(type(value), "any")


def must_be(position: int, wanted: str, value: Any) -> ValueError:
    """Make the error of an argument of another type; positions count from 1."""
    return ValueError(f"operand {position} must be {wanted} but got {type_name(value)}")


def text(value: Any, position: int) -> str:
    """Demand a string."""
    if isinstance(value, str):
        return value
    raise must_be(position, "string", value)


def array(value: Any, position: int) -> list[Any]:
    """Demand an array."""
    if isinstance(value, list):
        return value
    raise must_be(position, "array", value)


def mapping(value: Any, position: int) -> dict[Any, Any]:
    """Demand an object."""
    if isinstance(value, dict):
        return value
    raise must_be(position, "object", value)


def number(value: Any, position: int) -> int | Decimal:
    """Demand a number that can be counted with."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise must_be(position, "number", value)
    if abs(Decimal(value).adjusted()) > _MOST_DIGITS:
        raise ValueError(f"operand {position} has more than {_MOST_DIGITS} digits")
    return value


def whole(value: Any, position: int) -> int:
    """Demand a whole number of 64 bits, written without a point."""
    found = number(value, position)
    if not isinstance(found, int) or not -_LARGEST <= found < _LARGEST:
        raise ValueError(f"operand {position} must be integer number but got floating-point number")
    return found


def big(value: Any, position: int) -> int:
    """Demand a whole number of any size."""
    found = number(value, position)
    if isinstance(found, Decimal) and found != found.to_integral_value():
        raise ValueError(f"operand {position} must be integer number but got floating-point number")
    return int(found)


def texts(value: Any, position: int) -> list[str]:
    """Demand an array or a set of strings."""
    if not isinstance(value, (list, Set)):
        raise must_be(position, "one of {string, set, array}", value)
    found = list(value)
    for each in found:
        if not isinstance(each, str):
            wanted = "array or set of strings"
            raise must_be(position, wanted, each)
    return found


def check_limit(size: int, most: int, what: str) -> None:
    """Demand that work is bounded: nothing can interrupt a function of the host."""
    if size > most:
        raise ValueError(f"{what} is more than {most}, the most that is supplied here")
