"""Writes to Sallyport's own objects: exceptions, approvals, BreakGlasses, grants, allowlists.

Statements about findings too; profiles and stores where narrowing or widening them needs approval.

The mutating webhook records author and approver in annotations, from the request and never from the
object; the validating one requires that they are there and that the requester may do this. It reads
one object from the cluster: these kinds are rare.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.approvals.approvals import annotations_of, check_expiry, guard_finding, writers_of
from admission.approvals.audit_statements import StatementGuard
from admission.approvals.break_glass import BreakGlassGuard
from admission.approvals.profile_widening import WideningGuard
from admission.approvals.store_narrowing import NarrowingGuard, is_store_write
from admission.egress.allowlists import AllowlistGuard
from admission.model.candidates import candidates
from admission.model.facts import Facts, GuardFacts
from admission.objects.size_limits import give_way
from admission.profiles.access_reviews import ProfileRights
from core.approvals import approvals, break_glass, exceptions
from core.approvals.approvals import Approval, ApprovedObject, account_of, parse_approval
from core.approvals.break_glass import BreakGlass
from core.approvals.exceptions import PolicyException, parse_exception
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.safe_text import printable
from core.base.sallyport_objects import UntypedObject, read_object
from core.cluster import Cluster
from core.decision.decision import Action, Finding
from core.decision.request import WRITES, Operation, Request
from core.egress import allowlists
from core.egress.allowlists import EgressAllowlist, EgressDestinations
from core.people.two_person import (
    ApprovalTerms,
    Person,
    is_writer,
    person_of,
    why_may_not_approve,
    write_person,
)
from core.weights import access_grants, audit_statements, stores
from core.weights.access_grants import AccessGrant, parse_grant
from egress.limits.settings import DEFAULT_INTENT_SETTINGS, IntentSettings

STATED_RULE: Final = "approvals/stated"
"""An Approval states the UID and the digest that its author saw."""

_INTENTS: Final = frozenset({allowlists.KIND, allowlists.SET_KIND})
_KINDS: Final = frozenset(
    {
        exceptions.KIND,
        break_glass.KIND,
        *approvals.APPROVES,
        *_INTENTS,
        access_grants.KIND,
        audit_statements.KIND,
    }
)

_ROLES: Final = {
    names.EXCEPTIONS_TIER: "sallyport-approve",
    names.BREAK_GLASS_TIER: "sallyport-approve-break-glass",
    names.PROFILES_TIER: "sallyport-approve-profiles",
    names.EGRESS_TIER: "sallyport-approve-egress",
    names.GRANTS_TIER: "sallyport-approve-grants",
}
"""The shipped ClusterRoles that give the right to a tier."""

_ON_EXCEPTIONS: Final = (names.AUTHOR_ANNOTATION, names.EDITORS_ANNOTATION)
_ON_APPROVALS: Final = (
    names.APPROVER_ANNOTATION,
    names.APPROVER_ACCOUNT_ANNOTATION,
    names.APPROVED_UID_ANNOTATION,
    names.APPROVED_DIGEST_ANNOTATION,
)


ApprovedWrite = PolicyException | BreakGlass | EgressAllowlist | EgressDestinations | AccessGrant


@dataclass(frozen=True)
class GuardedObjects:
    """Gathers what must be recorded on Sallyport's own objects, and whether they may be written."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]
    settings: IntentSettings = DEFAULT_INTENT_SETTINGS

    def judges(self, request: Request) -> bool:
        """Return whether the request's object is one of them."""
        if request.kind.group != names.GROUP:
            return False
        if request.kind.kind == stores.KIND:
            return is_store_write(request)
        widens = self.terms.profiles and request.kind.kind == approvals.PROFILE
        written = request.operation in WRITES
        return written and (widens or request.kind.kind in _KINDS)

    async def gather(self, request: Request, facts: Facts) -> GuardFacts:
        """Return what must be recorded, what is, and what speaks against the request.

        Raises:
            CannotJudgeError: something that must be known cannot be.
            InvalidObjectError: the object does not have its kind's shape.
        """
        if (apart := self._apart(request.kind.kind)) is not None:
            return await apart.gather(request)
        if request.object is None:
            raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
        raw, old = request.object, _before(request)
        await give_way(request)
        if request.kind.kind == exceptions.KIND:
            exception = parse_exception(raw, request.namespace)
            return await self._of_exception(request, exception, old, facts)
        if request.kind.kind == access_grants.KIND:
            return self._of_grant(request, parse_grant(raw, request.namespace), old)
        approval = parse_approval(raw, request.namespace, request.kind.kind)
        if old is not None:
            return _unchanged(approval, old)
        return await self._of_approval(request, approval, facts)

    def _apart(
        self, kind: str
    ) -> BreakGlassGuard | WideningGuard | NarrowingGuard | AllowlistGuard | StatementGuard | None:
        """Return who knows a kind that has rules of its own."""
        if kind == break_glass.KIND:
            return BreakGlassGuard(self.cluster, self.terms, self.clock)
        if kind == approvals.PROFILE:
            return WideningGuard(self.cluster, self.terms, self.clock)
        if kind == stores.KIND:
            return NarrowingGuard(self.cluster, self.terms, self.clock)
        if kind == audit_statements.KIND:
            return StatementGuard(self.terms, self.clock)
        if kind in _INTENTS:
            return AllowlistGuard(self.cluster, self.settings, self.clock)
        return None

    async def _of_exception(
        self, request: Request, exception: PolicyException, old: UntypedObject | None, facts: Facts
    ) -> GuardFacts:
        found = annotations_of(exception.meta.annotations, _ON_EXCEPTIONS)
        who = person_of(request.subject)
        if old is not None and old.digest == exception.approvable.digest:
            return GuardFacts(annotations_of(old.meta.annotations, _ON_EXCEPTIONS), found)
        findings = check_expiry(self.clock(), exception.expires, exceptions.MAX_DAYS)
        if exception.privileges and not await self._may_use(request, exception, facts):
            findings += (_may_not_use(exception),)
        return GuardFacts(writers_of(old.meta if old else None, who), found, findings)

    def _of_grant(
        self, request: Request, grant: AccessGrant, old: UntypedObject | None
    ) -> GuardFacts:
        found = annotations_of(grant.meta.annotations, _ON_EXCEPTIONS)
        if old is not None and old.digest == grant.approvable.digest:
            return GuardFacts(annotations_of(old.meta.annotations, _ON_EXCEPTIONS), found)
        recorded = writers_of(old.meta if old else None, person_of(request.subject))
        findings = check_expiry(self.clock(), grant.expires, access_grants.MAX_DAYS)
        if self.cluster.weights.stores().named(grant.spec.store) is None:
            findings += (_no_store(grant),)
        return GuardFacts(recorded, found, findings)

    async def _may_use(self, request: Request, exception: PolicyException, facts: Facts) -> bool:
        """Return whether the requester may use one profile that covers all that is excused."""
        namespace = await self.cluster.namespace(request.namespace)
        privileges = dict.fromkeys(sorted(exception.privileges), 1)
        tried = candidates(facts.profiles, namespace, privileges)
        rights = ProfileRights(self.cluster, (request.subject,), request.namespace)
        return any((await rights.usable(tried, advise=False)).values())

    async def _of_approval(self, request: Request, approval: Approval, facts: Facts) -> GuardFacts:
        subject = request.subject
        wanted = approval.spec.for_
        tier = approvals.TIERS[wanted.kind]
        proposed = wanted.kind in approvals.PROPOSED
        what = None if proposed else await self._approved(request.namespace, wanted)
        uid, digest = (what.meta.uid, what.approvable.digest) if what else ("", "")
        if proposed:  # What is approved is not written yet: whoever writes it is compared then.
            uid = approvals.proposal_uid(wanted.kind, wanted.uid)
            digest = wanted.digest or ""
        recorded = {
            names.APPROVER_ANNOTATION: write_person(person_of(subject)),
            names.APPROVER_ACCOUNT_ANNOTATION: msgspec.json.encode(account_of(subject)).decode(),
            names.APPROVED_UID_ANNOTATION: uid,
            names.APPROVED_DIGEST_ANNOTATION: digest,
        }
        days = approvals.MAX_DAYS_OF_PROPOSAL if proposed else approvals.MAX_DAYS
        findings = check_expiry(self.clock(), approval.expires, days)
        if why := why_may_not_approve(subject, self.terms):
            remedy = "Let another person approve it."
            findings += (guard_finding("approvals/approver", "", why, remedy),)
        elif not await self.cluster.allowed(
            subject, names.APPROVE_VERB, names.TIERS_RESOURCE, tier, ""
        ):
            findings += (_may_not_approve(tier),)
        if not proposed:
            findings += _against(approval, what, person_of(subject))
        elif wanted.uid is None and _is_there(wanted, facts):
            findings += (_not_stated(approval, "uid"),)
        found = annotations_of(approval.meta.annotations, _ON_APPROVALS)
        return GuardFacts(recorded, found, findings)

    async def _approved(self, namespace: str, wanted: ApprovedObject) -> ApprovedWrite | None:
        if wanted.kind == break_glass.KIND:
            return await self.cluster.break_glasses.read(wanted.name)
        if wanted.kind == allowlists.KIND:
            return await self.cluster.intents.allowlist(namespace, wanted.name)
        if wanted.kind == allowlists.SET_KIND:
            return await self.cluster.intents.destinations(wanted.name)
        if wanted.kind == access_grants.KIND:
            return await self.cluster.weights.read_grant(namespace, wanted.name)
        return await self.cluster.exceptions.read(namespace, wanted.name)


