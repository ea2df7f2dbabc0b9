"""`uuid.parse`: what is in a UUID (OPA: internal/uuid; github.com/google/uuid)."""

import re
from typing import Any, Final

from policies.builtins import arguments
from policies.builtins.values import UNDEFINED

_DASHED: Final = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE
)
_PLAIN: Final = re.compile(rb"[0-9a-f]{32}", re.IGNORECASE)
_URN: Final = b"urn:uuid:"
_EPOCH: Final = 122192928000000000
"""1970-01-01 in units of 100 ns since 1582-10-15."""

_DOMAINS: Final = {0: "Person", 1: "Group", 2: "Org"}


def parse(value: Any) -> Any:
    """`uuid.parse`: undefined for what is none."""
    content = _bytes(arguments.text(value, 1).encode())
    if content is None:
        return UNDEFINED
    version = content[6] >> 4
    found: dict[str, Any] = {"version": version, "variant": _variant(content[8])}
    if version in {1, 2}:
        node = content[10:]
        found["time"] = _nanoseconds(content)
        found["nodeid"] = node.hex("-")
        found["macvariables"] = _scope(node[0])
        found["clocksequence"] = int.from_bytes(content[8:10], "big") & 0x3FFF
    if version == 2:
        found["id"] = int.from_bytes(content[:4], "big")
        found["domain"] = _DOMAINS.get(content[9], f"Domain{content[9]}")
    return found


def _bytes(text: bytes) -> bytes | None:
    if len(text) == 45 and text[:9].lower() == _URN:
        text = text[9:]
    elif len(text) == 38:
        # Whatever it is put in: google/uuid looks at neither brace.
        text = text[1:-1]
    shape = _PLAIN if len(text) == 32 else _DASHED
    return bytes.fromhex(text.replace(b"-", b"").decode()) if shape.fullmatch(text) else None


def _variant(octet: int) -> str:
    if octet & 0xC0 == 0x80:
        return "RFC4122"
    if octet & 0xE0 == 0xC0:
        return "Microsoft"
    return "Future" if octet & 0xE0 == 0xE0 else "Reserved"


def _nanoseconds(content: bytes) -> int:
    low, middle, high = content[:4], content[4:6], content[6:8]
    ticks = (
        int.from_bytes(low, "big")
        | int.from_bytes(middle, "big") << 32
        | (int.from_bytes(high, "big") & 0x0FFF) << 48
    )
    # In 64 bits, as Go counts.
    return ((ticks - _EPOCH) * 100 + 2**63) % 2**64 - 2**63


def _scope(octet: int) -> str:
    place = "local" if octet & 0b10 else "global"
    return f"{place}:{'multicast' if octet & 0b01 else 'unicast'}"
