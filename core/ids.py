"""Decision ids: UUIDs that sort by time."""

import secrets
import uuid


def uuid7(unix_ms: int, bits: int | None = None) -> str:
    """Make a UUID of version 7 (RFC 9562, section 5.7) for a time in ms since the epoch.

    `bits` are its 74 random bits, where they must be the same each time.
    """
    bits = secrets.randbits(74) if bits is None else bits
    value = unix_ms << 80 | 7 << 76 | bits >> 62 << 64 | 2 << 62 | bits & (1 << 62) - 1
    return str(uuid.UUID(int=value))
