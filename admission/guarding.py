"""Who wrote an exception, and who approves what: read from the request, never from the object.

The mutating webhook records it in annotations; the validating one demands that they are there, and
that whoever asks may do this. It reads one object from the cluster: these kinds are rare.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.candidates import candidates
from admission.facts import Facts, GuardFacts
from admission.rights import Rights
from core import approvals, exceptions, names
from core.approvals import Approval, account_of, parse_approval
from core.cluster import Cluster
from core.decision import Action, Finding
from core.errors import InvalidObjectError
from core.exceptions import PolicyException, parse_exception
from core.guarded import Written, read_written
from core.request import Operation, Request
from core.two_person import (
    Person,
    Terms,
    may_approve,
    person_of,
    read_people,
    read_person,
    write_people,
    write_person,
    writes,
)

_DAY_S: Final = 86_400

_ON_EXCEPTIONS: Final = (names.AUTHOR_ANNOTATION, names.EDITORS_ANNOTATION)
_ON_APPROVALS: Final = (
    names.APPROVER_ANNOTATION,
    names.APPROVER_ACCOUNT_ANNOTATION,
    names.APPROVED_UID_ANNOTATION,
    names.APPROVED_DIGEST_ANNOTATION,
)


@dataclass(frozen=True)
class Guards:
    """Knows what must be recorded on exceptions and approvals, and who may write them."""

    cluster: Cluster
    terms: Terms
    clock: Callable[[], float]

    def judges(self, request: Request) -> bool:
        """Say whether the request's object is one of them."""
        kinds = {exceptions.KIND, approvals.KIND}
        return request.kind.group == names.GROUP and request.kind.kind in kinds

    async def gather(self, request: Request, facts: Facts) -> GuardFacts:
        """Give what must be recorded, what is, and what speaks against the request.

        Raises:
            CannotJudgeError: something that must be known cannot be.
            InvalidObjectError: the object does not have its kind's shape.
        """
        if request.object is None:
            raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
        raw, old = request.object, _before(request)
        if request.kind.kind == exceptions.KIND:
            exception = parse_exception(raw, request.namespace)
            return await self._of_exception(request, exception, old, facts)
        approval = parse_approval(raw, request.namespace)
        if old is not None:
            return _unchanged(approval, old)
        return await self._of_approval(request, approval)

    async def _of_exception(
        self, request: Request, exception: PolicyException, old: Written | None, facts: Facts
    ) -> GuardFacts:
        found = _annotations(exception.meta.annotations, _ON_EXCEPTIONS)
        who = person_of(request.subject)
        if old is not None and old.digest == exception.approvable.digest:
            return GuardFacts(_annotations(old.meta.annotations, _ON_EXCEPTIONS), found)
        findings = self._within(exception.expires, exceptions.MAX_DAYS)
        if exception.privileges and not await self._may_use(request, exception, facts):
            findings += (_may_not_use(exception),)
        return GuardFacts(_writers(old, who), found, findings)

    async def _may_use(self, request: Request, exception: PolicyException, facts: Facts) -> bool:
        """Say whether the requester may use one profile that covers all that is excused."""
        namespace = await self.cluster.namespace(request.namespace)
        privileges = dict.fromkeys(sorted(exception.privileges), 1)
        tried = candidates(facts.profiles, namespace, privileges)
        rights = Rights(self.cluster, (request.subject,), request.namespace)
        return any((await rights.usable(tried, advise=False)).values())

    async def _of_approval(self, request: Request, approval: Approval) -> GuardFacts:
        subject = request.subject
        what = await self.cluster.exceptions.read(request.namespace, approval.spec.for_.name)
        recorded = {
            names.APPROVER_ANNOTATION: write_person(person_of(subject)),
            names.APPROVER_ACCOUNT_ANNOTATION: msgspec.json.encode(account_of(subject)).decode(),
            names.APPROVED_UID_ANNOTATION: what.meta.uid if what else "",
            names.APPROVED_DIGEST_ANNOTATION: what.approvable.digest if what else "",
        }
        findings = self._within(approval.expires, approvals.MAX_DAYS)
        if why := may_approve(subject, self.terms):
            findings += (_finding("approvals/approver", "", why, "Let another person approve it."),)
        elif not await self.cluster.allowed(
            subject, names.APPROVE_VERB, names.TIERS_RESOURCE, names.EXCEPTIONS_TIER, ""
        ):
            findings += (_may_not_approve(),)
        findings += _against(approval, what, person_of(subject))
        found = _annotations(approval.meta.annotations, _ON_APPROVALS)
        return GuardFacts(recorded, found, findings)

    def _within(self, expires: float, days: int) -> tuple[Finding, ...]:
        """Demand a time that is to come, and not too far ahead."""
        now = self.clock()
        if now < expires <= now + days * _DAY_S:
            return ()
        latest = dt.datetime.fromtimestamp(now + days * _DAY_S, dt.UTC)
        message = f"must be a time to come, at most {days} days ahead"
        remedy = f"Set it to {latest:%Y-%m-%dT%H:%M:%SZ} or before."
        return (_finding("guards/expiry", "spec.expiresAt", message, remedy),)


