"""Puts each decision into the spool, and its projection before it, once a day."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from audit.ledger.frames import FrameKind, decision_frame_id
from core.decision import Decision
from core.document import (
    MOST_NEEDS,
    DecisionDocument,
    Source,
    encode_document,
    make_document,
    projection_digest,
    unix_ms,
)
from core.request import Request
from core.subject import Subject

MAX_PROJECTION: Final = 64 * 1024
"""Bytes; of a larger projection only the digest is kept. Ordinary ones have 1 to 4 KiB."""

MAX_DOCUMENT: Final = 64 * 1024
"""Bytes; a larger one is shortened, or a few hostile Pods would fill the spool. Ordinary ones
have 1 to 8 KiB."""

_REMEMBERED: Final = 16_384
"""Projections remembered as sent: about 2 MB."""

_DAY_MS: Final = 86_400_000


class Appends(Protocol):
    """Takes frames: the spool."""

    def append(self, kind: int, frame_id: bytes, payload: bytes) -> None:
        """Take one frame; returns at once.

        Raises:
            NotRecordedError: it cannot be kept.
        """


@dataclass(frozen=True)
class LedgerRecorder:
    """Records the decisions of one cluster (webhooks.recorder)."""

    spool: Appends
    cluster: Callable[[], str]
    """Gives the cluster's id, from memory."""
    name_subject: Callable[[Subject], str]
    """What is kept of who asked: a pseudonym, or the name where the operator chose names."""
    write_line: Callable[[bytes], None] | None = None
    """Gets each document as well, to be written to standard output."""
    _sent: dict[str, int] = field(default_factory=dict)

    def record(
        self,
        webhook: Source,
        request: Request,
        decision: Decision,
        patches: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> None:
        """Keep a decision.

        Raises:
            NotRecordedError: the spool does not take it.
        """
        digest = self.record_projection(decision)
        document = make_document(
            webhook,
            request,
            decision,
            cluster=self.cluster(),
            seconds=seconds,
            name_subject=self.name_subject,
            patches=patches,
            digest=digest,
        )
        content = encode_document(document)
        if len(content) > MAX_DOCUMENT:
            content = encode_document(_shortened(document))
        self.spool.append(FrameKind.DECISION, decision_frame_id(decision.id), content)
        if self.write_line is not None:
            self.write_line(content)

    def record_projection(self, decision: Decision) -> str:
        """Keep the projection of a decision, unless that was done today; give its digest.

        It comes again each day, so that a store may forget what no kept day refers to.

        Raises:
            NotRecordedError: the spool does not take it.
        """
        projection = decision.evidence.projection
        if not projection:
            return ""
        digest = projection_digest(projection)
        today = unix_ms(decision.id) // _DAY_MS
        if self._sent.get(digest) != today and len(projection) <= MAX_PROJECTION:
            frame_id = bytes.fromhex(digest.removeprefix("sha256:"))
            self.spool.append(FrameKind.PROJECTION, frame_id, projection)
            self._remember(digest, today)
        return digest

    def _remember(self, digest: str, day: int) -> None:
        self._sent.pop(digest, None)
        self._sent[digest] = day
        if len(self._sent) > _REMEMBERED:
            del self._sent[next(iter(self._sent))]


def _shortened(document: DecisionDocument) -> DecisionDocument:
    """Give the document with so few needs, findings and gaps that it fits MAX_DOCUMENT.

    A path has up to 4,096 characters, and a Pod may name hundreds of them. Counts stay right; a
    profile's gaps, which have none, lose their last ones.
    """
    kept = MOST_NEEDS
    while kept and len(encode_document(document)) > MAX_DOCUMENT:
        kept //= 4
        document = msgspec.structs.replace(
            document,
            needs=document.needs[:kept],
            more_needs=document.more_needs + max(len(document.needs) - kept, 0),
            findings=document.findings[:kept],
            more_findings=document.more_findings + max(len(document.findings) - kept, 0),
            tried=[msgspec.structs.replace(t, lacks=t.lacks[:kept]) for t in document.tried],
        )
    return document
