"""Bounds what is kept of a decision: a record has at most so many bytes, and says what it lacks.

A Pod may make hundreds of findings, of paths with 4,096 characters each, against profiles without
end. Texts are cut first and lists with them, step by step, until the document fits. What identifies
the decision (ids, digests, revisions, the rules of findings) is never cut. The steps go through the
whole document, so that a field of a later release is bounded as well.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from core.base.safe_text import shorten
from core.decision.document import DecisionDocument, encode_document


@dataclass(frozen=True)
class _Step:
    """What one step leaves."""

    entries: int
    """Of each rule among findings and needs, and of other lists."""
    lacks: int
    """Of what each profile lacks: the first to go, for needs and findings say the same."""
    text: int
    """Characters of a text; a cut one ends in an ellipsis."""
    rules: int = 256
    """Rules among findings and needs, each; and profiles that were tried."""
    words: bool = True
    """Whether findings keep message and remedy, and patches are kept."""


_STEPS: Final = (
    _Step(64, 16, 256),
    _Step(64, 4, 256),
    _Step(16, 1, 256),
    _Step(4, 1, 256),
    _Step(2, 1, 160),
    _Step(1, 1, 96),
    _Step(1, 1, 64, 32, words=False),
    _Step(1, 1, 16, 8, words=False),
)

_FAR: Final = 16
"""A document so many times too large begins with the fourth step."""

_WHOLE: Final = frozenset(
    {"id", "time", "cluster", "source", "verdict", "mode", "action", "ifEnforced", "errorKind"}
    | {"rule", "projection", "context", "fields", "revisions", "durations", "operation"}
    | {"instance", "sweep", "objectUid", "digest"}
)
"""Keys whose texts are never cut: they identify, or are of a closed list. Others depend on them."""

_COUNTED: Final = {
    "findings": "moreFindings",
    "needs": "moreNeeds",
    "tried": "moreTried",
    "accessReviews": "moreAccessReviews",
    "patches": "morePatches",
    "risk": "moreRisk",
    "lacks": "moreLacks",
}
"""Lists that have a count of their own of what they lack; that of others is in `cut`."""

_BY_RULE: Final = frozenset({"findings", "needs"})

_COVERED_BY: Final = 8
"""Profiles kept of those that cover a finding."""

_PATCH_BYTES: Final = 1024
"""Of one patch that is kept: a value is kept whole or not at all."""


def bound_document(document: DecisionDocument, most_bytes: int) -> bytes:
    """Return a document as JSON of at most so many bytes; one that is larger says what was cut."""
    length = _least_length(document)
    if length <= most_bytes:
        content = encode_document(document)
        if len(content) <= most_bytes:
            return content
    whole = msgspec.to_builtins(document)
    content = b""
    for step in _STEPS[3:] if length > _FAR * most_bytes else _STEPS:
        content = encode_document(msgspec.convert(_Cutter(step).cut(whole), DecisionDocument))
        if len(content) <= most_bytes:
            break
    return content


def _least_length(document: DecisionDocument) -> int:
    """Return how long it is at least: whole, it can have 100 MB, which nobody should encode."""
    lacks = sum(sum(map(len, tried.lacks)) for tried in document.tried)
    needs = sum(len(need.privilege) + len(need.path) for need in document.needs)
    return lacks + needs + sum(len(found.path) + len(found.message) for found in document.findings)


@dataclass
class _Cutter:
    """Goes through a document as `msgspec.to_builtins` gives it."""

    step: _Step
    missing: Counter[str] = field(default_factory=Counter)
    """Entries left out, by list; of `texts`, those that are shortened."""

    def cut(self, whole: Mapping[str, Any]) -> dict[str, Any]:
        document = self._object(whole)
        document["cut"] = {key: count for key, count in sorted(self.missing.items()) if count}
        return document

    def _object(self, whole: Mapping[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        counts: dict[str, int] = {}
        for key, value in whole.items():
            if isinstance(value, list):
                kept[key] = self._list(key, value)
                if missing := len(value) - len(kept[key]):
                    self._count(key, missing, whole, counts)
            else:
                kept[key] = value if key in _WHOLE else self._value(value)
        if not self.step.words and "remedy" in kept:
            kept |= {"message": "", "remedy": ""}
        return kept | counts

    def _count(
        self, key: str, missing: int, whole: Mapping[str, Any], counts: dict[str, int]
    ) -> None:
        if (count := _COUNTED.get(key)) is None:
            self.missing[key] += missing
        else:
            counts[count] = whole.get(count, 0) + missing

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            self.missing["texts"] += len(value) > self.step.text
            return shorten(value, self.step.text)
        return self._object(value) if isinstance(value, dict) else value

    def _list(self, key: str, values: list[Any]) -> list[Any]:
        if key == "patches":
            return self._patches(values)
        chosen = self._by_rule(values) if key in _BY_RULE else values[: self._most(key)]
        return [self._value(value) for value in chosen]

    def _most(self, key: str) -> int:
        if key == "tried":
            return self.step.rules
        if key == "lacks":
            return self.step.lacks
        return min(self.step.entries, _COVERED_BY) if key == "coveredBy" else self.step.entries

    def _by_rule(self, values: list[dict[str, Any]]) -> list[dict[str, Any]]:
        seen: Counter[str] = Counter()
        kept = []
        for value in values:
            if value["rule"] in seen or len(seen) < self.step.rules:
                seen[value["rule"]] += 1
                if seen[value["rule"]] <= self.step.entries:
                    kept.append(value)
        return kept

    def _patches(self, values: list[Any]) -> list[Any]:
        if not self.step.words:
            return []
        encode: Callable[[Any], bytes] = msgspec.json.encode
        return [
            value for value in values[: self.step.entries] if len(encode(value)) <= _PATCH_BYTES
        ]
