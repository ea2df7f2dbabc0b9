"""Whether decisions are recorded: the spools of gates and control, and the auditor's ledger."""

import datetime as dt
import math
from collections.abc import Iterator
from typing import Final

from cli.shared.cluster_status.model import AreaFindings, LedgerStatus, RecordingStatus, alert
from cli.shared.cluster_status.process_metrics import ProcessMetrics, smallest
from cli.shared.cluster_status.processes import ProcessesSeen
from core.base.times import DAY_S

_HOUR_S: Final = 3600.0
_LATE_S: Final = 300.0
"""As the alert SallyportNothingShipped counts."""
_UNSIGNED_S: Final = 900.0
"""As the alert SallyportLedgerNotSigned counts."""
_MIB: Final = 1024 * 1024
_FEW_HOURS: Final = 4.0
"""As the alert SallyportSpoolFills counts."""
_FEW_DAYS: Final = 7.0
_LITTLE: Final = 0.1
"""Share of the ledger's room: both as the alert SallyportLedgerFills counts."""
_LAST_DAYS: Final = 0.5
_LEAST: Final = 0.02
"""Both as the alert SallyportLedgerAlmostFull counts."""


def read_recording(seen: ProcessesSeen, found: AreaFindings) -> list[RecordingStatus]:
    """Say how each spool stands."""
    spools = [
        _spool(pod, metrics)
        for process in ("gate", "control")
        for pod, metrics in seen.of(process).items()
        if metrics.value("sallyport_spool_max_bytes") is not None
    ]
    if "auditor" not in seen.processes:
        found.off = True
        found.says.append("there is no auditor: decisions are written to the log alone")
        return spools
    if not spools:
        found.gap("no gate could be asked whether it records")
        return spools
    for each in spools:
        _judge_spool(each, found)
    fullest = max(spools, key=lambda each: each.held_bytes / max(1, each.most_bytes))
    found.says.append(
        f"{len(spools)} spools; the fullest holds {fullest.held_bytes / _MIB:.1f} of "
        f"{fullest.most_bytes / _MIB:.0f} MiB ({fullest.pod})"
    )
    _note_unrecorded(seen, found)
    return spools


def _spool(pod: str, metrics: ProcessMetrics) -> RecordingStatus:
    held = int(metrics.value("sallyport_spool_bytes") or 0)
    most = int(metrics.value("sallyport_spool_max_bytes") or 0)
    left = metrics.value("sallyport_spool_seconds_left")
    return RecordingStatus(
        pod=pod,
        full=bool(metrics.value("sallyport_spool_full")),
        held_bytes=held,
        most_bytes=most,
        oldest_seconds=round(metrics.value("sallyport_spool_oldest_seconds") or 0.0, 1),
        hours_left=None if left is None else round(left / _HOUR_S, 1),
    )


def _judge_spool(spool: RecordingStatus, found: AreaFindings) -> None:
    if spool.full:
        found.problem(
            f"{spool.pod} can record nothing more: its spool is full, or cannot be written",
            "bring the auditor back: kubectl logs sallyport-auditor-0; then the spool empties",
            alert("SallyportSpoolFull"),
            critical=True,
        )
    elif spool.oldest_seconds > _LATE_S:
        soon = spool.hours_left is not None and spool.hours_left < _FEW_HOURS
        room = f"; full in {spool.hours_left:g} hours" if spool.hours_left is not None else ""
        found.problem(
            f"{spool.pod}: the auditor has acknowledged nothing for "
            f"{spool.oldest_seconds / 60:.0f} minutes{room}",
            "kubectl logs sallyport-auditor-0: its volume, its database, its certificate",
            alert("SallyportSpoolFills" if soon else "SallyportNothingShipped"),
            critical=soon,
        )


def _note_unrecorded(seen: ProcessesSeen, found: AreaFindings) -> None:
    for pod, metrics in seen.of("gate").items():
        lost = sum(value for _, value in metrics.all("sallyport_unrecorded_decisions_total"))
        if lost:
            found.notes.append(
                f"{pod} has not recorded {lost:.0f} decisions since it began "
                f"({alert('SallyportUnrecorded')})"
            )


