"""Shortens a document that is too large to record, without losing what it says. Pure.

A path has up to 4,096 characters, its privilege nine times as many bytes, and a Pod may name
hundreds of them, and a thousand containers. Texts are cut first; then the findings and needs of
each rule, and the patches, become fewer, but never none. Counts stay right.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import msgspec

from core.decision.decision import Finding, Need
from core.decision.document import DecisionDocument, TriedProfile, encode_document

T = TypeVar("T", Need, Finding)

_TEXT: Final = 256
"""Characters of a privilege, path or message that are kept; a cut one ends in an ellipsis."""

_PROFILES: Final = 8
"""Profiles kept of those that cover a finding."""

_STEPS: Final = (64, 16, 4, 1)
"""Findings, needs and gaps kept of each rule or profile, and patches in all."""


def shortened(document: DecisionDocument, most_bytes: int) -> DecisionDocument:
    """Give the document with so short texts, and then so few of each, that it fits."""
    document = _with_short_texts(document)
    for most in _STEPS:
        if len(encode_document(document)) <= most_bytes:
            break
        document = _with_fewer(document, most)
    return document


def _with_short_texts(document: DecisionDocument) -> DecisionDocument:
    replace = msgspec.structs.replace
    return replace(
        document,
        needs=[replace(n, privilege=_cut(n.privilege), path=_cut(n.path)) for n in document.needs],
        findings=[
            replace(
                finding,
                path=_cut(finding.path),
                message=_cut(finding.message),
                privilege=None if finding.privilege is None else _cut(finding.privilege),
                covered_by=finding.covered_by[:_PROFILES],
            )
            for finding in document.findings
        ],
        # A privilege is cut the same way wherever it stands, so that they still match.
        tried=[replace(tried, lacks=list(map(_cut, tried.lacks))) for tried in document.tried],
    )


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _with_fewer(document: DecisionDocument, most: int) -> DecisionDocument:
    needs, findings = _of_each_rule(document.needs, most), _of_each_rule(document.findings, most)
    return msgspec.structs.replace(
        document,
        needs=needs,
        more_needs=document.more_needs + len(document.needs) - len(needs),
        findings=findings,
        more_findings=document.more_findings + len(document.findings) - len(findings),
        tried=[_with_fewer_gaps(tried, most) for tried in document.tried],
        patches=document.patches[:most],
        more_patches=document.more_patches + max(len(document.patches) - most, 0),
    )


def _of_each_rule(items: Iterable[T], most: int) -> list[T]:
    seen: Counter[str] = Counter()
    kept = []
    for item in items:
        seen[item.rule] += 1
        if seen[item.rule] <= most:
            kept.append(item)
    return kept


def _with_fewer_gaps(tried: TriedProfile, most: int) -> TriedProfile:
    kept: Sequence[str] = tried.lacks[:most]
    more = tried.more_lacks + len(tried.lacks) - len(kept)
    return msgspec.structs.replace(tried, lacks=list(kept), more_lacks=more)
