"""Makes a compiled policy's own built-in functions end the evaluation where they fail.

OPA compiles its commonest functions into WebAssembly. One that fails on its arguments gives no
value there, and the policy goes on as if it had found nothing. So each gets a body that asks the
host where there is no value, and the host says whether that is an error, as OPA with
`strict-builtin-errors` would have it: docs/adr/0056-strict-built-ins.md.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from core.base.errors import PolicyError
from policies.builtins.native import GUARDS, NATIVE, REPLACED, CallGuard
from policies.engine.wasm_binary import Functions, Signature, number_of

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
