"""Judges Pods that run, with the patience that a review at the gate cannot have."""

import asyncio
import time
from dataclasses import dataclass
from typing import Final, Protocol

import structlog
from msgspec.structs import replace

from control.sweep.pods import ListedPod, request_for
from control.sweep.settings import SweepSettings
from core.base.errors import (
    AccessReviewError,
    DeadlineError,
    EngineAwayError,
    NotSyncedError,
    OwnerUnknownError,
)
from core.decision.decision import Decision, Running
from core.decision.request import Request
from core.decision.sweep_document import sweep_decision_id
from kube.client.objects import Objects

_PASSING: Final = frozenset(
    {NotSyncedError.kind, AccessReviewError.kind, DeadlineError.kind, OwnerUnknownError.kind}
    | {EngineAwayError.kind}
)
"""Kinds of errors that may be over in a moment."""

_READY_EVERY_S: Final = 0.5

_log = structlog.get_logger(__name__)


class Judge(Protocol):
    """Decides on requests. Implemented by `admission`."""

    def missing(self) -> list[str]:
        """Name what is not loaded yet, for a person; empty when requests can be judged."""

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """Decide on the final state of an object within `budget` seconds."""


@dataclass(frozen=True)
class PodDecision:
    """A decision on a Pod that runs."""

    request: Request
    decision: Decision
    seconds: float


class PodJudge:
    """Judges the Pods of one run of the sweep, one after another."""

    def __init__(self, judge: Judge, objects: Objects, settings: SweepSettings) -> None:
        self._judge = judge
        self._objects = objects
        self._settings = settings
        self._gone = ""
        self._patient = True

    async def ready(self) -> None:
        """Wait until anything can be judged: nothing is an error only because a watch is down."""
        said = False
        while missing := self._judge.missing():
            if not said:
                _log.warning("the sweep waits: nothing can be judged", missing=missing)
                said = True
            await asyncio.sleep(_READY_EVERY_S)

    async def judge(self, pod: ListedPod, sweep: str) -> PodDecision | None:
        """Judge a Pod; None where its namespace is gone, and it with it.

        What may be over in a moment is tried again, until that has once been in vain: a cluster
        that answers nothing for long must not take seconds for each Pod.

        Raises:
            ClusterError: kube-apiserver does not say whether the namespace is there.
        """
        if pod.namespace == self._gone:
            return None
        request = request_for(pod)
        judged = await self._once(request)
        if judged.decision.error_kind == NotSyncedError.kind and await self._is_gone(pod.namespace):
            return None
        for wait_s in self._settings.retry_s if self._patient else ():
            if not _is_passing(judged.decision):
                break
            await asyncio.sleep(wait_s)
            judged = await self._once(request)
        self._patient = not _is_passing(judged.decision)
        running = Running(pod.workload, pod.runtime)
        evidence = replace(
            judged.decision.evidence, object_uid=pod.uid, running=running, sweep=sweep
        )
        identity = sweep_decision_id(sweep, pod.uid)
        decision = replace(judged.decision, id=identity, evidence=evidence)
        return PodDecision(request, decision, judged.seconds)

    async def _once(self, request: Request) -> PodDecision:
        began = time.perf_counter()
        decision = await self._judge.validate(request, budget=self._settings.budget_s)
        return PodDecision(request, decision, time.perf_counter() - began)

    async def _is_gone(self, namespace: str) -> bool:
        if await self._objects.get(f"/api/v1/namespaces/{namespace}") is not None:
            return False
        self._gone = namespace
        return True


def _is_passing(decision: Decision) -> bool:
    return decision.error_kind in _PASSING
