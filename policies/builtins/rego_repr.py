"""How Rego's values look as text: `String()` of OPA's (v1/ast/term.go), and Go's quotes."""

from decimal import Decimal
from typing import Any, Final

from policies.builtins.values import Number, Set, of_key

_ESCAPES: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
}


def go_quote(text: str, mark: str = '"', *, ascii_only: bool = False) -> str:
    """Return a text in quotation marks, as Go's strconv.Quote does."""
    return mark + "".join(_quoted(each, mark, ascii_only=ascii_only) for each in text) + mark


def _quoted(character: str, mark: str, *, ascii_only: bool) -> str:
    if character == mark:
        return f"\\{mark}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if character.isprintable() and (code < 0x7F or not ascii_only):
        return character
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def rego_repr(value: Any) -> str:
    """Return a value as Rego writes it; members and keys in order."""
    if isinstance(value, str):
        return go_quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, Decimal)):
        return value.text if isinstance(value, Number) else str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(rego_repr, value)) + "]"
    if isinstance(value, Set):
        members = ", ".join(map(rego_repr, sorted(value, key=order)))
        return f"{{{members}}}" if members else "set()"
    return (
        "{" + ", ".join(f"{rego_repr(key)}: {rego_repr(each)}" for key, each in pairs(value)) + "}"
    )


def pairs(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the keys and values of an object, in order."""
    found = [(of_key(key), each) for key, each in value.items()]
    return sorted(found, key=lambda pair: order(pair[0]))


def order(value: Any) -> tuple[Any, ...]:
    """Return the sort key of a value: its type, then itself (v1/ast/compare.go)."""
    if value is None:
        return (0,)
    if isinstance(value, bool):
        return (1, value)
    if isinstance(value, (int, Decimal)):
        return (2, value)
    if isinstance(value, str):
        return (3, value)
    if isinstance(value, list):
        return (4, [order(each) for each in value])
    if isinstance(value, Set):
        return (6, sorted(order(each) for each in value))
    return (5, [(order(key), order(each)) for key, each in pairs(value)])
