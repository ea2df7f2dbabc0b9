"""Encodings of strings and values (OPA: topdown/encoding.go)."""

import base64
import binascii
import re
import urllib.parse
from decimal import Decimal
from typing import Any, Final

import msgspec

from policies.builtins import arguments
from policies.builtins.rego_repr import order, pairs
from policies.builtins.values import Number, Set

_JSON: Final = msgspec.json.Decoder(float_hook=Number)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_NOT_OF_URLS: Final = re.compile(r"[+/]")
_FROM_URLS: Final = str.maketrans("-_", "+/")
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_MOST_PARAMETERS: Final = 10_000
_NO_UTF8: Final = "what is encoded is no UTF-8, which is not supplied"
_MOST_CHARACTERS: Final = 1_000_000
_UNSAFE: Final = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n"} | {
    "\r": "\\r",
    "\t": "\\t",
}


def base64url_no_pad(value: Any) -> str:
    """`base64url.encode_no_pad`."""
    encoded = base64.urlsafe_b64encode(arguments.text(value, 1).encode())
    return encoded.rstrip(b"=").decode()


def base64_decode(value: Any) -> str:
    """`base64.decode`; OPA also gives what is no UTF-8, which here is an error."""
    return _decoded(arguments.text(value, 1))


def base64_is_valid(value: Any) -> bool:
    """`base64.is_valid`."""
    return isinstance(value, str) and _BASE64.fullmatch(_joined(value)) is not None


def base64url_decode(value: Any) -> str:
    """`base64url.decode`, with or without padding; of what is no UTF-8, an error."""
    text = arguments.text(value, 1)
    if _NOT_OF_URLS.search(text):
        raise ValueError("illegal base64url string")
    if not text.endswith("="):
        text += {2: "==", 3: "="}.get(len(text.encode()) % 4, "")
    return _decoded(text.translate(_FROM_URLS))


def _decoded(text: str) -> str:
    joined = _joined(text)
    if not _BASE64.fullmatch(joined):
        raise ValueError("illegal base64 data")
    try:
        return base64.b64decode(joined).decode()
    except UnicodeDecodeError:
        raise ValueError(_NO_UTF8) from None


def _joined(text: str) -> str:
    """Take out what Go's encoding/base64 passes over."""
    return text.replace("\r", "").replace("\n", "")


def json_unmarshal(value: Any) -> Any:
    """`json.unmarshal`."""
    return _read_json(arguments.text(value, 1))


def json_is_valid(value: Any) -> bool:
    """`json.is_valid`."""
    if not isinstance(value, str):
        return False
    try:
        _read_json(value)
    except msgspec.DecodeError:
        return False
    return True


def _read_json(text: str) -> Any:
    try:
        return _JSON.decode(text)
    except RecursionError:
        raise ValueError("JSON nested that deep is not supplied") from None
    except msgspec.DecodeError:
        if _SURROGATE.search(text):
            raise ValueError("JSON with surrogates is not supplied") from None
        raise


def hex_encode(value: Any) -> str:
    """`hex.encode`: of the text's UTF-8."""
    return arguments.text(value, 1).encode().hex()


def hex_decode(value: Any) -> str:
    """`hex.decode`; OPA also gives what is no UTF-8, which here is an error."""
    try:
        return binascii.unhexlify(arguments.text(value, 1)).decode()
    except UnicodeDecodeError:
        raise ValueError(_NO_UTF8) from None


def urlquery_encode(value: Any) -> str:
    """`urlquery.encode`: Go's url.QueryEscape."""
    return urllib.parse.quote_plus(arguments.text(value, 1), safe="")


def urlquery_decode(value: Any) -> str:
    """`urlquery.decode`: Go's url.QueryUnescape; of what is no UTF-8, an error."""
    text = arguments.text(value, 1)
    if found := _ESCAPE.search(text):
        part = text[found.start() : found.start() + 3]
        raise ValueError(f'invalid URL escape "{part}"')
    try:
        return urllib.parse.unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        raise ValueError(_NO_UTF8) from None