def _before(request: Request) -> UntypedObject | None:
    if request.operation is not Operation.UPDATE or request.old_object is None:
        return None
    return read_object(request.old_object, request.kind.kind, request.namespace)


def _unchanged(approval: Approval, old: UntypedObject) -> GuardFacts:
    """Demand that an approval stays as it was recorded."""
    findings: tuple[Finding, ...] = ()
    if approval.digest != old.digest:
        remedy = "Delete it, and create another one."
        findings = (guard_finding("approvals/unchanged", "spec", "never changes", remedy),)
    recorded = annotations_of(old.meta.annotations, _ON_APPROVALS)
    return GuardFacts(recorded, annotations_of(approval.meta.annotations, _ON_APPROVALS), findings)


def _against(approval: Approval, what: ApprovedWrite | None, who: Person) -> tuple[Finding, ...]:
    """Say what of the object speaks against approving it."""
    rule, wanted = "approvals/object", approval.spec.for_
    if what is None:
        here = " in this namespace" if approval.meta.namespace else ""
        message = f"there is no {wanted.kind} {wanted.name}{here}"
        return (guard_finding(rule, "spec.for.name", message, "Name one that exists."),)
    found: tuple[Finding, ...] = ()
    if not what.approvable.author:
        message = "its author was not recorded, so nobody can approve it"
        remedy = "Delete it and create it again, through the gate."
        found += (guard_finding(rule, "spec.for.name", message, remedy),)
    if is_writer(who, what.approvable):
        message = "you wrote it, or changed it: nobody approves their own"
        found += (
            guard_finding("approvals/own", "spec.for.name", message, "Let others approve it."),
        )
    seen = {
        "uid": (wanted.uid, what.meta.uid),
        "digest": (wanted.digest, what.approvable.digest),
    }
    for field, (expected, now) in seen.items():
        if expected is None:
            found += (_not_stated(approval, field),)
        elif expected != now:
            message = f"it is no longer as you saw it: its {field} is {now}"
            remedy = "Look at it again, then approve it as it is now."
            found += (guard_finding(rule, f"spec.for.{field}", message, remedy),)
    return found


