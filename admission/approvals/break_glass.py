"""BreakGlass: what an open one relaxes, and who may write and open one.

It is sealed until `spec.activated` is true; from then on nothing of it changes. Who wrote it and
who opened it, when, is recorded by the gate and never read from the object. A namespace that no
activated BreakGlass names costs a review one look into a dictionary.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.approvals.approvals import annotations_of, ask_approved, guard_finding, writers_of
from admission.model.facts import CheckRun, Facts, GuardFacts, PodFacts
from admission.model.messages import reference
from admission.model.outcome import Outcome
from admission.objects.reader import changes_rights, is_connect_or_credential
from core.approvals.break_glass import ROOT_NOTE_RULE, BreakGlass, parse_break_glass
from core.base import names
from core.base.errors import InvalidObjectError, NotSyncedError
from core.base.sallyport_objects import parse_time
from core.base.times import time_text
from core.cluster import Cluster
from core.decision.decision import Action, Finding
from core.decision.namespaces import Mode
from core.decision.request import Operation, Phase, Request
from core.people.two_person import (
    ApprovalTerms,
    Approved,
    NotApproved,
    Person,
    person_of,
    read_person,
    stays_open,
    why_may_not_activate,
    write_person,
)

CLOCKS_S: Final = 30.0
"""How far the clocks of the gates that judge the two passes may be apart."""

_WRITTEN: Final = (names.AUTHOR_ANNOTATION, names.EDITORS_ANNOTATION)
_OPENED: Final = (names.ACTIVATED_AT_ANNOTATION, names.ACTIVATED_BY_ANNOTATION)
_NOT_YET: Final = dict.fromkeys(_OPENED, "")
_FIELD: Final = "spec.activated"

RELAXED_RULE: Final = "break-glass/relaxed"
"""The rule of the finding by which each decision that was relaxed is found again."""


@dataclass(frozen=True)
class BreakGlassGuard:
    """Gathers what must be recorded on a BreakGlass, and whether its writer may open it."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]

    async def gather(self, request: Request) -> GuardFacts:
        """Return what must be recorded, what is, and what speaks against the request.

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
            return (guard_finding("break-glass/person", _FIELD, why, "Let a person activate it."),)
        consents = self.cluster.break_glasses.consents(old.meta.uid)
        tier = names.BREAK_GLASS_TIER
        answer = await ask_approved(
            self.cluster, old.approvable, consents, tier, self.clock(), self.terms, endures=True
        )
        if not isinstance(answer, NotApproved):
            return ()
        message = f"is not approved: {'; '.join(answer.reasons)}"
        remedy = "Two people approve it first, neither of whom wrote it: sallyport approve."
        return (guard_finding("break-glass/approved", _FIELD, message, remedy),)

    def _opened(self, request: Request, new: BreakGlass, who: Person) -> dict[str, str]:
        """Return when and by whom: by the clock of the mutating pass, which this one must share."""
        now = self.clock()
        text = time_text(now)
        there = new.meta.annotation(names.ACTIVATED_AT_ANNOTATION)
        if request.phase is not Phase.MUTATING and _is_near(there, now):
            text = there
        return {
            names.ACTIVATED_AT_ANNOTATION: text,
            names.ACTIVATED_BY_ANNOTATION: write_person(who),
        }


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
    return guard_finding("break-glass/sealed", _FIELD, message, remedy)


def _never_changed() -> Finding:
    message = "was activated: it never changes any more, and is used once"
    remedy = "Delete it to end it; create another one for the next time."
    return guard_finding("break-glass/used", "spec", message, remedy)


def _changed_at_once() -> Finding:
    message = "changes together with what was approved"
    remedy = "Activate it as it was approved, and change nothing else."
    return guard_finding("break-glass/sealed", _FIELD, message, remedy)


@dataclass(frozen=True)
class BreakGlassGatherer:
    """Adds the BreakGlasses in force to the facts of a request that is refused without them."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]
    run_checks: CheckRun

    async def facts_of(self, request: Request, facts: Facts) -> Facts:
        """Return the facts with what relaxes the request, where it would be refused without.

        All that is wrong with it must be relaxed: else it is refused as if nothing were.

        Raises:
            NotSyncedError: they are not known, and it would be refused without them.
            AccessReviewError: the cluster did not say whether an approver may approve.
        """
        if not _relaxable(request, facts):
            return facts
        try:
            named = self.cluster.break_glasses.activated_in(request.namespace)
        except NotSyncedError:
            if self._refusals(request, facts):
                raise
            return facts
        if not named:
            return facts
        now = self.clock()
        opened = [each for each in named if each.is_open(now)]
        wrong = await self._wrong(request, facts) if opened else []
        if not wrong:
            return facts
        wanted = [one for one in opened if any(one.relaxes(*each) for each in wrong)]
        terms = self.terms
        used = tuple([one for one in wanted if await is_in_force(self.cluster, one, now, terms)])
        if all(any(one.relaxes(*each) for one in used) for each in wrong):
            return msgspec.structs.replace(facts, break_glasses=used)
        return msgspec.structs.replace(facts, remarks=(*facts.remarks, *_remarks(opened, used)))

    def _refusals(self, request: Request, facts: Facts) -> list[Finding]:
        outcomes = self.run_checks(request, facts)
        found = [finding for outcome in outcomes for finding in outcome.findings]
        return [finding for finding in found if finding.action is Action.DENY]

    async def _wrong(self, request: Request, facts: Facts) -> list[tuple[str, tuple[str, ...]]]:
        """Return all that is wrong with a request: rules, and the privileges that each is about.

        A refusal names what the closest profile lacks. Where the subjects may not use that one, all
        that is needed is wrong: it must be relaxed as well.
        """
        found = self._refusals(request, facts)
        wrong = [(each.rule, _privileges(each, facts)) for each in found]
        pod = facts.pod
        if pod and any(each.privilege for each in found) and not await self._has_rest(pod):
            wrong += [(need.rule, (need.privilege,)) for need in pod.needs]
        return wrong

    async def _has_rest(self, pod: PodFacts) -> bool:
        """Return whether the subjects may use the profile that a refusal is counted from."""
        if pod.named is None:
            return any(pod.usable.get(each.name) for each in pod.candidates.nearest)
        answers = [
            await self.cluster.allowed(
                subject, names.USE_VERB, names.PROFILES_RESOURCE, pod.named.name, pod.namespace
            )
            for subject in pod.subjects
        ]
        return all(answers)


