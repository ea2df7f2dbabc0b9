"""Whether what is broader than the operator's limits has been approved by two people."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from admission.approvals.approvals import ask_approved
from core.base import names
from core.base.errors import AccessReviewError
from core.cluster import Cluster
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.people.two_person import ApprovalTerms, Approved, Consent
from egress.compiler.allowlists import not_approved_message
from egress.limits.breadth import Breadth, Limits, measure
from egress.model.facts import TagSource

Broad = EgressAllowlist | EgressDestinations


@dataclass(frozen=True)
class Approval:
    """How an object stands with its approvals."""

    broad: str = ""
    """What of it needs approval; empty for nothing."""
    why_not: str = ""
    """Why it may open nothing; empty where it may."""
    note: str = ""
    """Why the answer is an older one; empty where it is not."""
    until: float | None = None
    """Unix seconds at which an approval ends, if one counts."""


@dataclass
class Approvals:
    """Asks; how broad an object is is worked out once, and the last answer kept."""

    cluster: Cluster
    terms: Callable[[], ApprovalTerms]
    limits: Limits
    _breadths: dict[str, tuple[str, TagSource, Breadth]] = field(default_factory=dict)
    _last: dict[str, tuple[str, Approval]] = field(default_factory=dict)

    def broad(self, what: Broad, tags: TagSource) -> str:
        """Say what of an object needs approval; empty for nothing."""
        return "; ".join(self.measured(what, tags).reasons)

    def measured(self, what: Broad, tags: TagSource) -> Breadth:
        """Return how much an object reaches by itself."""
        uid, digest = what.meta.uid, what.approvable.digest
        known = self._breadths.get(uid)
        if known is None or known[0] != digest or known[1] is not tags:
            found = measure(what.spec.to, self.limits, tags)
            known = self._breadths[uid] = (digest, tags, found)
        return known[2]

    def consents(self, what: Broad) -> Sequence[Consent]:
        """Return the approvals of an object.

        Raises:
            NotSyncedError: they have not been loaded.
        """
        if isinstance(what, EgressAllowlist):
            return self.cluster.exceptions.consents(what.meta.namespace, what.meta.uid)
        return self.cluster.break_glasses.consents(what.meta.uid)

    async def ask(
        self, what: Broad, tags: TagSource, now: float, names_shared: Sequence[str] = ()
    ) -> Approval:
        """Say how an object stands; `names_shared` is what of its names turned out to be shared.

        Raises:
            AccessReviewError: the cluster did not say who may approve, and never has.
            NotSyncedError: approvals have not been loaded.
        """
        broad = "; ".join(filter(None, (self.broad(what, tags), *names_shared)))
        if not broad:
            return Approval()
        uid, digest = what.meta.uid, what.approvable.digest
        consents = self.consents(what)
        try:
            answer = await ask_approved(
                self.cluster, what.approvable, consents, names.EGRESS_TIER, now, self.terms()
            )
        except AccessReviewError as error:
            known, last = self._last.get(uid, ("", Approval()))
            if known != digest or not _still(last, now):
                raise
            return Approval(last.broad, last.why_not, str(error), last.until)
        if isinstance(answer, Approved):
            ends = (each.expires for each in consents if each.expires > now)
            found = Approval(broad, until=min(ends, default=None))
        else:
            found = Approval(broad, not_approved_message(broad, answer.reasons))
        self._last[uid] = (digest, found)
        return found

    def keep(self, uids: frozenset[str]) -> None:
        """Forget what is not there any more."""
        self._breadths = {uid: each for uid, each in self._breadths.items() if uid in uids}
        self._last = {uid: each for uid, each in self._last.items() if uid in uids}


def _still(approval: Approval, now: float) -> bool:
    """Return whether an older answer may count: not beyond the end of an approval."""
    return approval.until is None or now < approval.until
