"""PolicyExceptions: which are in force for a request, and what they leave of its needs.

They are looked up only where the request would be refused without them. Most namespaces have no
exception: that costs a review one look into a dictionary.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from admission.approvals.approvals import ask_in_force
from admission.model.candidates import candidates, find_privileges
from admission.model.facts import CheckRun, Facts
from admission.model.messages import denial_finding
from admission.profiles.access_reviews import ProfileRights, ask_usable
from core.approvals.exceptions import KIND, PolicyException, WorkloadName
from core.base.errors import NotSyncedError
from core.cluster import Cluster
from core.decision.decision import Denial, Need
from core.decision.document import DecisionDocument
from core.decision.request import Request
from core.decision.requester_notes import RootWorkload
from core.people.two_person import ApprovalTerms, Approved, NotApproved
from policies.engine.interface import PolicyAnswer


@dataclass(frozen=True)
class ExceptionTarget:
    """What an exception must name to mean an object."""

    group: str
    version: str
    """Empty for the workload that a Pod comes from: one object has all its versions."""
    kind: str
    name: str

    def is_named(self, workload: WorkloadName) -> bool:
        """Return whether an exception names it; what has no name yet is never named."""
        group, _, version = workload.api_version.rpartition("/")
        named = (group, workload.kind, workload.name) == (self.group, self.kind, self.name)
        return named and self.version in {"", version}


@dataclass(frozen=True)
class ExceptionResult:
    """What is left after exceptions, and which of them were used."""

    needs: tuple[Need, ...]
    denials: tuple[Denial, ...]
    in_force: tuple[PolicyException, ...] = ()
    not_in_force: tuple[tuple[str, str], ...] = ()
    """Names of those that would excuse more, and why they are not in force."""


@dataclass(frozen=True)
class ExceptionLookup:
    """Finds the exceptions of a request's namespace, and applies those in force."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]
    run_checks: CheckRun

    def relevant(self, request: Request, facts: Facts) -> tuple[PolicyException, ...]:
        """Return the exceptions that may matter: none where the object is admitted as it is.

        Raises:
            NotSyncedError: as `loaded`.
        """
        found = self.loaded(request, facts)
        return found if found and self._refused(request, facts) else ()

    def loaded(self, request: Request, facts: Facts) -> tuple[PolicyException, ...]:
        """Return the exceptions of the request's namespace; none where it does not need them.

        Raises:
            NotSyncedError: the exceptions are not known, and it would be refused without them.
        """
        try:
            return self.in_namespace(request)
        except NotSyncedError:
            if self._refused(request, facts):
                raise
            return ()

    def _refused(self, request: Request, facts: Facts) -> bool:
        return any(outcome.denies for outcome in self.run_checks(request, facts))

    def in_namespace(self, request: Request) -> tuple[PolicyException, ...]:
        """Return the exceptions of the request's namespace; none where one asks about a profile.

        Raises:
            NotSyncedError: the exceptions are not known.
        """
        if not request.namespace or request.asked_profile is not None:
            return ()
        return self.cluster.exceptions.in_namespace(request.namespace)

    async def apply(
        self,
        exceptions: Iterable[PolicyException],
        needs: Sequence[Need],
        denied: Sequence[Denial],
    ) -> ExceptionResult:
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
            kept = [each for each in left if not any(e.covers(each) for e in excuses)]
            free = [d for d in denials_left if not any(e.covers_denial(d) for e in excuses)]
            if (len(kept), len(free)) == (len(left), len(denials_left)):
                continue
            answer = await self.check_in_force(exception)
            if isinstance(answer, NotApproved):
                idle.append((exception.meta.name, answer.reasons[0]))
            else:
                left, denials_left = kept, free
                used.append(exception)
        return ExceptionResult(tuple(left), tuple(denials_left), tuple(used), tuple(idle))

    async def check_in_force(self, exception: PolicyException) -> Approved | NotApproved:
        """Return the approval by which an exception is in force now, or why it is not.

        Nobody is asked where it cannot be.

        Raises:
            AccessReviewError, NotSyncedError: as `apply`.
        """
        return await ask_exception(self.cluster, exception, self.clock(), self.terms)


