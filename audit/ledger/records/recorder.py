"""Records decisions, sweeps and what else is documented as frames of the spool.

A document that is too large is shortened without losing what it says. A path has up to 4,096
characters, its privilege nine times as many bytes, and a Pod may name hundreds of them, and a
thousand containers. Texts are cut first; then the findings and needs of each rule, and the
patches, become fewer, but never none. Counts stay right.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import msgspec

from audit.ledger.records.frames import FrameKind, decision_frame_id
from core.base.ids import uuid7_unix_ms
from core.base.safe_text import shorten
from core.base.times import DAY_MS
from core.decision.decision import Decision, Finding, Need
from core.decision.document import (
    DecisionDocument,
    DecisionSource,
    TriedProfile,
    build_document,
    encode_document,
    projection_digest,
)
from core.decision.request import Request
from core.decision.sweep_document import SweepDocument, encode_sweep
from core.people.subject import Subject
from core.risk.look_back import LookBackDocument, encode_look_back, trim_items
from core.weights.documents.events import LogGap, encode_event
from core.weights.documents.object_change import ObjectChange, encode_change
from core.weights.documents.pod_life import PodLife, encode_life

T = TypeVar("T", Need, Finding)

MAX_PROJECTION: Final = 64 * 1024
"""Bytes; of a larger projection only the digest is kept. Ordinary ones have 1 to 4 KiB."""

MAX_REFUSED_PROJECTION: Final = 8 * 1024
"""Bytes; a refused Pod costs its author no quota, so it may be sent again and again."""

MAX_DOCUMENT: Final = 64 * 1024
"""Bytes; a larger one is shortened, or a few hostile Pods would fill the spool. Ordinary ones
have 1 to 8 KiB."""

MAX_LOOK_BACK: Final = 512 * 1024
"""Bytes; 1,000 ordinary items have 300 KB."""

_TEXT: Final = 256
"""Characters of a privilege, path or message that are kept; a cut one ends in an ellipsis."""

_PROFILES: Final = 8
"""Profiles kept of those that cover a finding."""

_STEPS: Final = (64, 16, 4, 1)
"""Findings, needs and gaps kept of each rule or profile, and patches in all."""

_REMEMBERED: Final = 16_384
"""Projections remembered as sent: about 2 MB."""


def shorten_document(document: DecisionDocument, most_bytes: int) -> DecisionDocument:
    """Return the document with so short texts, and then so few of each, that it fits."""
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
    return shorten(text, _TEXT)


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


class FrameAppender(Protocol):
    """Takes frames: the spool."""

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Take one frame; returns at once.

        Raises:
            NotRecordedError: it cannot be kept.
        """


@dataclass(frozen=True)
class LedgerRecorder:
    """Records the decisions of one cluster (`webhooks.app.Recorder`)."""

    spool: FrameAppender | None
    """None where records are lines only."""
    cluster: Callable[[], str]
    """Gives the cluster's id, from memory."""
    name_subject: Callable[[Subject], str]
    """What is kept of who asked: a pseudonym, or the name where the operator chose names."""
    write_line: Callable[[bytes], None] | None = None
    """Gets each document that the spool took as well, to be written to standard output."""
    _sent: dict[str, int] = field(default_factory=dict)

    def record(
        self,
        source: DecisionSource,
        request: Request,
        decision: Decision,
        patches: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> None:
        """Keep a decision.

        Raises:
            NotRecordedError: the spool does not take it.
        """
        evidence, day = decision.evidence, uuid7_unix_ms(decision.id) // DAY_MS
        most = MAX_PROJECTION if decision.allowed else MAX_REFUSED_PROJECTION
        document = build_document(
            source,
            request,
            decision,
            cluster=self.cluster(),
            seconds=seconds,
            name_subject=self.name_subject,
            patches=patches,
            digest=self._record_seen(evidence.projection, day, most),
            context=self._record_seen(evidence.context, day, most),
            fields=self._record_seen(evidence.fields, day, most),
        )
        content = encode_document(document)
        if len(content) > MAX_DOCUMENT:
            content = encode_document(shorten_document(document, MAX_DOCUMENT))
        self._keep(FrameKind.DECISION, decision.id, content)

    def record_sweep(self, document: SweepDocument) -> None:
        """Keep what a finished sweep came to.

        Raises:
            NotRecordedError: the spool does not take it.
        """
        self._keep(FrameKind.SWEEP, document.id, encode_sweep(document))

    def record_look_back(self, document: LookBackDocument) -> None:
        """Keep what an identity at risk left behind, as far as it fits into a frame.

        Raises:
            NotRecordedError: the spool does not take it.
        """
        content = encode_look_back(trim_items(document, MAX_LOOK_BACK))
        self._keep(FrameKind.LOOK_BACK, document.id, content)

    def record_life(self, document: PodLife) -> None:
        """Keep what became known of a Pod's life.

        Raises:
            NotRecordedError: the spool does not take it.
        """
        self._keep(FrameKind.POD_LIFE, document.id, encode_life(document))

    def record_change(self, document: ObjectChange) -> None:
        """Keep that an object which people decide with was made, changed, or is gone.

        Raises:
            NotRecordedError: the spool does not take it.
        """
        self._keep(FrameKind.CHANGE, document.id, encode_change(document))

    def record_gap(self, document: LogGap) -> None:
        """Keep that a record may lack something.

        Raises:
            NotRecordedError: the spool does not take it.
        """
        self._keep(FrameKind.LOG_GAP, document.id, encode_event(document))

    def _keep(self, kind: FrameKind, document_id: str, content: bytes) -> None:
        if self.spool is not None:
            self.spool.append(kind, decision_frame_id(document_id), content)
        if self.write_line is not None:
            self.write_line(content)

    def _record_seen(self, content: bytes, day: int, most: int) -> str:
        """Keep what policies saw, unless that was done on this day; give its digest.

        It comes again each day, so that a store may forget what no kept day refers to. Of more than
        `most` bytes only the digest is kept.

        Raises:
            NotRecordedError: the spool does not take it.
        """
        if not content:
            return ""
        digest = projection_digest(content)
        if self.spool is None or self._sent.get(digest) == day:
            return digest
        if len(content) <= most:
            frame_id = bytes.fromhex(digest.removeprefix("sha256:"))
            self.spool.append(FrameKind.PROJECTION, frame_id, content)
            self._remember(digest, day)
        return digest

    def _remember(self, digest: str, day: int) -> None:
        self._sent.pop(digest, None)
        self._sent[digest] = day
        if len(self._sent) > _REMEMBERED:
            del self._sent[next(iter(self._sent))]