async def is_in_force(cluster: Cluster, one: BreakGlass, now: float, terms: ApprovalTerms) -> bool:
    """Return whether an open BreakGlass counts: it is approved, and its opener not at risk.

    Raises:
        NotSyncedError: the approvals are not known.
        AccessReviewError: the cluster did not say whether an approver may approve.
    """
    opener = read_person(one.meta.annotation(names.ACTIVATED_BY_ANNOTATION))
    if one.began is None or not stays_open(opener, one.began, terms):
        return False
    consents = cluster.break_glasses.consents(one.meta.uid)
    answer = await ask_approved(
        cluster, one.approvable, consents, names.BREAK_GLASS_TIER, now, terms, endures=True
    )
    return isinstance(answer, Approved)


def relax_outcomes(outcomes: Iterable[Outcome], used: Iterable[BreakGlass]) -> list[Outcome]:
    """Return the outcomes as warnings, with one more for each BreakGlass that made them so."""
    loud = Outcome(tuple(_announced(one) for one in used))
    return [loud, *map(soften_outcome, outcomes)]


def relaxation_warning(used: Iterable[BreakGlass], decision: str) -> list[str]:
    """Return what the person who asked is warned of last; none `used` where none is named."""
    names_of = ", ".join(one.meta.name for one in used) or "in force"
    refused = f"Without BreakGlass {names_of} Sallyport would have refused this"
    return [refused + reference(decision)]


def _relaxable(request: Request, facts: Facts) -> bool:
    """Return whether it is of a sort that can be relaxed at all.

    Not rights and credentials, which outlive it; not what lies in no namespace; not what runs,
    which the sweep reports as it is.
    """
    judged = facts.pod is not None or facts.site_rules is not None
    if not request.namespace or not judged or facts.mode is not Mode.ENFORCE:
        return False
    if request.running or request.asked_profile is not None or changes_rights(request):
        return False
    return request.operation is Operation.CONNECT or not is_connect_or_credential(request)


def _privileges(finding: Finding, facts: Facts) -> tuple[str, ...]:
    if finding.rule == ROOT_NOTE_RULE:
        return tuple(sorted((facts.origin and facts.origin.gaps) or ()))
    return (finding.privilege,) if finding.privilege else ()


def _remarks(opened: Iterable[BreakGlass], used: Iterable[BreakGlass]) -> list[str]:
    """Say what of an open BreakGlass did not help."""
    helpful = {one.id for one in used}
    return [
        f"BreakGlass {one.meta.name} is open until {one.until}, but does not relax all of it."
        if one.id in helpful
        else f"BreakGlass {one.meta.name} was opened, but relaxes none of it, or is not approved."
        for one in opened
    ]


def _announced(one: BreakGlass) -> Finding:
    message = f"BREAK GLASS: {one.meta.name} relaxes what would be refused, until {one.until}"
    remedy = "Put right what follows before it ends; what still runs then is reported."
    return Finding(RELAXED_RULE, Action.WARN, "", message, remedy)


def soften_outcome(outcome: Outcome) -> Outcome:
    """Return an outcome as warnings, unless it holds whatever happens."""
    if outcome.held:
        return outcome
    findings = tuple(
        msgspec.structs.replace(finding, action=Action.WARN) for finding in outcome.findings
    )
    return msgspec.structs.replace(outcome, findings=findings)
