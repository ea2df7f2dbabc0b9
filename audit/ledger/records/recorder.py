"""Records decisions, sweeps and what else is documented as frames of the spool."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from audit.ledger.records.admission_shares import AdmissionShares
from audit.ledger.records.document_bounds import bound_document
from audit.ledger.records.frames import FrameKind, decision_frame_id, frame_length
from audit.ledger.records.refusal_budget import OTHERS, RefusalBudget, RefusalCount, Share
from core.base.ids import uuid7, uuid7_unix_ms, writer_uuid7
from core.base.times import DAY_MS, milli_text
from core.decision.decision import Decision, Verdict
from core.decision.document import (
    DecisionDocument,
    DecisionSource,
    build_document,
    projection_digest,
)
from core.decision.refusal_aggregate import FORMAT as AGGREGATE_FORMAT
from core.decision.refusal_aggregate import RefusalAggregate, encode_aggregate
from core.decision.request import Request
from core.decision.sweep_document import SweepDocument, encode_sweep
from core.people.subject import Subject
from core.risk.look_back import LookBackDocument, encode_look_back, trim_items
from core.weights.documents.events import LogGap, encode_event
from core.weights.documents.object_change import ObjectChange, encode_change
from core.weights.documents.pod_life import PodLife, encode_life

MAX_PROJECTION: Final = 64 * 1024
"""Bytes; of a larger projection only the digest is kept. Ordinary ones have 1 to 4 KiB."""

MAX_DOCUMENT: Final = 16 * 1024
"""Bytes; a larger one is cut (`audit.ledger.records.document_bounds`), or a few hostile Pods would
fill the spool. Ordinary ones have 1 to 8 KiB. A refused Pod costs its author no quota, so it may be
sent again and again: with a refusal the projection, and what else policies saw, are kept only as
far as they fit beside it."""

MAX_LOOK_BACK: Final = 512 * 1024
"""Bytes; 1,000 ordinary items have 300 KB."""

_REMEMBERED: Final = 16_384
"""Projections remembered as sent: about 2 MB."""


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
    budget: RefusalBudget | None = None
    """What limits refusals; None: all are kept."""
    share_of: Callable[[Request], Share] = lambda _: OTHERS
    """Says whose a refusal or an admission is."""
    instance: str = ""
    """Name of this gate's Pod, which its decisions and aggregates carry."""
    shares: AdmissionShares | None = None
    """What limits admissions in a spool that fills; None: all are kept."""
    check_spool: Callable[[], None] = lambda: None
    """Raises NotRecordedError where the spool would not take a decision now."""
    _sent: dict[str, int] = field(default_factory=dict)

    def record(
        self,
        source: DecisionSource,
        request: Request,
        decision: Decision,
        patches: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> None:
        """Keep a decision, or count a refusal that is beyond the budget.

        Raises:
            NotRecordedError: the spool does not take it.
            OverShareError: it is beyond its share of the spool.
        """
        if source != "sweep" and not decision.allowed and self._counts(request, decision):
            return
        evidence = decision.evidence
        document = build_document(
            source,
            request,
            decision,
            cluster=self.cluster(),
            seconds=seconds,
            name_subject=self.name_subject,
            patches=patches,
            digest=_digest_of(evidence.projection),
            context=_digest_of(evidence.context),
            fields=_digest_of(evidence.fields),
            instance=self.instance,
        )
        content = bound_document(document, MAX_DOCUMENT)
        seen = self._unsent(decision, document, MAX_DOCUMENT - len(content))
        shares = self.shares
        if source == "sweep" or not decision.allowed or shares is None or not shares.limit():
            self._record_with(seen, decision.id, content)
            return
        with shares.hold(self.share_of(request), _size_of(seen, decision.id, content)):
            self._record_with(seen, decision.id, content)

    def check(self) -> None:
        """Check that the spool would take a decision now. Records nothing.

        Raises:
            NotRecordedError: it would not.
        """
        self.check_spool()

    def _counts(self, request: Request, decision: Decision) -> bool:
        if self.budget is None:
            return False
        seen = _digest_of(decision.evidence.projection) or request.what
        share, unix_ms = self.share_of(request), uuid7_unix_ms(decision.id)
        return not self.budget.keeps(share, decision, seen, unix_ms)

    def seal_aggregates(self, *, ends: bool = False) -> None:
        """Keep what was counted of refusals, if a minute is over, or because it `ends`."""
        if self.budget is not None:
            self.budget.seal(self._record_aggregate, ends=ends)

    def _record_aggregate(self, count: RefusalCount) -> None:
        kind = count.kind
        document = RefusalAggregate(
            format=AGGREGATE_FORMAT,
            id=self._own_id(count.last_ms),
            time=milli_text(count.last_ms),
            first=milli_text(count.first_ms),
            cluster=self.cluster(),
            count=count.count,
            verdict="deny" if kind.verdict is Verdict.DENY else "error",
            why="budget",
            namespace=kind.share.namespace,
            requester=kind.share.requester,
            rules=list(kind.rules),
            projection=kind.projection if kind.projection.startswith("sha256:") else "",
            kept=count.kept,
            instance=self.instance,
        )
        self._keep(FrameKind.AGGREGATE, document.id, encode_aggregate(document))

    def _own_id(self, unix_ms: int) -> str:
        return writer_uuid7(unix_ms, self.instance) if self.instance else uuid7(unix_ms)

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

    def _record_with(self, seen: Mapping[str, bytes], decision_id: str, content: bytes) -> None:
        """Keep a decision's document, and what policies saw before it.

        Raises:
            NotRecordedError: the spool does not take all of it.
        """
        if self.spool is not None:
            day = uuid7_unix_ms(decision_id) // DAY_MS
            for digest, projection in seen.items():
                self.spool.append(FrameKind.PROJECTION, _frame_id(digest), projection)
                self._remember(digest, day)
        self._keep(FrameKind.DECISION, decision_id, content)

    def _unsent(
        self, decision: Decision, document: DecisionDocument, left: int
    ) -> dict[str, bytes]:
        """Return what policies saw by its digest, but for what was kept on this day.

        It comes again each day, so that a store may forget what no kept day refers to. Of what has
        more than MAX_PROJECTION bytes only the digest is kept; of a refusal, of what has more than
        are `left` of its record.
        """
        unsent: dict[str, bytes] = {}
        if self.spool is None:
            return unsent
        evidence, day = decision.evidence, uuid7_unix_ms(decision.id) // DAY_MS
        for digest, content in (
            (document.projection, evidence.projection),
            (document.context, evidence.context),
            (document.fields, evidence.fields),
        ):
            if not content or digest in unsent or self._sent.get(digest) == day:
                continue
            if len(content) <= (MAX_PROJECTION if decision.allowed else left):
                unsent[digest] = content
                left -= len(content)
        return unsent

    def _remember(self, digest: str, day: int) -> None:
        self._sent.pop(digest, None)
        self._sent[digest] = day
        if len(self._sent) > _REMEMBERED:
            del self._sent[next(iter(self._sent))]


def _size_of(seen: Mapping[str, bytes], decision_id: str, content: bytes) -> int:
    """Return the bytes of the frames of a decision and of what policies saw."""
    own = frame_length(decision_frame_id(decision_id), content)
    return own + sum(frame_length(_frame_id(digest), each) for digest, each in seen.items())


def _frame_id(digest: str) -> bytes:
    return bytes.fromhex(digest.removeprefix("sha256:"))


def _digest_of(content: bytes) -> str:
    return projection_digest(content) if content else ""
