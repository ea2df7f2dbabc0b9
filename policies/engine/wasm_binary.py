"""Reads and writes a compiled policy's functions: no more of WebAssembly than that takes.

The format is that of the specification (webassembly.github.io/spec/core/binary).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Self

from core.base.errors import PolicyError

_HEADER: Final = b"\0asm\1\0\0\0"
_CUSTOM, _TYPES, _IMPORTS, _FUNCTIONS, _CODE = 0, 1, 2, 3, 10
_NAMES: Final = "name"
_OF_FUNCTIONS: Final = 1
"""The part of the custom section `name` that names functions."""

_FUNCTION_TYPE: Final = 0x60
_A_FUNCTION, _A_MEMORY = 0, 2
_HAS_MOST: Final = 1
_MORE: Final = 0x80
_LONGEST_NUMBER: Final = 5
"""Bytes of a number of 32 bits, at most: all that are read here are such."""


class Signature(NamedTuple):
    """What a function takes and gives, each a byte that stands for a type."""

    takes: bytes
    gives: bytes


class Functions(NamedTuple):
    """The functions of a module. They are numbered: first those imported, then its own."""

    sections: Sequence[tuple[int, bytes]]
    signatures: Sequence[Signature]
    imported: Sequence[str]
    """The names of those that are imported."""
    kinds: list[int]
    """The signature of each of its own."""
    bodies: list[bytes]
    names: Mapping[str, int]
    """The number of each function that the module has a name for."""

    @classmethod
    def read(cls, wasm: bytes) -> Self:
        """Read them.

        Raises:
            PolicyError: it is no module, or has no functions of its own.
        """
        try:
            sections = list(_sections(wasm))
            contents = dict(reversed(sections))
            return cls(
                sections,
                _signatures(contents[_TYPES]),
                _imported(contents.get(_IMPORTS, b"\0")),
                _kinds(contents[_FUNCTIONS]),
                _bodies(contents[_CODE]),
                _names(sections),
            )
        except (IndexError, KeyError, UnicodeDecodeError) as error:
            raise PolicyError("it is no WebAssembly with functions of its own") from error

    def written(self) -> bytes:
        """Return the module with what `kinds` and `bodies` are now."""
        count = number_of
        kinds = count(len(self.kinds)) + b"".join(map(count, self.kinds))
        bodies = count(len(self.bodies)) + b"".join(map(_sized, self.bodies))
        changed = {_FUNCTIONS: kinds, _CODE: bodies}
        return _HEADER + b"".join(
            bytes([kind]) + _sized(changed.get(kind, content)) for kind, content in self.sections
        )


def number_of(value: int) -> bytes:
    """Write a number that is not below zero (LEB128)."""
    found = bytearray()
    while value >= _MORE:
        found.append(value & 0x7F | _MORE)
        value >>= 7
    return bytes([*found, value])


def _sized(content: bytes) -> bytes:
    return number_of(len(content)) + content


class _Reader:
    """Reads from the first byte on; past the last one it raises IndexError."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._content)

    def take(self, length: int) -> bytes:
        self._at += length
        if self._at > len(self._content):
            raise IndexError(self._at)
        return self._content[self._at - length : self._at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        found = 0
        for shift in range(0, _LONGEST_NUMBER * 7, 7):
            byte = self.byte()
            found |= (byte & 0x7F) << shift
            if byte < _MORE:
                return found
        raise IndexError(self._at)

    def part(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        return self.part().decode()


def _sections(wasm: bytes) -> Iterator[tuple[int, bytes]]:
    reader = _Reader(wasm)
    if reader.take(len(_HEADER)) != _HEADER:
        raise IndexError(0)
    while reader:
        yield reader.byte(), reader.part()


def _signatures(content: bytes) -> list[Signature]:
    reader = _Reader(content)
    found: list[Signature] = []
    for _ in range(reader.number()):
        if reader.byte() != _FUNCTION_TYPE:
            raise IndexError(len(found))
        found.append(Signature(reader.part(), reader.part()))
    return found


def _imported(content: bytes) -> list[str]:
    reader = _Reader(content)
    found: list[str] = []
    for _ in range(reader.number()):
        reader.part()
        name = reader.text()
        kind = reader.byte()
        if kind == _A_FUNCTION:
            found.append(name)
            reader.number()
        elif kind == _A_MEMORY:
            has_most = reader.byte() & _HAS_MOST
            reader.number()
            _ = has_most and reader.number()
        else:
            raise IndexError(kind)  # OPA's runtime imports nothing else.
    return found


def _kinds(content: bytes) -> list[int]:
    reader = _Reader(content)
    return [reader.number() for _ in range(reader.number())]


def _bodies(content: bytes) -> list[bytes]:
    reader = _Reader(content)
    return [reader.part() for _ in range(reader.number())]


def _names(sections: Sequence[tuple[int, bytes]]) -> dict[str, int]:
    for kind, content in sections:
        reader = _Reader(content)
        if kind != _CUSTOM or reader.text() != _NAMES:
            continue
        while reader:
            part, inside = reader.byte(), _Reader(reader.part())
            if part == _OF_FUNCTIONS:
                pairs = ((inside.number(), inside.text()) for _ in range(inside.number()))
                return {name: number for number, name in pairs}
    return {}
