"""DNS names as allowlists write them. Pure."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from core.base.errors import InvalidObjectError
from core.base.short_text_cache import cache_short_text

ANY: Final = "*"
"""Every name."""

WILDCARD: Final = "*."
"""Before a name: one or more labels stand here. The name itself is not meant. Elsewhere a `*`
stands for any letters of its own label, or for none (Cilium's pkg/fqdn/matchpattern)."""

_MAX: Final = 253
_ENCODED: Final = "xn--"
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
"""Of a name of DNS, which may have what a host's may not (RFC 2181, 11): `my_bucket`."""


def check_dns_name(text: str, *, field: str, what: str) -> None:
    """Check a name such as `packages.example.org`, `*.blob.core.windows.net` or `*`.

    Raises:
        InvalidObjectError: with what is wrong, and what to write instead.
    """
    if problem := _problem(text):
        raise InvalidObjectError(what, field, f"{text!r} {problem}")


def matches_name(pattern: str, name: str) -> bool:
    """Return whether a pattern means a name; both in lower case and without a last dot."""
    if pattern == ANY:
        return True
    if ANY in pattern:
        return _expression(pattern).fullmatch(name) is not None
    return pattern == name


@cache_short_text(4096, _MAX)
def _expression(pattern: str) -> re.Pattern[str]:
    """Return what names of a pattern look like; with one `*` in a label, no match takes long."""
    after = pattern.removeprefix(WILDCARD)
    before = r"(?:[^.]+\.)+" if after != pattern else ""
    return re.compile(before + "[^.]*".join(map(re.escape, after.split(ANY))))


def is_wildcard(text: str) -> bool:
    """Return whether a name stands for many."""
    return ANY in text


def labels_after_wildcard(text: str) -> list[str]:
    """Return the labels behind the last that has a `*`: whoever owns their name owns all names."""
    labels = text.split(".")
    starred = [index for index, each in enumerate(labels) if ANY in each]
    return labels[starred[-1] + 1 :] if starred else labels


def readable_name(text: str) -> str:
    """Return a name as people see it where it holds punycode; else the name itself."""
    return ".".join(_decoded(label) or label for label in text.split("."))


def _problem(text: str) -> str:
    return "" if text == ANY else next(filter(None, _problems(text)), "")


def _problems(text: str) -> Iterator[str]:
    """Yield what is wrong with it; the first is what is told."""
    name = text.removeprefix(WILDCARD)
    labels = name.split(".")
    plain = name.replace(ANY, "a").split(".")
    if name.endswith("."):
        yield f"ends in a dot: write {text.rstrip('.')!r}"
    if not name.isascii():
        yield f"is not ASCII: write {_encoded(text)!r}"
    if name != name.lower():
        yield f"has capital letters: write {text.lower()!r}"
    if ANY in labels[-1]:
        yield "has a wildcard in its last label: name the domain, as in gpu-*.example.org"
    if any(each.count(ANY) > 1 for each in labels):
        yield "has two wildcards in one label: one stands for any letters of it"
    if len(name) > _MAX or not all(map(_LABEL.fullmatch, plain)):
        yield "must be a DNS name: labels of a-z, 0-9, - and _, such as packages.example.org"
    if plain[-1].isdigit():
        yield "is an address, or like one: use `cidr` for addresses"
    if len(labels) == 1 and text == name:
        yield "has no dot: each Pod's search list would decide what it means"
    yield from map(_encoding_problem, labels)


def _encoding_problem(label: str) -> str:
    """Say what is wrong with punycode (RFC 5891, 4.2.3.1: `--` in third place is reserved)."""
    if label[2:4] != "--" or _decoded(label):
        return ""
    return f"has the label {label!r}, which is no valid punycode"


def _decoded(label: str) -> str:
    """Return what a label of punycode says (RFC 5890, 2.3.2.1: an A-label); empty for any other.

    By the algorithm alone (RFC 3492): Python's `idna` is of 2003, and knows no label with an ß.
    """
    if not label.startswith(_ENCODED):
        return ""
    code = label.removeprefix(_ENCODED)
    try:
        plain = code.encode("ascii").decode("punycode")
        same = plain.encode("punycode").decode() == code
    except UnicodeError:
        return ""
    usual = unicodedata.normalize("NFC", plain.lower()) == plain
    return plain if same and usual and plain.isprintable() and not plain.isascii() else ""


def _encoded(text: str) -> str:
    """Return a name as it is sent, with punycode where a label is not ASCII (RFC 5890, 2.3.2.1)."""
    labels = unicodedata.normalize("NFC", text.lower()).split(".")
    return ".".join(
        label if label.isascii() else f"{_ENCODED}{label.encode('punycode').decode()}"
        for label in labels
    )