def _before(request: Request) -> Written | None:
    if request.operation is not Operation.UPDATE or request.old_object is None:
        return None
    return read_written(request.old_object, request.kind.kind, request.namespace)


def _writers(old: Written | None, who: Person) -> Mapping[str, str]:
    """Give author and editors after this request has written the `spec`."""
    if old is None:
        return {names.AUTHOR_ANNOTATION: write_person(who), names.EDITORS_ANNOTATION: ""}
    author = old.meta.annotation(names.AUTHOR_ANNOTATION)
    editors = read_people(old.meta.annotation(names.EDITORS_ANNOTATION))
    if not any(who <= known for known in (read_person(author), *editors)):
        editors += (who,)
    return {names.AUTHOR_ANNOTATION: author, names.EDITORS_ANNOTATION: write_people(editors)}


def _annotations(annotations: Mapping[str, str] | None, wanted: tuple[str, ...]) -> dict[str, str]:
    return {name: (annotations or {}).get(name, "") for name in wanted}


def _unchanged(approval: Approval, old: Written) -> GuardFacts:
    """Demand that an approval stays as it was recorded."""
    findings: tuple[Finding, ...] = ()
    if approval.digest != old.digest:
        remedy = "Delete it, and create another one."
        findings = (_finding("approvals/unchanged", "spec", "never changes", remedy),)
    recorded = _annotations(old.meta.annotations, _ON_APPROVALS)
    return GuardFacts(recorded, _annotations(approval.meta.annotations, _ON_APPROVALS), findings)


def _against(approval: Approval, what: PolicyException | None, who: Person) -> tuple[Finding, ...]:
    """Say what of the object speaks against approving it."""
    rule, wanted = "approvals/object", approval.spec.for_
    if what is None:
        message = f"there is no {wanted.kind} {wanted.name} in this namespace"
        return (_finding(rule, "spec.for.name", message, "Name one that exists."),)
    found: tuple[Finding, ...] = ()
    if not what.approvable.author:
        message = "its author was not recorded, so nobody can approve it"
        remedy = "Delete it and create it again, through the gate."
        found += (_finding(rule, "spec.for.name", message, remedy),)
    if writes(who, what.approvable):
        message = "you wrote it, or changed it: nobody approves their own"
        found += (_finding("approvals/own", "spec.for.name", message, "Let others approve it."),)
    seen = {
        "uid": (wanted.uid, what.meta.uid),
        "digest": (wanted.digest, what.approvable.digest),
    }
    for field, (expected, now) in seen.items():
        if expected is not None and expected != now:
            message = f"it is no longer as you saw it: its {field} is {now}"
            remedy = "Look at it again, then approve it as it is now."
            found += (_finding(rule, f"spec.for.{field}", message, remedy),)
    return found


def _may_not_use(exception: PolicyException) -> Finding:
    shown = ", ".join(sorted(exception.privileges)[:4])
    message = f"you may use no profile here that covers what it excuses ({shown})"
    remedy = "Let someone write it who may use a profile that covers all of it."
    return _finding("exceptions/use", "spec.excuses", message, remedy)


def _may_not_approve() -> Finding:
    message = "you do not have the right to approve"
    remedy = (
        "Ask for the verb approve on approvaltiers.sallyport.dev/exceptions by a "
        "ClusterRoleBinding (ClusterRole sallyport-approve)."
    )
    return _finding("approvals/right", "", message, remedy)


def _finding(rule: str, path: str, message: str, remedy: str) -> Finding:
    return Finding(rule, Action.DENY, path, message, remedy)
