"""Whether decisions are recorded: the spools of gates and control, and the auditor's ledger."""

import datetime as dt
import math
from collections.abc import Collection, Iterator
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
_UNRECORDED_S: Final = 86400.0
"""For so long a decision that was not recorded is a problem, and is a note after it."""
_MIB: Final = 1024 * 1024
_FEW_HOURS: Final = 4.0
"""As the alert SallyportSpoolFills counts."""
_FEW_DAYS: Final = 7.0
_LITTLE: Final = 0.1
"""Share of the ledger's room: both as the alert SallyportLedgerFills counts."""
_LAST_DAYS: Final = 0.5
_LEAST: Final = 0.02
"""Both as the alert SallyportLedgerAlmostFull counts."""


_OF_SPOOL: Final = (
    "sallyport_spool_max_bytes",
    "sallyport_spool_bytes",
    "sallyport_spool_full",
    "sallyport_spool_oldest_seconds",
)
"""What each spool shows; without one of them nobody knows how it stands."""
_LOST: Final = "sallyport_unrecorded_decisions_total"


def read_recording(
    seen: ProcessesSeen, found: AreaFindings, now: dt.datetime
) -> list[RecordingStatus]:
    """Say how each spool stands; each gate that runs must have one."""
    spools = [
        _spool(pod, metrics)
        for process in ("gate", "control")
        for pod, metrics in seen.of(process).items()
        if all(metrics.value(name) is not None for name in _OF_SPOOL)
    ]
    if "auditor" not in seen.processes:
        found.off = True
        found.says.append("there is no auditor: decisions are written to the log alone")
        return spools
    _note_unrecorded(seen, found, now)
    _demand_spools(seen, {each.pod for each in spools}, found)
    if not spools:
        return spools
    for each in spools:
        _judge_spool(each, found)
    fullest = max(spools, key=lambda each: each.held_bytes / max(1, each.most_bytes))
    found.says.append(
        f"{len(spools)} spools; the fullest holds {fullest.held_bytes / _MIB:.1f} of "
        f"{fullest.most_bytes / _MIB:.0f} MiB ({fullest.pod})"
    )
    return spools


def _demand_spools(seen: ProcessesSeen, spooling: Collection[str], found: AreaFindings) -> None:
    """Note gates that run and say nothing of a spool: control's own says nothing of theirs."""
    gates = seen.processes.get("gate")
    running = {pod.name for pod in gates.pods if pod.since} if gates else set()
    running |= seen.of("gate").keys()
    if not running:
        found.gap("no gate could be asked whether it records")
    for pod in sorted(running - set(spooling)):
        found.gap(f"{pod} does not say whether it records")


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


def unrecorded(metrics: ProcessMetrics) -> float:
    """Return how many decisions a gate has not recorded since it began."""
    return sum(value for _, value in metrics.all(_LOST))


def _note_unrecorded(seen: ProcessesSeen, found: AreaFindings, now: dt.datetime) -> None:
    """A count never falls: what was lost is a problem for a day, and then worth knowing."""
    for pod, metrics in seen.of("gate").items():
        if metrics.value(_LOST) is None:
            found.gap(f"{pod} does not say whether it recorded all")
        lost = unrecorded(metrics)
        if not lost:
            continue
        last = metrics.value("sallyport_unrecorded_last_timestamp_seconds")
        ago = now.timestamp() - last if last else None  # Releases before this one do not say it.
        when = "" if ago is None else f", the last {ago / _HOUR_S:.1f} hours ago"
        what = f"{pod} has not recorded {lost:.0f} decisions since it began{when}"
        if ago is not None and ago > _UNRECORDED_S:
            found.notes.append(f"{what} ({alert('SallyportUnrecorded')})")
            continue
        found.problem(
            what,
            "is a spool full, or its disk? kubectl logs of that Pod says what was not recorded",
            alert("SallyportUnrecorded"),
            critical=True,
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
        records=_whole(metrics.value("sallyport_ledger_records")),
        signed_seconds_ago=_age(metrics, now),
        used_bytes=_whole(metrics.value("sallyport_ledger_size_bytes")),
        free_bytes=_whole(metrics.value("sallyport_ledger_free_bytes")),
        days_left=_days_left(metrics),
    )
    if words := ", ".join(_ledger_words(ledger)):
        found.says.append(words)
    _judge_signing(ledger, metrics.value("sallyport_ledger_signed_records"), found)
    _judge_rows(metrics.value("sallyport_ledger_rows_outside"), found)
    _judge_room(ledger, metrics.value("sallyport_ledger_max_bytes"), found)
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
    if ledger.records is not None:
        yield f"{ledger.records:,} records"
    if ledger.used_bytes is not None:
        yield f"{ledger.used_bytes / _MIB:,.0f} MiB"
    if ledger.free_bytes is not None:
        yield f"{ledger.free_bytes / _MIB:,.0f} MiB free"
    if ledger.days_left is not None:
        yield f"full in {ledger.days_left:.1f} days"
    if ledger.signed_seconds_ago is not None:
        yield f"last signed {ledger.signed_seconds_ago:.0f} s ago"


def _judge_signing(ledger: LedgerStatus, signed: float | None, found: AreaFindings) -> None:
    records, ago = ledger.records, ledger.signed_seconds_ago
    if records is None:
        found.gap("the auditor does not say how many records its ledger has")
        return
    if records <= (signed or 0):
        return
    if signed is None or ago is None:
        what = f"none of {records:,} records is signed: no head ever was"
    elif ago > _UNSIGNED_S:
        what = f"{records - signed:.0f} records are not signed, the last head is "
        what += f"{ago / 60:.0f} minutes old"
    else:
        return
    found.problem(
        what,
        "kubectl logs sallyport-auditor-0, and the Secret sallyport-ledger-signing",
        alert("SallyportLedgerNotSigned"),
    )


def _judge_rows(outside: float | None, found: AreaFindings) -> None:
    if outside is None:
        found.gap("the auditor does not say whether rows are outside of its ledger's log")
    elif outside:
        found.problem(
            f"the ledger has {outside:.0f} rows that are not in its log: somebody else wrote them",
            "treat it as an incident: sallyport ledger verify names the rows",
            alert("SallyportLedgerWrittenPast"),
            critical=True,
        )


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