def urlquery_encode_object(value: Any) -> str:
    """`urlquery.encode_object`: keys in order, each with its value or values."""
    parts = []
    for key, given in pairs(arguments.mapping(value, 1)):
        values: list[Any] = [None]
        if isinstance(given, str):
            values = [given]
        elif isinstance(given, (list, Set)):
            values = sorted(given, key=order) if isinstance(given, Set) else given
        if not isinstance(key, str) or not all(isinstance(each, str) for each in values):
            raise ValueError("operand 1 values must be string, array[string], or set[string]")
        parts += [f"{urlquery_encode(key)}={urlquery_encode(each)}" for each in values]
    return "&".join(parts)


def urlquery_decode_object(value: Any) -> dict[str, list[str]]:
    """`urlquery.decode_object`: for each key its values, in order."""
    found: dict[str, list[str]] = {}
    parts = arguments.text(value, 1).split("&")
    arguments.check_limit(len(parts), _MOST_PARAMETERS, "the number of parameters")
    for part in parts:
        if ";" in part:
            raise ValueError("invalid semicolon separator in query")
        if part:
            key, _, given = part.partition("=")
            found.setdefault(urlquery_decode(key), []).append(urlquery_decode(given))
    return found


def json_marshal_with_options(value: Any, options: Any) -> str:
    """`json.marshal_with_options`: "pretty", "indent" and "prefix", as Go's MarshalIndent."""
    indent, prefix, pretty, asked = "\t", "", False, None
    for key, given in pairs(arguments.mapping(options, 2)):
        if key == "pretty" and isinstance(given, bool):
            asked = given
        elif key == "prefix" and isinstance(given, str):
            prefix, pretty = given, True
        elif key == "indent" and isinstance(given, str):
            indent, pretty = given, True
        else:
            raise ValueError(f"operand 2 {_wrong_option(key)}")
    if not (pretty if asked is None else asked):
        return _Written(None, "").whole(value)
    return prefix + _Written(indent, prefix).whole(value)


def _wrong_option(key: Any) -> str:
    if key == "pretty":
        return "key pretty failed cast to bool"
    known = key in {"indent", "prefix"}
    return f"key {key} failed cast to string" if known else "object contained unknown key"


class _Written:
    """JSON as Go's encoding/json writes it; `indent` is None where it is all on one line."""

    def __init__(self, indent: str | None, prefix: str) -> None:
        self._indent = indent
        self._prefix = prefix
        self._out: list[str] = []
        self._length = 0

    def whole(self, value: Any) -> str:
        self._value(value, 0)
        return "".join(self._out)

    def _write(self, text: str) -> None:
        self._length += len(text)
        arguments.check_limit(self._length, _MOST_CHARACTERS, "the length of a text")
        self._out.append(text)

    def _line(self, depth: int) -> None:
        if self._indent is not None:
            arguments.check_limit(len(self._indent) * depth, _MOST_CHARACTERS, "an indent")
            self._write("\n" + self._prefix + self._indent * depth)

    def _value(self, value: Any, depth: int) -> None:
        if isinstance(value, dict):
            self._several("{}", [(_name(key), each) for key, each in pairs(value)], depth)
        elif isinstance(value, (list, Set)):
            ordered = sorted(value, key=order) if isinstance(value, Set) else value
            self._several("[]", [(None, each) for each in ordered], depth)
        else:
            self._write(_scalar(value))

    def _several(self, braces: str, members: list[tuple[str | None, Any]], depth: int) -> None:
        self._write(braces[0])
        for number, (name, each) in enumerate(members):
            self._write("," if number else "")
            self._line(depth + 1)
            if name is not None:
                self._write(_scalar(name) + (":" if self._indent is None else ": "))
            self._value(each, depth + 1)
        if members:
            self._line(depth)
        self._write(braces[1])


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError("an object with keys that are no strings is not supplied")  # noqa: TRY004  As all errors of arguments.
    return key


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Number):
        return value.text
    if isinstance(value, (int, Decimal)):
        return str(value)
    return '"' + _UNSAFE.sub(lambda found: _escaped(found[0]), value) + '"'


def _escaped(character: str) -> str:
    return _SHORT.get(character) or f"\\u{ord(character):04x}"
