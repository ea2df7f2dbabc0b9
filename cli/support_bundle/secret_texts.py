"""What a secret looks like in a text that anybody may have written. Pure.

Each pattern is bounded, so that no text takes more than a time that grows with its length.
"""

import base64
import re
from collections.abc import Callable
from typing import Final

REMOVED: Final = "[removed]"

_HEADERS: Final = r"authorization|cookie"
_WORDS: Final = (
    r"password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|"
    r"private[_-]?key|signing[_-]?key|shared[_-]?access|signature|credential|connection[_-]?string|"
    rf"{_HEADERS}|dsn"
)
"""What a field or a variable that holds a secret is called."""
SECRET_KEY: Final = re.compile(_WORDS, re.IGNORECASE)
SECRET_FLAG: Final = re.compile(rf"(?i)--?[\w.-]{{0,64}}?(?:{_WORDS})[\w.-]{{0,64}}")
MOUNTED_FILE: Final = re.compile(r"/(etc|var|run)/[\w./-]{1,200}")

_KEPT: Final = r"(?!\\*[\"']?\[removed\])"
"""What was removed is not removed again, nor what stands after it."""
_QUOTED: Final = (
    r"\"(?:\\.|[^\"\\\r\n])*\"?|'(?:\\.|[^'\\\r\n])*'?|"
    r"\\\"(?:\\\\\\?.|(?!\\\")[^\r\n])*|\\'(?:\\\\\\?.|(?!\\')[^\r\n])*|"
    r"\\{2,}[\"'][^\"'\r\n]*"
)
"""To the closing quote, which may be escaped as the opening one is; else to the end of the line."""
_AFTER_KEY: Final = r"[\w-]{0,64}+\\*[\"']?\s{0,8}[=:]\s{0,8}+"

_HEADER: Final = re.compile(
    rf"(?i)((?:{_HEADERS}){_AFTER_KEY}){_KEPT}({_QUOTED}|[^\r\n]+)",
)
_QUOTED_HEADER: Final = re.compile(
    rf"(?i)((?P<quote>[\"'])(?:proxy-|set-)?(?:{_HEADERS}):\s{{0,8}}+){_KEPT}"
    r"((?:\\.|(?!(?P=quote))[^\\\r\n])+)"
)
"""A header that is quoted whole, as of an argument; what stands after its quote stays."""
_ASSIGNED: Final = re.compile(
    rf"(?i)((?:{_WORDS}){_AFTER_KEY}){_KEPT}"
    rf"({_QUOTED}|\[[^\]\r\n]*\]?|\{{[^}}\r\n]*\}}?|[^\s\"']+)"
)
_FLAG: Final = re.compile(
    rf"(?i)((?<![\w-])--[\w.-]{{0,64}}?(?:{_WORDS})[\w.-]{{0,64}}+"
    rf"(?:\\*[\"']\s{{0,8}},\s{{0,8}}+|\s{{1,8}}+)){_KEPT}(?!\\*[\"']?-)({_QUOTED}|[^\s\"']+)"
)
_NAMED: Final = re.compile(
    rf"(?i)(\\*\"(?:name|key)\\*\"\s{{0,8}}:\s{{0,8}}\\*\"[\w.-]{{0,64}}?(?:{_WORDS})"
    rf"[\w.-]{{0,64}}+\\*\"\s{{0,8}},\s{{0,8}}\\*\"value\\*\"\s{{0,8}}:\s{{0,8}}+){_KEPT}({_QUOTED})"
)
_BY_NAME: Final = (_QUOTED_HEADER, _HEADER, _NAMED, _ASSIGNED, _FLAG)

_PEM: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,64}PRIVATE KEY-----.*?(-----END [A-Z0-9 ]{0,64}KEY-----|\Z)", re.DOTALL
)
_BY_FORM: Final = (
    # RFC 7519: a JSON object in base64url.
    re.compile(r"\beyJ[\w-]{5,4096}+\.[\w-]{5,}(\.[\w-]*)*"),
    re.compile(r"(?i)(?<=\bbearer )[^\s\"']+"),
    re.compile(
        r"(?<=\b[Bb]asic )(?=[A-Za-z]{0,64}(?:[0-9+/=]|[a-z][A-Z]|[A-Z]{2}))[A-Za-z0-9+/=_-]{8,}"
    ),
    # With a colon all to the last @: people forget to escape what passwords hold.
    re.compile(
        r"(?<=://)(?:[^\s\"'/@:]{0,256}:[^\s\"']{0,1024}|[^/\s\"']{1,1024})(?=@(?!sha256:))"
    ),
    re.compile(r"(?i)(?<=[?&]sig=)[^&\s\"']+"),
    re.compile(
        r"(?<![A-Za-z0-9])(?:(?:hf_|gh[pousr]_)[A-Za-z0-9]{16,}|github_pat_\w{16,}|"
        r"npm_[A-Za-z0-9]{30,}|(?:glpat-|xox[abeprs]-|sk-(?:ant|proj)-)[\w-]{16,}|"
        r"sk-[A-Za-z0-9]{20,})"
    ),
    re.compile(r"(?i)(?<=hooks\.slack\.com/)[^\s\"']+|(?<=webhook\.office\.com/)[^\s\"']+"),
)
_BASE64: Final = re.compile(
    r"[A-Za-z0-9+/]{40,}(?:(?:\\r|\\n|\r|\n){1,2}[ \t]{0,16}[A-Za-z0-9+/]{4,})*={0,2}"
)
_NOT_BASE64: Final = re.compile(r"\\[rn]|\s|=")


def without_secrets(text: str, count: Callable[[], None]) -> str:
    """Return a text without what looks like a secret; each that is taken is counted."""

    def removed(_: re.Match[str]) -> str:
        count()
        return REMOVED

    def without_value(found: re.Match[str]) -> str:
        value = found[found.re.groups]
        if MOUNTED_FILE.fullmatch(value.strip("\\\"'").rstrip(",;)]}")):
            return found[0]
        count()
        opening = value[: len(value) - len(value.lstrip("\\"))]
        quote = value[len(opening) : len(opening) + 1]
        around = opening + quote if quote in {'"', "'"} else ""
        closing = around if around and value.endswith(quote) else ""
        # The closing quote of one that is escaped stands after the value.
        return found[1] + around + REMOVED + ("" if opening else closing)

    def without_key(found: re.Match[str]) -> str:
        return removed(found) if _holds_key(found[0]) else found[0]

    text = _PEM.sub(removed, _BASE64.sub(without_key, text))
    for pattern in _BY_NAME:  # First: else a part of a value would be taken for the whole.
        text = pattern.sub(without_value, text)
    for pattern in _BY_FORM:
        text = pattern.sub(removed, text)
    return text


def _holds_key(encoded: str) -> bool:
    """Return whether base64, of which the end may be missing, holds a private key in PEM."""
    packed = _NOT_BASE64.sub("", encoded)
    wholes = (packed[at:][: (len(packed) - at) // 4 * 4] for at in range(4))
    return any(b"PRIVATE KEY-----" in base64.b64decode(each) for each in wholes)
