"""What exceptions excuse of an object's needs: asked only where it would be refused without them.

Most namespaces have no exception: that costs a review one look into a dictionary.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from admission.approvals.approvals import ask_approved
from admission.chain import run
from admission.model.facts import Facts
from core.approvals.exceptions import PolicyException, WorkloadName
from core.base import names
from core.base.errors import NotSyncedError
from core.cluster import Cluster
from core.decision.decision import Denial, Need
from core.decision.request import Request
from core.kubernetes.requester_notes import RootWorkload
from core.people.two_person import ApprovalTerms, Approved, NotApproved, why_suspended


@dataclass(frozen=True)
class Target:
    """What an exception must name to mean an object."""

    group: str
    version: str
    """Empty for the workload that a Pod comes from: one object has all its versions."""
    kind: str
    name: str

    def is_named(self, workload: WorkloadName) -> bool:
        """Say whether an exception names it; what has no name yet is never named."""
        group, _, version = workload.api_version.rpartition("/")
        named = (group, workload.kind, workload.name) == (self.group, self.kind, self.name)
        return named and self.version in {"", version}


@dataclass(frozen=True)
class Excused:
    """What is left after exceptions, and which of them were used."""

    needs: tuple[Need, ...]
    denials: tuple[Denial, ...]
    used: tuple[PolicyException, ...] = ()
    idle: tuple[tuple[str, str], ...] = ()
    """Names of those that would excuse more, and why they are not in force."""


@dataclass(frozen=True)
class Excuser:
    """Knows which exceptions are in force."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]

    def standing(self, request: Request, facts: Facts) -> tuple[PolicyException, ...]:
        """Give the exceptions that may matter: none where the object is admitted as it is.

        Raises:
            NotSyncedError: as `known`.
        """
        found = self.known(request, facts)
        return found if found and _refused(request, facts) else ()

    def known(self, request: Request, facts: Facts) -> tuple[PolicyException, ...]:
        """Give the exceptions of the request's namespace; none where a person asks about a profile.

        Raises:
            NotSyncedError: the exceptions are not known, and it would be refused without them.
        """
        try:
            return self.of_namespace(request)
        except NotSyncedError:
            if _refused(request, facts):
                raise
            return ()

    def of_namespace(self, request: Request) -> tuple[PolicyException, ...]:
        """Give the same, where it would be refused without them.

        Raises:
            NotSyncedError: the exceptions are not known.
        """
        if not request.namespace or request.asked_profile is not None:
            return ()
        return self.cluster.exceptions.in_namespace(request.namespace)

    async def excuse(
        self,
        exceptions: Iterable[PolicyException],
        needs: Sequence[Need],
        denied: Sequence[Denial],
    ) -> Excused:
        """Take away what those of the exceptions excuse that are in force now.

        Raises:
            AccessReviewError: the cluster did not say whether an approver may approve.
            NotSyncedError: the approvals are not known.
        """
        left, denials_left = list(needs), list(denied)
        used: list[PolicyException] = []
        idle: list[tuple[str, str]] = []
        for exception in exceptions:
            excuses = exception.spec.excuses
            kept = [each for each in left if not any(e.excuses(each) for e in excuses)]
            free = [d for d in denials_left if not any(e.excuses_denial(d) for e in excuses)]
            if (len(kept), len(free)) == (len(left), len(denials_left)):
                continue
            answer = await self.standing_of(exception)
            if isinstance(answer, NotApproved):
                idle.append((exception.meta.name, answer.reasons[0]))
            else:
                left, denials_left = kept, free
                used.append(exception)
        return Excused(tuple(left), tuple(denials_left), tuple(used), tuple(idle))

    async def standing_of(self, exception: PolicyException) -> Approved | NotApproved:
        """Say whether an exception is in force now. Nobody is asked where the answer is no anyway.

        Raises:
            AccessReviewError, NotSyncedError: as `excuse`.
        """
        now = self.clock()
        if not exception.in_time(now):
            gone = "is being deleted" if now < exception.expires else "has expired"
            return NotApproved((f"it {gone}",))
        what = exception.approvable
        if why := why_suspended(what, self.terms):
            return NotApproved((why,))
        consents = self.cluster.exceptions.consents(exception.meta.namespace, what.uid)
        tier = names.EXCEPTIONS_TIER
        return await ask_approved(self.cluster, what, consents, tier, now, self.terms)


def idle(name: str, why: str) -> str:
    """Say to the person who is refused that an exception is there and does not count."""
    return f"PolicyException {name} names it, but is not in force: {why}."


def naming(
    exceptions: Iterable[PolicyException], request: Request, root: RootWorkload | None
) -> list[PolicyException]:
    """Give the exceptions that name the object, or the workload that it comes from.

    Not where somebody else is noted on the way: whoever owns a ReplicaSet can point it at any
    Deployment.
    """
    kind = request.kind
    targets = [Target(kind.group, kind.version, kind.kind, request.name)] if request.name else []
    if root is not None and root.straight:
        targets.append(Target(root.group, "", root.kind, root.name))
    return [
        exception
        for exception in exceptions
        if any(target.is_named(each) for target in targets for each in exception.spec.workloads)
    ]


def _refused(request: Request, facts: Facts) -> bool:
    return any(outcome.denies for outcome in run(request, facts))