def _is_there(wanted: ApprovedObject, facts: Facts) -> bool:
    """Return whether what a proposal changes has a UID: a profile may be new, a store never is."""
    return wanted.kind != approvals.PROFILE or wanted.name in facts.profiles.by_name


def _not_stated(approval: Approval, field: str) -> Finding:
    """Refuse an approval that does not say what its author saw: the gate knows only what is now."""
    wanted = approval.spec.for_
    place = f" -n {approval.meta.namespace}" if approval.meta.namespace else ""
    name = "FILE" if wanted.kind in approvals.PROPOSED else printable(wanted.name, 80)
    command = f"sallyport approve {wanted.kind.lower()} {name}{place}"
    message = f"is missing: state the {field} of the {wanted.kind} as you saw it"
    remedy = f"Approve with `{command}`: it shows the {wanted.kind} and states its {field}."
    return guard_finding(STATED_RULE, f"spec.for.{field}", message, remedy)


def _no_store(grant: AccessGrant) -> Finding:
    message = f"{grant.spec.store} is no WeightStore of this cluster: it would give nothing"
    remedy = "Name one that kubectl get weightstores shows."
    return Finding("grants/store", Action.WARN, "spec.store", message, remedy)


def _may_not_use(exception: PolicyException) -> Finding:
    shown = ", ".join(sorted(exception.privileges)[:4])
    message = f"you may use no profile here that covers what it excuses ({shown})"
    remedy = "Let someone write it who may use a profile that covers all of it."
    return guard_finding("exceptions/use", "spec.excuses", message, remedy)


def _may_not_approve(tier: str) -> Finding:
    message = "you do not have the right to approve"
    remedy = (
        f"Ask for the verb approve on approvaltiers.sallyport.dev/{tier} by a ClusterRoleBinding "
        f"(ClusterRole {_ROLES[tier]})."
    )
    return guard_finding("approvals/right", "", message, remedy)
