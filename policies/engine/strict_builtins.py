"""Makes a compiled policy's own built-in functions end the evaluation where they fail.

OPA compiles its commonest functions into WebAssembly. One that fails on its arguments gives no
value there, and the policy goes on as if it had found nothing. So each gets a body that asks the
host where there is no value, and the host says whether that is an error, as OPA with
`strict-builtin-errors` would have it: docs/adr/0056-strict-built-ins.md.

`Functions` reads and writes no more of WebAssembly than that takes; the format is that of the
specification (webassembly.github.io/spec/core/binary).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Self

from core.base.errors import PolicyError
from policies.builtins.native import GUARDS, NATIVE, REPLACED, CallGuard

ASKED: Final[Mapping[int, str]] = {-at: name for at, name in enumerate(NATIVE, 1)}
"""By the number that the host is asked with: those that OPA gives its functions are above zero."""

_I32: Final = b"\x7f"
_GET, _TEE, _CALL, _CONST, _EQZ = b"\x20", b"\x22", b"\x10", b"\x41", b"\x45"
_IF, _ELSE, _END = b"\x04\x7f", b"\x05", b"\x0b"
_NO_LOCALS, _ONE_LOCAL = b"\x00", b"\x01\x01\x7f"
_KIND, _LENGTH, _TEXT = b"\x2d\x00\x00", b"\x28\x02\x04", b"\x28\x02\x08"
_A_TEXT, _A_SET = _CONST + b"\x04\x46", _CONST + b"\x07\x46"
"""Where OPA's wasm/src/value.h has what a value is, and a string's length and bytes."""

_FIRST, _SECOND = _GET + b"\x00", _GET + b"\x01"
_PUT, _BLOCK, _LOOP, _BR_IF, _DROP = b"\x21", b"\x02\x7f", b"\x03\x40", b"\x0d", b"\x1a"
_LESS, _PLUS = b"\x6b", b"\x6a"

_ALWAYS_THERE: Final = "opa_eval"

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


def make_strict(wasm: bytes) -> bytes:
    """Return the same policy with functions that ask the host where they have no value.

    Raises:
        PolicyError: it is no policy that OPA compiled, or its functions have no names.
    """
    found = Functions.read(wasm)
    if _ALWAYS_THERE not in found.names:
        raise PolicyError("its functions have no names: OPA did not compile it, or it was stripped")
    done = set()
    for number, name in ASKED.items():
        place = found.names.get(NATIVE[name])
        if place is None or place in done:
            continue  # It is called nowhere, or goes by two names.
        done.add(place)
        try:
            _change(found, place - len(found.imported), number, name)
        except (IndexError, ValueError) as error:
            message = f"its function {NATIVE[name]} is not OPA's: another OPA compiled it"
            raise PolicyError(message) from error
    return found.written()


def _change(found: Functions, at: int, number: int, name: str) -> None:
    """Replace the body of the module's `at`th own function."""
    if at < 0:
        raise IndexError(at)
    kind = found.kinds[at]
    signature = found.signatures[kind]
    ask = _ask(number, signature, found.imported)
    if name in REPLACED:
        found.bodies[at] = _NO_LOCALS + ask + _END
        return
    original = len(found.imported) + len(found.bodies)
    found.kinds.append(kind)
    found.bodies.append(found.bodies[at])
    count = len(signature.takes)
    guard = _guard(GUARDS[name], number_of(count)) if name in GUARDS else b""
    found.bodies[at] = _wrap(original, count, ask, guard)


def _guard(guard: CallGuard, local: bytes) -> bytes:
    """Push whether the host is asked at once; a local of the function is free for it."""
    if guard is CallGuard.EMPTY:  # Another value may seem empty: the host says then what is so.
        return _SECOND + _LENGTH + _EQZ
    if guard is CallGuard.SET:
        return _SECOND + _KIND + _A_SET
    # Bytes from the last to the first: at none left out of the block with 0, at a NUL on to 1.
    done = _const(0) + _GET + local + _EQZ + _BR_IF + b"\x01" + _DROP
    before = _GET + local + _const(1) + _LESS + _TEE + local
    turn = done + _FIRST + _TEXT + before + _PLUS + _KIND + _BR_IF + b"\x00"
    has_nul = _BLOCK + _LOOP + turn + _END + _const(1) + _END
    measured = _FIRST + _LENGTH + _PUT + local + has_nul
    return _FIRST + _KIND + _A_TEXT + _IF + measured + _ELSE + _const(0) + _END


def _ask(number: int, signature: Signature, imported: Sequence[str]) -> bytes:
    """Ask the host, as OPA's compiler does for a function that the host has."""
    if signature.takes.strip(_I32) or signature.gives != _I32:
        raise ValueError(signature)
    count = len(signature.takes)
    host = imported.index(f"opa_builtin{count}")
    return _const(number) + _const(0) + _parameters(count) + _CALL + number_of(host)


def _wrap(original: int, count: int, ask: bytes, guard: bytes) -> bytes:
    """Return its value; where it is none, or the guard holds, what the host says."""
    value = number_of(count)
    call = _parameters(count) + _CALL + number_of(original) + _TEE + value + _EQZ
    body = call + _IF + ask + _ELSE + _GET + value + _END
    if guard:
        body = guard + _IF + ask + _ELSE + body + _END
    return _ONE_LOCAL + body + _END


def _parameters(count: int) -> bytes:
    return b"".join(_GET + number_of(at) for at in range(count))


def _const(value: int) -> bytes:
    """Push a number between -8192 and 8191 (signed LEB128)."""
    return _CONST + bytes([value & 0x7F | 0x80, value >> 7 & 0x7F])
