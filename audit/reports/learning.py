"""What the detections had learnt by a period's end, from the checkpoint that the ledger keeps."""

import zlib
from collections.abc import Iterable
from typing import Final

import msgspec

from audit.access.detections.engine import Engine
from audit.access.ingest.state import DETECTIONS
from audit.reports.completeness import Learnt, YoungRow
from audit.reports.pages import Documents, Wanted
from audit.reports.parts import MOST_ROWS
from audit.reports.periods import DAY_MS, Period, time_text
from audit.reports.tallies.bounded_rows import cut

_MOST_AFTER_MS: Final = 7 * DAY_MS
"""So long after a period's end a checkpoint still tells how the baselines were in it."""

_MOST_YOUNG: Final = 20


class _Saved(msgspec.Struct):
    """What of `audit.access.ingest.detection_feed`'s checkpoint is read."""

    engine: bytes


async def read_learnt(source: Documents, wanted: Wanted, clusters: Iterable[str]) -> list[Learnt]:
    """Read what the detections of each cluster had learnt.

    Raises:
        LedgerError: the ledger does not answer.
    """
    found = []
    for cluster in sorted(clusters)[:MOST_ROWS]:
        checkpoint = await source.load_checkpoint(cluster, DETECTIONS)
        if checkpoint is None:
            found.append(Learnt(cluster=cluster, unknown="the ledger has no checkpoint of it"))
        elif wanted.size is not None and checkpoint[0] > wanted.size:
            found.append(Learnt(cluster=cluster, unknown="its checkpoint is younger than this"))
        else:
            found.append(learnt(cluster, wanted.period, checkpoint[1]))
    return found


def learnt(cluster: str, period: Period, content: bytes) -> Learnt:
    """Read a checkpoint. Pure."""
    engine = Engine()
    try:
        saved = msgspec.msgpack.decode(zlib.decompress(content), type=_Saved)
    except (zlib.error, ValueError):
        return Learnt(cluster=cluster, unknown="its checkpoint cannot be read")
    if engine.restore(saved.engine):
        return Learnt(cluster=cluster, unknown="its checkpoint is of another release")
    at_ms = int(engine.newest * 1000)
    if not period.begin_ms <= at_ms < period.end_ms + _MOST_AFTER_MS:
        text = f"its checkpoint is as of {time_text(at_ms)}, which is not this period's end"
        return Learnt(cluster=cluster, unknown=text)
    young = [
        YoungRow(detection=one.detection, subject=one.subject, why=one.why)
        for one in engine.young(engine.newest)
    ]
    young.sort(key=lambda one: (one.detection, one.subject, one.why))
    kept, more = cut(young, _MOST_YOUNG)
    return Learnt(
        cluster=cluster,
        at=time_text(at_ms),
        young=kept,
        more_young=more,
        unraised=dict(sorted(engine.unraised.items())),
        broken={name: one.times for name, one in sorted(engine.broken.items())},
    )
