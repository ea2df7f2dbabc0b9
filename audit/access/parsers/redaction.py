"""Redacts texts of logs: signatures and names of people are never kept. Pure."""

import re
from typing import Any, Final, TypeVar

import msgspec

_T = TypeVar("_T", bound=msgspec.Struct)

MOST_EXTRA: Final = 16
"""Fields kept that this release does not know."""

MOST_VALUE: Final = 512
"""Characters kept of the value of one."""

_MOST_DEPTH: Final = 4
MOST_ITEMS: Final = 32
"""Items kept of a list."""

_SIGNATURE: Final = re.compile(
    r"(?<![a-z0-9])(sig|signature)(\s*=|%(?:25){0,4}3d)[^&\s\"'<>;]*", re.IGNORECASE
)
"""`sig=…` of a shared access signature, also where its `=` was encoded once or more."""

_ADDRESSED: Final = re.compile(r"[^\s@\"'<>,;:=/()]{1,128}@[^\s@\"'<>,;:=/()]{1,128}")
"""`someone@contoso.com`: a user principal name, or a mail address."""

_PERSONAL: Final = re.compile(
    r"upn|user_?-?name|unique_?-?name|display_?-?name|given_?-?name|sur_?-?name|family_?-?name"
    r"|principal_?-?name|preferred_?-?username|e-?mail|^name$|^caller$|name$",
    re.IGNORECASE,
)
"""Fields whose values name people. `name` at the end is too much rather than too little."""

_SECRET: Final = re.compile(
    r"sig$|signature|secret|password|token$|authorization$|cookie|access_?-?key|^key[12]?$",
    re.IGNORECASE,
)

_FIELD: Final = re.compile(
    r'"(?:[^"\\]{0,80}(?:upn|user_?name|unique_?name|display_?name|given_?name|surname|e-?mail)'
    r'[^"\\]{0,40}|name|caller)"(\s*:\s*)"(?:[^"\\]|\\.)*"?',
    re.IGNORECASE,
)

NUL: Final = "\x00"
_UNREADABLE: Final = "\N{REPLACEMENT CHARACTER}"

CUT: Final = "(cut)"
PERSON: Final = "(person)"


def scrub(text: str) -> str:
    """Return a text without signatures and without what looks like the name of an account.

    Nor has it a NUL, which no database takes in a text.
    """
    if NUL in text:
        text = text.replace(NUL, _UNREADABLE)
    if "=" in text or "%" in text:
        text = _SIGNATURE.sub(rf"\1={CUT}", text)
    return _ADDRESSED.sub(PERSON, text) if "@" in text else text


def strip_signatures(text: str) -> str:
    """Return a path without signatures: it may have been written where a query belongs. No NULs."""
    if NUL in text:
        text = text.replace(NUL, _UNREADABLE)
    return _SIGNATURE.sub(rf"\1={CUT}", text) if "=" in text or "%" in text else text


def scrub_document(document: _T, *but: str) -> _T:
    """Return a document whose every text is scrubbed, but for those of the fields named."""
    changed = {
        field.name: _scrubbed(value)
        for field in msgspec.structs.fields(document)
        if field.name not in but
        and isinstance(value := getattr(document, field.name), str | dict | list)
    }
    return msgspec.structs.replace(document, **changed)


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {scrub(name): _scrubbed(item) for name, item in value.items()}
    return [_scrubbed(item) for item in value] if isinstance(value, list) else value


def scrub_record(content: bytes, most: int) -> str:
    """Return the first characters of a record that cannot be read, without people and secrets."""
    text = content[: 4 * most].decode(errors="replace").replace(NUL, _UNREADABLE)
    text = _FIELD.sub(lambda found: f'"{PERSON}"{found[1]}"{PERSON}"', text)
    return scrub(text)[:most]


def is_personal(name: str) -> bool:
    """Return whether a field of this name holds the name of a person, or a secret."""
    return bool(_PERSONAL.search(name) or _SECRET.search(name))


def scrub_fields(fields: dict[str, Any], people: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return unknown fields as they may be kept: few, short, nobody's name, no secret.

    `people` are the names that the record itself gives; a text that has one is cut.
    """
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if len(found) == MOST_EXTRA:
            found["more"] = len(fields) - MOST_EXTRA
            break
        if not is_personal(name):
            found[_text(name, people)[:64]] = _bounded(_plain(value, people, _MOST_DEPTH))
    return found


def _bounded(value: Any) -> Any:
    if not isinstance(value, dict | list):
        return value
    content = msgspec.json.encode(value)
    return value if len(content) <= MOST_VALUE else content[:MOST_VALUE].decode(errors="ignore")


def _plain(value: Any, people: frozenset[str], depth: int) -> Any:
    if isinstance(value, str):
        return _text(value, people)[:MOST_VALUE]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(1 << 63) <= value < 1 << 63 else str(value)[:MOST_VALUE]
    if not isinstance(value, dict | list):
        return value
    if not depth:
        return CUT
    if isinstance(value, list):
        return [_plain(item, people, depth - 1) for item in value[:MOST_ITEMS]]
    return {
        _text(name, people)[:64]: _plain(item, people, depth - 1)
        for name, item in list(value.items())[:MOST_ITEMS]
        if not is_personal(name)
    }


def _text(text: str, people: frozenset[str]) -> str:
    cleaned = scrub(text)
    for name in people:
        if name and name in cleaned:
            cleaned = cleaned.replace(name, PERSON)
    return cleaned