def read_ledger(seen: ProcessesSeen, found: AreaFindings, now: dt.datetime) -> LedgerStatus | None:
    """Say how the ledger stands; None where there is none, or nobody could be asked."""
    if "auditor" not in seen.processes:
        found.off = True
        return None
    metrics = next(iter(seen.of("auditor").values()), None)
    if metrics is None:
        found.gap("the auditor could not be asked")
        return None
    ledger = LedgerStatus(
        records=int(metrics.value("sallyport_ledger_records") or 0),
        signed_seconds_ago=_age(metrics, now),
        used_bytes=_whole(metrics.value("sallyport_ledger_size_bytes")),
        free_bytes=_whole(metrics.value("sallyport_ledger_free_bytes")),
        days_left=_days_left(metrics),
    )
    found.says.append(", ".join(_ledger_words(ledger)))
    _judge_ledger(ledger, metrics, found)
    return ledger


def _age(metrics: ProcessMetrics, now: dt.datetime) -> float | None:
    signed = metrics.value("sallyport_ledger_head_timestamp_seconds")
    return round(now.timestamp() - signed, 1) if signed else None


def _days_left(metrics: ProcessMetrics) -> float | None:
    """Return the fewest days, whichever window they are counted by."""
    left = smallest(metrics, "sallyport_ledger_seconds_left")
    return None if left is None else round(left / DAY_S, 1)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _ledger_words(ledger: LedgerStatus) -> Iterator[str]:
    yield f"{ledger.records:,} records"
    if ledger.used_bytes is not None:
        yield f"{ledger.used_bytes / _MIB:,.0f} MiB"
    if ledger.free_bytes is not None:
        yield f"{ledger.free_bytes / _MIB:,.0f} MiB free"
    if ledger.days_left is not None:
        yield f"full in {ledger.days_left:.1f} days"
    if ledger.signed_seconds_ago is not None:
        yield f"last signed {ledger.signed_seconds_ago:.0f} s ago"


def _judge_ledger(ledger: LedgerStatus, metrics: ProcessMetrics, found: AreaFindings) -> None:
    signed = metrics.value("sallyport_ledger_signed_records") or 0
    if ledger.records > signed and (ledger.signed_seconds_ago or 0) > _UNSIGNED_S:
        found.problem(
            f"{ledger.records - signed:.0f} records are not signed, the last head is "
            f"{(ledger.signed_seconds_ago or 0) / 60:.0f} minutes old",
            "kubectl logs sallyport-auditor-0, and the Secret sallyport-ledger-signing",
            alert("SallyportLedgerNotSigned"),
        )
    outside = metrics.value("sallyport_ledger_rows_outside") or 0
    if outside:
        found.problem(
            f"the ledger has {outside:.0f} rows that are not in its log: somebody else wrote them",
            "treat it as an incident: sallyport ledger verify names the rows",
            alert("SallyportLedgerWrittenPast"),
            critical=True,
        )
    _judge_room(ledger, metrics.value("sallyport_ledger_max_bytes"), found)


def _judge_room(ledger: LedgerStatus, budget: float | None, found: AreaFindings) -> None:
    used, free = ledger.used_bytes, ledger.free_bytes
    if used is None or free is None:
        found.gap(f"how much room the ledger has ({alert('SallyportLedgerRoomUnknown')})")
        return
    share = free / max(1.0, budget if budget is not None else used + free)
    days = ledger.days_left if ledger.days_left is not None else math.inf
    when = "nearly full" if math.isinf(days) else f"full in {days:.1f} days"
    what = f"the ledger is {when}: {free / _MIB:,.0f} MiB are free"
    first = "make room, or keep less (auditor.ledger)"
    if budget is not None and used > budget:
        what = f"the ledger is larger than its budget by {(used - budget) / _MIB:,.0f} MiB"
        found.problem(what, first, alert("SallyportLedgerOverBudget"), critical=True)
    elif days < _LAST_DAYS or share < _LEAST:
        found.problem(what, first, alert("SallyportLedgerAlmostFull"), critical=True)
    elif days < _FEW_DAYS or share < _LITTLE:
        found.problem(what, first, alert("SallyportLedgerFills"))
