"""Values of Rego as Python has them, and how they go to a compiled policy and come from it.

Null, booleans, whole numbers, texts, lists, and objects whose keys are texts are Python's own;
other numbers are Decimal, so that no digit is lost. Sets and other keys have types of their own.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final, Self

import msgspec

_DEEPEST: Final = 100
"""Values in one another: more than an object of Kubernetes ever has."""

_SCALAR: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9.][0-9.eE+-]*|true|false|null', re.DOTALL)

_MOST_BYTES: Final = 128 * 1024
"""Of all arguments of a call: more than a rule sees of one field."""

UNDEFINED: Final = object()
"""What a function gives that has no answer, and is none the worse for it."""


class Number(Decimal):
    """A number that is not whole, or written as if it were not."""

    text: str
    """As it is written: OPA shows it so."""

    @property
    def json(self) -> str:
        """The same with a digit before its point, as JSON wants it."""
        sign, digits = ("-", self.text[1:]) if self.text.startswith("-") else ("", self.text)
        return f"{sign}0{digits}" if digits.startswith(".") else self.text

    def __new__(cls, text: str) -> Self:
        """Read it."""
        made = super().__new__(cls, text)
        made.text = text
        return made


_JSON: Final = msgspec.json.Decoder(float_hook=Number)


def _as_written(value: Any) -> Any:
    if isinstance(value, Number):
        return msgspec.Raw(value.json.encode())
    raise TypeError(type(value).__name__)


_ENCODER: Final = msgspec.json.Encoder(decimal_format="number", enc_hook=_as_written)


class Set:
    """A set of Rego's."""

    def __init__(self, members: Iterable[Any]) -> None:
        self._members = {canonical(member): member for member in members}

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members.values())

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, value: object) -> bool:
        return canonical(value) in self._members


class Key:
    """A key of an object that is no text."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._text = canonical(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


def key_of(value: Any) -> str | Key:
    """Return a value as a key of an object."""
    return value if isinstance(value, str) else Key(value)


def of_key(key: str | Key) -> Any:
    """Return the value that a key of an object is."""
    return key.value if isinstance(key, Key) else key


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are the same to Rego: 1 and 1.0 are, 1 and true are not."""
    return canonical(one) == canonical(other)


def canonical(value: Any, depth: int = 0) -> str:
    """Return a text that equal values share, and no others.

    Raises:
        ValueError: it is nested deeper than values may be.
    """
    _check_depth(depth)
    if isinstance(value, str):
        return json.dumps(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, Decimal)):
        return _number(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(each, depth + 1) for each in value) + "]"
    if isinstance(value, Set):
        return "<" + ",".join(sorted(canonical(each, depth + 1) for each in value)) + ">"
    pairs = (
        f"{canonical(of_key(key), depth + 1)}:{canonical(each, depth + 1)}"
        for key, each in value.items()
    )
    return "{" + ",".join(sorted(pairs)) + "}"


def _number(value: int | Decimal) -> str:
    sign, digits, exponent = Decimal(value).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    if not stripped:
        return "0"
    return f"{'-' if sign else ''}{stripped}e{int(exponent) + len(text) - len(stripped)}"


def _check_depth(depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError(f"a value is nested more than {_DEEPEST} deep")


def encode(value: Any) -> bytes:
    """Write a value as a policy reads it: JSON, and Rego's own words for what JSON has not."""
    try:
        return _ENCODER.encode(value)
    except TypeError:
        return _rego(value, 0).encode()


def _rego(value: Any, depth: int) -> str:
    _check_depth(depth)
    if isinstance(value, Set):
        members = ",".join(_rego(each, depth + 1) for each in value)
        return f"{{{members}}}" if members else "set()"
    if isinstance(value, list):
        return "[" + ",".join(_rego(each, depth + 1) for each in value) + "]"
    if isinstance(value, dict):
        pairs = (
            f"{_rego(of_key(key), depth + 1)}:{_rego(each, depth + 1)}"
            for key, each in value.items()
        )
        return "{" + ",".join(pairs) + "}"
    return _ENCODER.encode(value).decode()


def decode(text: bytes) -> Any:
    """Read a value as a policy writes it.

    Raises:
        ValueError: it is none, or nested deeper than values may be.
    """
    try:
        return _JSON.decode(text)
    except msgspec.DecodeError:
        return _Reader(text.decode()).whole()
    except RecursionError:
        raise ValueError(f"a value is nested more than {_DEEPEST} deep") from None


def ask(function: Callable[..., Any], arguments: Sequence[bytes]) -> bytes | None:
    """Call a function with values as a policy writes them; None where it has no answer.

    Raises:
        ValueError: the arguments are none that it takes.
    """
    if sum(map(len, arguments)) > _MOST_BYTES:
        raise ValueError(f"its arguments take more than {_MOST_BYTES} bytes")
    answer = function(*map(decode, arguments))
    return None if answer is UNDEFINED else encode(answer)


class _Reader:
    """Reads what JSON has not: sets, and keys that are no texts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> Any:
        value = self._value(0)
        if self._at != len(self._text):
            raise ValueError("a value of the policy's has an unknown shape")
        return value

    def _value(self, depth: int) -> Any:
        _check_depth(depth)
        if self._took("set()"):
            return Set(())
        if self._took("["):
            return self._until("]", depth)
        if self._took("{"):
            return self._braced(depth)
        found = _SCALAR.match(self._text, self._at)
        if not found:
            raise ValueError("a value of the policy's has an unknown shape")
        self._at = found.end()
        text = found.group()
        # Rego lets a number begin with its point.
        return Number(text) if text.lstrip("-").startswith(".") else _JSON.decode(text)

    def _until(self, end: str, depth: int) -> list[Any]:
        found: list[Any] = []
        while not self._took(end):
            found.append(self._value(depth + 1))
            self._took(",")
        return found

    def _braced(self, depth: int) -> Any:
        if self._took("}"):
            return {}
        first = self._value(depth + 1)
        if not self._took(":"):
            self._took(",")
            return Set([first, *self._until("}", depth)])
        made = {key_of(first): self._value(depth + 1)}
        while self._took(","):
            key = self._value(depth + 1)
            self._took(":")
            made[key_of(key)] = self._value(depth + 1)
        self._took("}")
        return made

    def _took(self, text: str) -> bool:
        """Pass over a text, and the space before it, if it is what comes next."""
        while self._text.startswith(" ", self._at):
            self._at += 1
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True
