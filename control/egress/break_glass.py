"""Which BreakGlasses open the egress of a namespace now: those that are open and still approved."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from admission.approvals.break_glass import is_in_force
from core.approvals.break_glass import BreakGlass
from core.approvals.break_glass_egress import (
    BreakGlassOpening,
    egress_opening,
)
from core.base.errors import AccessReviewError, NotSyncedError
from core.cluster import Cluster
from core.people.two_person import ApprovalTerms, Consent

CONSIDER_S: Final = 10.0
"""What is open is asked for again after so long: an approver may lose the right, or be at risk."""

_Facts = tuple[tuple[BreakGlass, tuple[Consent, ...]], ...]


@dataclass
class BreakGlassOpenings:
    """Asks; where it cannot be known, nothing is open."""

    cluster: Cluster
    terms: Callable[[], ApprovalTerms]
    clock: Callable[[], float] = time.time
    _known: dict[str, tuple[float, _Facts]] = field(default_factory=dict)
    """What of a namespace was looked at, and when; nothing where there was nothing."""

    def require(self) -> None:
        """Say whether they are known.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        self.cluster.break_glasses.everywhere()
        self.cluster.break_glasses.consents("")

    async def of(self, namespace: str) -> tuple[tuple[BreakGlassOpening, ...], str]:
        """Return what is open in a namespace now, and what could not be asked; empty for nothing.

        What could not be asked is not open.

        Raises:
            NotSyncedError: as `require`.
        """
        now = self.clock()
        self._known.pop(namespace, None)
        facts = self._facts(namespace, now)
        if facts:
            self._known[namespace] = (now, facts)
        found, problems = [], []
        for one, _ in facts:
            opening = egress_opening(one)
            try:
                if opening and await is_in_force(self.cluster, one, now, self.terms()):
                    found.append(opening)
            except AccessReviewError as error:
                problems.append(f"BreakGlass {one.meta.name} opens nothing: {error}")
        return tuple(found), "; ".join(problems)

    def reconsider(self) -> frozenset[str]:
        """Name the namespaces for which something has changed, or was looked at long ago.

        Each once a change. Where nothing is known, those that something was open in.
        """
        now = self.clock()
        try:
            self.require()
            all_ = self.cluster.break_glasses.everywhere()
        except NotSyncedError:
            return frozenset(self._known)
        named = {
            namespace
            for each in all_
            if each.spec.egress is not None and each.is_open(now)
            for namespace in each.spec.namespaces
        }
        return frozenset(each for each in {*named, *self._known} if self._is_due(each, now))

    def forget(self) -> None:
        """Forget all of it."""
        self._known.clear()

    def _is_due(self, namespace: str, now: float) -> bool:
        at, known = self._known.get(namespace, (now, ()))
        try:
            return not 0 <= now - at < CONSIDER_S or self._facts(namespace, now) != known
        except NotSyncedError:
            return True

    def _facts(self, namespace: str, now: float) -> _Facts:
        sealed = self.cluster.break_glasses
        return tuple(
            (each, tuple(sealed.consents(each.meta.uid)))
            for each in sealed.activated_in(namespace)
            if each.spec.egress is not None and each.is_open(now)
        )
