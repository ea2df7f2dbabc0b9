"""Which applications Entra ID is asked about: those that the cluster's workloads can sign in as.

Service accounts name some; others are seen only in Pods, which the sweep judges: a client id in the
environment, a token of the Pod's own making.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from control.sweep.judge import Judge
from core.base.errors import NotSyncedError
from core.decision.decision import Decision
from core.decision.request import Request
from core.risk.model import Role
from core.risk.snapshot import RiskSnapshot
from identity.risk.principals import GUID

MOST: Final = 10_000
"""Of Pods: whoever can create Pods chooses what they name, and Graph is asked for each."""

_CLIENT: Final = "client:"


@dataclass
class ApplicationsInUse:
    """Called, it gives their ids: GUIDs in lower case."""

    of_accounts: Callable[[], Iterable[str]]
    """Gives those that service accounts name; raises NotSyncedError while they are not known."""
    snapshot: Callable[[], RiskSnapshot | None]
    pipelines: Iterable[str] = ()
    """User names: one that is a GUID is an application's object id, for so AKS names those that
    ask kube-apiserver themselves."""
    keep_s: float = 3 * 3600.0
    """For so long one counts that was seen in a Pod: longer than from one sweep to the next."""
    now: Callable[[], float] = time.monotonic
    _seen: dict[str, float] = field(default_factory=dict, init=False)
    _resumed: bool = field(default=False, init=False)

    def __call__(self) -> frozenset[str]:
        """Return all that are in use now; while accounts are not known, what was known before."""
        try:
            of_accounts = self.of_accounts()
        except NotSyncedError:
            of_accounts = ()
        self._resume()
        until = self.now() - self.keep_s
        self._seen = {each: seen for each, seen in self._seen.items() if seen >= until}
        named = map(str.lower, (*of_accounts, *self.pipelines, *self._seen))
        return frozenset(filter(GUID.fullmatch, named))

    def note(self, decision: Decision) -> None:
        """Take in what a decision on a Pod says that it can sign in as."""
        for each in decision.evidence.risk:
            if each.role == Role.WORKLOAD.value:
                self._note(each.who.removeprefix(_CLIENT))

    def _note(self, client_id: str) -> None:
        if len(self._seen) < MOST or client_id in self._seen:
            self._seen[client_id] = self.now()

    def _resume(self) -> None:
        """Go on with those that were known before this process: the sweep has yet to see them."""
        snapshot = None if self._resumed else self.snapshot()
        if snapshot is None or not snapshot.head.version:
            return
        self._resumed = True
        for client_id, _ in snapshot.applications():
            self._note(client_id)


@dataclass(frozen=True)
class NotingJudge:
    """A judge whose decisions are taken note of."""

    judge: Judge
    note: Callable[[Decision], None]

    def missing(self) -> list[str]:
        """Name what is not loaded yet, for a person; empty when requests can be judged."""
        return self.judge.missing()

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """Decide on the final state of an object within `budget` seconds."""
        decision = await self.judge.validate(request, budget=budget)
        self.note(decision)
        return decision
