"""What a sweep works with, put together once by whoever starts it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from audit.ledger.recorder import LedgerRecorder
from control.sweep.cursor import CursorStore
from control.sweep.judge import Judge
from control.sweep.metrics import SweepMetrics
from control.sweep.report_writer import ReportWriter
from control.sweep.settings import SweepSettings
from core.base.ids import uuid7
from kube.client.objects import Objects


def _at_once() -> bool:
    return True


def _no_severity(_rule: str) -> str:
    return ""


@dataclass(frozen=True)
class SweepParts:
    """The cluster, the judge, and where results go."""

    objects: Objects
    judge: Judge
    recorder: LedgerRecorder
    cursors: CursorStore
    reports: ReportWriter
    metrics: SweepMetrics
    settings: SweepSettings
    severity_of: Callable[[str], str] = _no_severity
    """Knows the severity of a rule by its id; empty for one that it does not know."""
    settled: Callable[[], bool] = _at_once
    """Says whether all that was recorded would survive the end of this machine."""
    now: Callable[[], float] = time.time
    """Seconds since the epoch."""
    new_id: Callable[[int], str] = uuid7
    """Makes a sweep's id for a time in milliseconds since the epoch."""
