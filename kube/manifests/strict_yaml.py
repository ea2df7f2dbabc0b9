"""YAML as kubectl reads it, strictly: what is ambiguous or hostile is refused with its line.

Values are those that sigs.k8s.io/yaml gives (go.yaml.in/yaml/v2, `resolve.go`): YAML 1.1
booleans (`y`, `no`, `on` …), `0o17` and `017` octal, no base 60, no dates, keys made strings.
Beyond it: duplicate keys, unknown tags and NaN are refused, nesting and aliases are bounded.
The tree is made from libyaml's events, since its composer overflows the C stack on deep input.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

MAX_DEPTH: Final = 200
"""Levels of nesting; Kubernetes' deepest objects (CRD schemas) have about 50."""

MAX_REPEATED: Final = 10_000_000
"""Characters and values that aliases may add to one stream, so that no alias is a bomb."""

_TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, object]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]{0,19}))"
)
_BASES: Final = (16, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
SMALLEST: Final = -(2**63)
LARGEST: Final = 2**64 - 1
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "null": (type(None),),
}


class YamlError(Exception):
    """Text that is not the YAML described above. `line` counts from 1; 0 when unknown."""

    def __init__(self, problem: str, line: int = 0) -> None:
        self.problem = problem
        self.line = line
        super().__init__(f"line {line}: {problem}" if line else problem)


def load_all(text: str) -> Iterator[tuple[int, Any]]:
    """Yield the line and the value of each document; an empty one is None.

    Raises:
        YamlError: the text is not YAML, or is refused; documents before it were yielded.
    """
    loader = yaml.CSafeLoader(text)
    try:
        yield from _Reader(loader).documents()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = str(error.problem or error.context)
        raise YamlError(problem, mark.line + 1 if mark else 0) from error
    except yaml.YAMLError as error:
        raise YamlError(" ".join(str(error).split())) from error
    finally:
        loader.dispose()


class _Reader:
    """Builds values from the events of one stream."""

    def __init__(self, loader: yaml.CSafeLoader) -> None:
        self._loader = loader
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._weight = 0
        self._repeated = 0

    def documents(self) -> Iterator[tuple[int, Any]]:
        while not self._loader.check_event(yaml.StreamEndEvent):
            event = self._loader.get_event()
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors.clear()
                first: Any = self._loader.peek_event()
                yield first.start_mark.line + 1, self._value(0)

    def _value(self, depth: int) -> Any:
        event: Any = self._loader.get_event()
        line = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise YamlError(f"values are nested more than {MAX_DEPTH} deep", line)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor, line)
        before = self._weight
        self._weight += 1
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            self._weight += len(event.value)
            value = _scalar(event, line)
        elif isinstance(event, yaml.SequenceStartEvent):
            _check_tag(event.tag, "seq", line)
            value = self._sequence(depth)
        else:
            _check_tag(event.tag, "map", line)
            value = self._mapping(depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._weight - before)
        return value

    def _alias(self, anchor: str | None, line: int) -> Any:
        anchored = self._anchors.get(anchor or "")
        if anchored is None:
            raise YamlError(f"alias *{anchor} stands for nothing that is complete before it", line)
        value, weight = anchored
        self._weight += weight
        self._repeated += weight
        if self._repeated > MAX_REPEATED:
            raise YamlError(f"aliases repeat more than {MAX_REPEATED} characters", line)
        return value

    def _sequence(self, depth: int) -> list[Any]:
        values = []
        while not self._loader.check_event(yaml.SequenceEndEvent):
            values.append(self._value(depth + 1))
        self._loader.get_event()
        return values

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not self._loader.check_event(yaml.MappingEndEvent):
            event: Any = self._loader.peek_event()
            line = event.start_mark.line + 1
            if _is_merge(event):
                self._loader.get_event()
                merged = {**_merged(self._value(depth + 1), line), **merged}
                self._refuse_overlap(found, merged, line)
                continue
            key = _key(self._value(depth + 1), line)
            if key in found:
                raise YamlError(f"duplicate key {key!r}", line)
            found[key] = self._value(depth + 1)
        self._loader.get_event()
        return {**merged, **found}

    @staticmethod
    def _refuse_overlap(found: dict[str, Any], merged: dict[str, Any], line: int) -> None:
        # Readers disagree on who wins here: YAML says the key, go-yaml v2 says the merge.
        if both := found.keys() & merged.keys():
            raise YamlError(f'"<<" brings {min(both)!r}, which stands before it: move it up', line)


def _is_merge(event: yaml.Event) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]


def _merged(value: Any, line: int) -> dict[str, Any]:
    sources = value if isinstance(value, list) else [value]
    result: dict[str, Any] = {}
    for source in reversed(sources):
        if not isinstance(source, dict):
            raise YamlError('"<<" needs a map, or a list of maps', line)
        result.update(source)
    return result


def _key(value: Any, line: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        raise YamlError("a key must be a string: quote it", line)
    return value


def _check_tag(tag: str | None, kind: str, line: int) -> None:
    if tag not in {None, "!", _TAG + kind}:
        raise YamlError(f"tag {tag} is not of JSON: leave it out", line)


def _scalar(event: yaml.ScalarEvent, line: int) -> Any:
    tag: str | None = event.tag
    if tag in {"!", f"{_TAG}str"} or (tag is None and not event.implicit[0]):
        return event.value
    value = resolve(event.value)
    if tag is not None:
        kind = tag.removeprefix(_TAG)
        if kind not in _TYPES:
            raise YamlError(f"tag {tag} is not of JSON: leave it out", line)
        if type(value) not in _TYPES[kind]:
            raise YamlError(f"{event.value!r} is no {kind}", line)
    if isinstance(value, float) and not math.isfinite(value):
        raise YamlError(f"{event.value} cannot be said in JSON: quote it, or use a number", line)
    return value


def resolve(text: str) -> Any:
    """Return the value of a plain scalar, as go-yaml v2's `resolve` does.

    >>> [resolve(text) for text in ("on", "017", "1:30", "2026-01-01", "1e3")]
    [True, 15, '1:30', '2026-01-01', 1000.0]
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    if match := _INTEGER.fullmatch(plain):
        number = _whole(match)
        if SMALLEST <= number <= LARGEST:
            return number
    if _FLOAT.fullmatch(plain) and math.isfinite(real := float(plain)):
        return real
    return text


def _whole(match: re.Match[str]) -> int:
    digits, base = next(
        (digits, base)
        for digits, base in zip(match.groups()[1:], _BASES, strict=True)
        if digits is not None
    )
    return -int(digits, base) if match[1] == "-" else int(digits, base)
