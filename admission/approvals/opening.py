"""Who wrote a BreakGlass and who opened it, when: recorded by the gate, never read from the object.

It is sealed until `spec.activated` is true; from then on nothing of it changes.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from admission.approvals.approvals import ask_approved
from admission.model.facts import GuardFacts
from core.approvals.break_glass import BreakGlass, parse_break_glass
from core.base import names
from core.base.errors import InvalidObjectError
from core.cluster import Cluster
from core.decision.decision import Action, Finding
from core.decision.request import Operation, Phase, Request
from core.people.approvable import Metadata, parse_time
from core.people.two_person import (
    ApprovalTerms,
    NotApproved,
    Person,
    person_of,
    read_people,
    read_person,
    why_may_not_activate,
    write_people,
    write_person,
)

_DAY_S: Final = 86_400

CLOCKS_S: Final = 30.0
"""How far the clocks of the gates that judge the two passes may be apart."""

_WRITTEN: Final = (names.AUTHOR_ANNOTATION, names.EDITORS_ANNOTATION)
_OPENED: Final = (names.ACTIVATED_AT_ANNOTATION, names.ACTIVATED_BY_ANNOTATION)
_NOT_YET: Final = dict.fromkeys(_OPENED, "")
_FIELD: Final = "spec.activated"


@dataclass(frozen=True)
class Opening:
    """Knows what must be recorded on a BreakGlass, and who may open it."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]

    async def gather(self, request: Request) -> GuardFacts:
        """Give what must be recorded, what is, and what speaks against the request.

        Raises:
            CannotJudgeError: something that must be known cannot be.
            InvalidObjectError: the object does not have its kind's shape.
        """
        new, old = _both(request)
        found = annotations_of(new.meta.annotations, (*_WRITTEN, *_OPENED))
        who = person_of(request.subject)
        if old is None:
            made = {**writers_of(None, who), **_NOT_YET}
            return GuardFacts(made, found, (_never_made_open(),) if new.spec.activated else ())
        changed = old.approvable.digest != new.approvable.digest
        if old.spec.activated:
            kept = annotations_of(old.meta.annotations, (*_WRITTEN, *_OPENED))
            other = changed or not new.spec.activated
            return GuardFacts(kept, found, (_never_changed(),) if other else ())
        written = annotations_of(old.meta.annotations, _WRITTEN)
        if changed:
            written = dict(writers_of(old.meta, who))
        if not new.spec.activated:
            return GuardFacts({**written, **_NOT_YET}, found)
        findings = (_changed_at_once(),) if changed else await self._against(request, old)
        return GuardFacts({**written, **self._opened(request, new, who)}, found, findings)

    async def _against(self, request: Request, old: BreakGlass) -> tuple[Finding, ...]:
        """Say what speaks against opening it now."""
        if why := why_may_not_activate(request.subject, self.terms):
            return (finding_of("break-glass/person", _FIELD, why, "Let a person activate it."),)
        consents = self.cluster.break_glasses.consents(old.meta.uid)
        tier = names.BREAK_GLASS_TIER
        answer = await ask_approved(
            self.cluster, old.approvable, consents, tier, self.clock(), self.terms, endures=True
        )
        if not isinstance(answer, NotApproved):
            return ()
        message = f"is not approved: {'; '.join(answer.reasons)}"
        remedy = "Two people approve it first, neither of whom wrote it: sallyport approve."
        return (finding_of("break-glass/approved", _FIELD, message, remedy),)

    def _opened(self, request: Request, new: BreakGlass, who: Person) -> dict[str, str]:
        """Give when and by whom: by the clock of the mutating pass, which this one must share."""
        now = self.clock()
        text = f"{dt.datetime.fromtimestamp(int(now), dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
        there = new.meta.annotation(names.ACTIVATED_AT_ANNOTATION)
        if request.phase is not Phase.MUTATING and _is_near(there, now):
            text = there
        return {
            names.ACTIVATED_AT_ANNOTATION: text,
            names.ACTIVATED_BY_ANNOTATION: write_person(who),
        }


def annotations_of(
    annotations: Mapping[str, str] | None, wanted: tuple[str, ...]
) -> dict[str, str]:
    """Give those annotations that are wanted; empty where there are none."""
    return {name: (annotations or {}).get(name, "") for name in wanted}


def writers_of(old: Metadata | None, who: Person) -> Mapping[str, str]:
    """Give author and editors after this request has written the `spec`."""
    if old is None:
        return {names.AUTHOR_ANNOTATION: write_person(who), names.EDITORS_ANNOTATION: ""}
    author = old.annotation(names.AUTHOR_ANNOTATION)
    editors = read_people(old.annotation(names.EDITORS_ANNOTATION))
    if not any(who <= known for known in (read_person(author), *editors)):
        editors += (who,)
    return {names.AUTHOR_ANNOTATION: author, names.EDITORS_ANNOTATION: write_people(editors)}


def finding_of(rule: str, path: str, message: str, remedy: str) -> Finding:
    """Give what speaks against a request."""
    return Finding(rule, Action.DENY, path, message, remedy)


def ends_within(now: float, expires: float, days: int) -> tuple[Finding, ...]:
    """Demand a time that is to come, and not too far ahead."""
    if now < expires <= now + days * _DAY_S:
        return ()
    latest = dt.datetime.fromtimestamp(now + days * _DAY_S, dt.UTC)
    message = f"must be a time to come, at most {days} days ahead"
    remedy = f"Set it to {latest:%Y-%m-%dT%H:%M:%SZ} or before."
    return (finding_of("guards/expiry", "spec.expiresAt", message, remedy),)


def _both(request: Request) -> tuple[BreakGlass, BreakGlass | None]:
    if request.object is None:
        raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
    updated = request.operation is Operation.UPDATE and request.old_object is not None
    old = parse_break_glass(request.old_object) if updated and request.old_object else None
    return parse_break_glass(request.object), old


def _is_near(text: str, now: float) -> bool:
    try:
        return abs(parse_time(text, field="", what="") - now) <= CLOCKS_S
    except InvalidObjectError:
        return False


def _never_made_open() -> Finding:
    message = "cannot be created activated: it must be approved first"
    remedy = "Leave the field out; activate it once two people have approved it."
    return finding_of("break-glass/sealed", _FIELD, message, remedy)


def _never_changed() -> Finding:
    message = "was activated: it never changes any more, and is used once"
    remedy = "Delete it to end it; create another one for the next time."
    return finding_of("break-glass/used", "spec", message, remedy)


def _changed_at_once() -> Finding:
    message = "changes together with what was approved"
    remedy = "Activate it as it was approved, and change nothing else."
    return finding_of("break-glass/sealed", _FIELD, message, remedy)
