"""What columns hold: texts that are cut short, numbers that fit, days."""

from typing import Any, Final

from core.base.times import DAY_MS

Row = tuple[Any, ...]
"""In the order of a table's columns; of a table of the log, without the position, its last."""


MOST_TEXT: Final = 512
"""Characters of a text in a column. An entry of a PostgreSQL index holds 2704 bytes at most
(PostgreSQL 15, nbtree: BTMaxItemSize), and a character is at most 4."""

MOST_SMALL: Final = 2**31 - 1
MOST_LARGE: Final = 2**63 - 1

ID_BYTES: Final = 16
_UUID_VERSION: Final = 7
_UUID_LENGTH: Final = 36


def day_of(identity: bytes) -> int:
    """Return the day (since 1970-01-01, UTC) that a UUIDv7 holds."""
    return int.from_bytes(identity[:6]) // DAY_MS


def first_id(day: int) -> bytes:
    """Return the first id that a day can have."""
    return (day * DAY_MS << 80).to_bytes(ID_BYTES)


def column_text(text: str) -> str:
    """Return the text as a column holds it.

    Cut short, and without NUL, which PostgreSQL refuses.
    """
    return text if len(text) <= MOST_TEXT and "\0" not in text else _shorten(text)


def optional_text(text: str | None) -> str | None:
    """Return the text as a column holds it, if there is one."""
    return None if text is None else column_text(text)


def column_texts(*texts: str) -> tuple[str, ...]:
    """Return texts as columns hold them: mostly they are short, all together."""
    joined = "".join(texts)
    if len(joined) <= MOST_TEXT and "\0" not in joined:
        return texts
    return tuple(map(column_text, texts))


def column_number(number: int, most: int) -> int:
    """Return the number as a column holds it: no less than 0, and no more than fits."""
    return min(max(number, 0), most)


def is_uuid7(identity: bytes) -> bool:
    """Return whether these bytes are a UUID of version 7."""
    return len(identity) == ID_BYTES and identity[6] >> 4 == _UUID_VERSION


def uuid_text(identity: bytes) -> str:
    """Return a UUID as documents have it."""
    text = identity.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def uuid_bytes(text: str) -> bytes:
    """Return the 16 bytes of a UUID as documents have it.

    Raises:
        ValueError: it is none, or not written as `uuid_text` writes it.
    """
    digits = text.replace("-", "")
    identity = bytes.fromhex(digits)
    is_one = len(text) == _UUID_LENGTH and text[8:24:5] == "----" and len(identity) == ID_BYTES
    if not is_one or identity.hex() != digits:
        raise ValueError("the id is no UUID in lower case")
    return identity


def _shorten(text: str) -> str:
    return text[:MOST_TEXT].replace("\0", "\ufffd")
