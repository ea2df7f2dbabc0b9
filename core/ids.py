"""Decision ids: UUIDs that sort by time."""

import secrets
import uuid


def uuid7(unix_ms: int) -> str:
    """Make a UUID of version 7 (RFC 9562, section 5.7) for a time in ms since the epoch."""
    value = unix_ms << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))
