"""How many Pods an object makes, and whether it makes them at once. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Final

from core.kubernetes.pod_templates import Json
from core.kubernetes.workload_kinds import WORKLOADS

_STEP: Final = re.compile(r"([^.\[\]]+)|\[([0-9]+)\]")

_LATER: Final = frozenset({"CronJob", "CronWorkflow", "RayCronJob", "ScheduledSparkApplication"})
"""Kinds that make Pods at times of their own."""


def count_pods(group: str, kind: str, value: Json, path: str) -> int:
    """Return how many Pods an object makes of the template at a path; 1 where it does not say.

    Read on the way to it: `replicas`, of a Job `parallelism` (no more than `completions`), of Ray
    `numOfHosts`, of a LeaderWorkerSet `size`, of Spark `instances`. Of kinds that nobody listed
    nothing is read: their fields may mean anything.
    """
    if (group, kind) not in WORKLOADS:
        return 1
    count = 1
    here: Any = value
    steps = [name or int(index) for name, index in _STEP.findall(path)]
    for step in steps:
        if isinstance(here, Mapping):
            count *= _here(here, step)
        here = _under(here, step)
    return count * _number(here, "instances", 1) if kind.endswith("SparkApplication") else count


def makes_pods_now(group: str, kind: str, value: Json) -> bool:
    """Return whether Pods are made of it as soon as it is there."""
    workload = WORKLOADS.get((group, kind))
    if kind in _LATER or (workload is not None and not workload.controllers):
        return False
    spec = value.get("spec")
    return not (isinstance(spec, Mapping) and spec.get("suspend") is True)


def _here(value: Json, step: str | int) -> int:
    """Return what one object on the way multiplies by."""
    count = _number(value, "replicas", 1) * _number(value, "numOfHosts", 1)
    if step == "template" and "parallelism" in value:
        parallel = _number(value, "parallelism", 1)
        count *= min(parallel, _number(value, "completions", parallel))
    if step == "workerTemplate":
        led = isinstance(value.get("leaderTemplate"), Mapping)
        count *= max(_number(value, "size", 1) - led, 0)
    return count


def _number(value: Any, field: str, without: int) -> int:
    found = value.get(field) if isinstance(value, Mapping) else None
    if not isinstance(found, int) or isinstance(found, bool):
        return without
    return max(found, 0)


def _under(value: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else None
    return value.get(step) if isinstance(value, Mapping) else None