async def ask_exception(
    cluster: Cluster, exception: PolicyException, now: float, terms: ApprovalTerms
) -> Approved | NotApproved:
    """Return the approval by which an exception is in force at a time, or why it is not.

    Nobody is asked where it cannot be.

    Raises:
        AccessReviewError: the cluster did not say whether an approver may approve.
        NotSyncedError: the approvals are not known.
    """
    if not exception.in_time(now):
        gone = "is being deleted" if now < exception.expires else "has expired"
        return NotApproved((f"it {gone}",))
    what = exception.approvable
    consents = cluster.exceptions.consents(exception.meta.namespace, what.uid)
    return await ask_in_force(cluster, what, consents, KIND, now, terms)


def not_in_force_message(name: str, why: str) -> str:
    """Say to the person who is refused that an exception is there and does not count."""
    return f"PolicyException {name} names it, but is not in force: {why}."


def find_naming(
    exceptions: Iterable[PolicyException], request: Request, root: RootWorkload | None
) -> list[PolicyException]:
    """Return the exceptions that name the object, or the workload that it comes from.

    Not where somebody else is noted on the way: whoever owns a ReplicaSet can point it at any
    Deployment.
    """
    kind = request.kind
    targets = (
        [ExceptionTarget(kind.group, kind.version, kind.kind, request.name)] if request.name else []
    )
    if root is not None and root.straight:
        targets.append(ExceptionTarget(root.group, "", root.kind, root.name))
    return [
        exception
        for exception in exceptions
        if any(target.is_named(each) for target in targets for each in exception.spec.workloads)
    ]


@dataclass(frozen=True)
class ExceptionGatherer:
    """Puts exceptions into the facts, where an object would be refused without them."""

    lookup: ExceptionLookup

    async def facts_of(self, request: Request, facts: Facts, answer: PolicyAnswer) -> Facts:
        """Return the facts after exceptions.

        Raises:
            CannotJudgeError: something that must be known cannot be.
        """
        relevant = self.lookup.relevant(request, facts)
        if not (relevant and facts.pod):
            return facts
        meant = find_naming(relevant, request, facts.root)
        if not meant:
            return facts
        excused = await self.lookup.apply(meant, answer.needs, answer.denials)
        denials = tuple(denial_finding(denial, facts.rules) for denial in excused.denials)
        pod = msgspec.structs.replace(facts.pod, denials=denials)
        told = (
            *facts.remarks,
            *(not_in_force_message(name, why) for name, why in excused.not_in_force),
        )
        remarks = tuple(dict.fromkeys(told))
        facts = msgspec.structs.replace(facts, pod=pod, remarks=remarks)
        return await self._left(excused, facts)

    async def facts_again(
        self, request: Request, facts: Facts, document: DecisionDocument
    ) -> Facts:
        """Return the facts after those exceptions that a recorded decision used, as they are now.

        Raises:
            CannotJudgeError: something that must be known cannot be.
        """
        relevant = self.lookup.relevant(request, facts) if document.exceptions else ()
        used = [each for each in relevant if each.id in document.exceptions]
        if not (used and facts.pod):
            return facts
        return await self._left(await self.lookup.apply(used, facts.pod.needs, ()), facts)

    async def _left(self, excused: ExceptionResult, facts: Facts) -> Facts:
        pod, origin = facts.pod, facts.origin
        if pod is None or not excused.in_force:
            return facts
        privileges = find_privileges(excused.needs, facts.rules)
        tried = candidates(facts.profiles, facts.namespace, privileges)
        rights = ProfileRights(self.lookup.cluster, pod.subjects, pod.namespace)
        may_use = await ask_usable(pod.named, tried, rights, facts.mode)
        left = msgspec.structs.replace(
            pod,
            needs=excused.needs,
            privileges=frozenset(privileges),
            candidates=tried,
            usable=may_use,
            access=(*pod.access, *rights.heard),
            exceptions=excused.in_force,
            excepted_needs=tuple(need for need in pod.needs if need not in excused.needs),
        )
        if origin and origin.gaps:
            gaps = origin.gaps - (pod.privileges - left.privileges)
            origin = msgspec.structs.replace(origin, gaps=gaps)
        return msgspec.structs.replace(facts, pod=left, origin=origin)
