"""Short forms of the ids in a report, each unlike all others in it, and the list of them. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from audit.reports.model import Report

_LABEL: Final = re.compile(r"(oid|client|user|group|sas|account-key|delegation-sas):(\S{13,})")
_IN_TEXT: Final = re.compile(r"(oid|client|user|group|sas):[0-9a-f-]{13,}")
_SHORTEST: Final = 8


class Entry(msgspec.Struct, frozen=True):
    """One identity."""

    label: str
    short: str
    name: str
    """Where the operator gave one."""


def brief(text: str, shorts: Mapping[str, str]) -> str:
    """Give a sentence with the short forms of the ids in it."""
    return _IN_TEXT.sub(lambda found: shorts.get(found[0], found[0]), text)


def directory(report: Report) -> list[Entry]:
    """Give every identity that a report names, in the order of their ids."""
    labels = sorted(set(_labels(msgspec.to_builtins(report))))
    shorts = _shorten(labels)
    return [Entry(label, shorts[label], report.people.get(label, "")) for label in labels]


def _labels(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _labels(key)
            yield from _labels(each)
    elif isinstance(value, list):
        for each in value:
            yield from _labels(each)
    elif isinstance(value, str) and _LABEL.fullmatch(value):
        yield value


def _shorten(labels: list[str]) -> dict[str, str]:
    """Cut each label where it is unlike its neighbours in the order, and not before 8 digits."""
    cut = {}
    for number, label in enumerate(labels):
        length = label.index(":") + 1 + _SHORTEST
        for neighbour in labels[number - 1 : number] + labels[number + 1 : number + 2]:
            while label[:length] == neighbour[:length] and length < len(label):
                length += 1
        cut[label] = f"{label[:length]}…" if length < len(label) - 1 else label
    return cut
