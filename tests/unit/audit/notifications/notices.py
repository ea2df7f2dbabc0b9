"""Makes findings, gaps and notices; and ledgers that hold them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from audit.notifications.notice import Notice, notice_of_finding
from core.base.ids import stable_id
from core.base.times import milli_text
from core.weights.documents.events import FORMAT, Finding, LogGap, Severity, encode_event, gap_id

CLUSTER: Final = "prod"
AT_MS: Final = 1_795_262_400_000
OID: Final = "oid:11111111-2222-4333-8444-555555555555"


def make_finding(number: int = 0, **changes: Any) -> Finding:
    """Return a finding; equal numbers have equal ids."""
    made = Finding(
        format=FORMAT,
        id=stable_id(AT_MS + number, "finding", str(number)),
        detection="ungranted",
        time=milli_text(AT_MS + number),
        first=milli_text(AT_MS - 60_000),
        cluster=CLUSTER,
        severity=Severity.HIGH,
        store="frontier",
        account="weightsa",
        container="checkpoints",
        who=OID,
        title=f"{OID} read frontier without a live grant",
        detail="2 requests and 16.0 GiB read.",
        remedy="Ask who ran it.",
        techniques=["T1530"],
        events=2,
        bytes=16 << 30,
        addresses=["10.4.7.21"],
        pods=["train/job-0"],
        requesters=["user:0123456789abcdef"],
    )
    return msgspec.structs.replace(made, **changes)


def make_notice(number: int = 0, **changes: Any) -> Notice:
    """Return the notice of a finding."""
    return notice_of_finding(make_finding(number, **changes))


def make_gap(log: str = "pods", cluster: str = CLUSTER) -> LogGap:
    """Return a gap of an hour."""
    begin_ms, end_ms = AT_MS, AT_MS + 3_600_000
    return LogGap(
        format=FORMAT,
        id=gap_id(cluster, log, "pods", begin_ms, end_ms),
        cluster=cluster,
        log=log,
        subject="pods",
        begin=milli_text(begin_ms),
        end=milli_text(end_ms),
        why="a watch was away",
    )


def frame_of(event: Finding | LogGap) -> Frame:
    """Return the frame that records it."""
    kind = FrameKind.FINDING if isinstance(event, Finding) else FrameKind.LOG_GAP
    return Frame(kind, decision_frame_id(event.id), encode_event(event))


async def record(store: Store, *events: Finding | LogGap) -> None:
    """Record events, each once, in this order."""
    for event in events:
        await store.deliver(event.cluster, [frame_of(event)])


@asynccontextmanager
async def open_store(folder: Path) -> AsyncIterator[Store]:
    """Open a ledger in SQLite, made where there is none."""
    async with Store(f"sqlite:///{folder / 'ledger.db'}") as store:
        yield store
