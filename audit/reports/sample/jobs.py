"""Pods of the sample month: when each began and ended, where, and what it read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from audit.reports.periods import Period
from audit.reports.sample.cast import (
    BACKUP,
    CLUSTER,
    EVALUATORS,
    SCANNER,
    SERVERS,
    TRAINERS,
    Worker,
    draw,
    sample_id,
)
from core.base.ids import stable_id
from core.base.times import DAY_MS

HOUR_MS: Final = 3_600_000
MINUTE_MS: Final = 60_000

HOLDOUT_ENDS: Final = 20
"""The day of the month (from 0) on which the grant of the hold-out evaluation ends."""

_SATURDAY: Final = 5
_THURSDAY: Final = 3
_NODES: Final = 48


@dataclass(frozen=True)
class Job:
    """One Pod."""

    worker: Worker
    name: str
    began_ms: int
    ended_ms: int
    """The end of the month or later: it lives on."""
    number: int

    @property
    def uid(self) -> str:
        """Of the Pod."""
        return sample_id("pod", self.worker.namespace, self.name)

    @property
    def node(self) -> str:
        """Where it runs."""
        return f"aks-gpu-{draw(_NODES, 'node', self.name):06d}"

    @property
    def node_address(self) -> str:
        """Of the node."""
        return f"10.224.0.{draw(_NODES, 'node', self.name) + 10}"

    @property
    def address(self) -> str:
        """Of the Pod: no other of the month has it."""
        return f"10.{244 + self.number // 65025}.{self.number // 255 % 255}.{self.number % 255 + 1}"

    @property
    def decision(self) -> str:
        """Id of the decision that admitted it."""
        return stable_id(self.began_ms - 900, "sample decision", CLUSTER, self.uid)


def list_jobs(month: Period) -> list[Job]:
    """Return all Pods of the month, in the order in which they began."""
    planned = sorted(_planned(month), key=lambda plan: (plan[1], plan[0].name, plan[3]))
    return [
        Job(worker, name, began, ended, number)
        for number, (worker, began, ended, name) in enumerate(planned)
    ]


def is_weekend(month: Period, day: int) -> bool:
    """Return whether a day of the month is a Saturday or a Sunday."""
    return (month.first_day + day + _THURSDAY) % 7 >= _SATURDAY


_Plan = tuple[Worker, int, int, str]


def _planned(month: Period) -> Iterator[_Plan]:
    for worker in (SCANNER, BACKUP, *SERVERS):
        yield worker, month.begin_ms - 5 * DAY_MS, month.end_ms + DAY_MS, f"{worker.name}-0"
    for day in range(month.days):
        begin = month.begin_ms + day * DAY_MS
        for worker in TRAINERS:
            if not is_weekend(month, day) and not draw(3, "train", worker.name, day):
                yield _run(worker, begin + _working(worker, day), draw(20, "long", day) + 4, day)
        for worker in EVALUATORS:
            over = day >= HOLDOUT_ENDS and worker.grant.endswith("holdout")
            if draw(4, "eval", worker.name, day) and not over:
                yield _run(worker, begin + _working(worker, day), 2, day)
    # The hold-out evaluation began before its grant ended, and went on.
    begin = month.begin_ms + (HOLDOUT_ENDS - 1) * DAY_MS + 15 * HOUR_MS
    yield EVALUATORS[0], begin, begin + 3 * DAY_MS, "holdout-long-run"


def _working(worker: Worker, day: int) -> int:
    """Return a moment of the day, mostly in working hours."""
    hours = (7, 8, 8, 9, 9, 9, 10, 10, 11, 12, 13, 13, 14, 14, 15, 16, 17, 18, 20, 22)
    hour = hours[draw(len(hours), "hour", worker.name, day)]
    return hour * HOUR_MS + draw(HOUR_MS, "minute", worker.name, day)


def _run(worker: Worker, begin: int, hours: int, day: int) -> _Plan:
    name = f"{worker.name}-{day + 1:02d}-{sample_id('run', worker.name, day)[:5]}"
    return worker, begin, begin + hours * HOUR_MS, name
