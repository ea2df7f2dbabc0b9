"""What an open BreakGlass relaxes: asked only where a request would be refused otherwise.

A namespace that no activated BreakGlass names costs a review one look into a dictionary.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from admission.approvals.approvals import ask_approved
from admission.chain import run
from admission.model.facts import Facts, PodFacts
from admission.model.outcome import Outcome
from admission.objects.connect_requests import enters
from admission.objects.rbac_changes import gives
from core.approvals.break_glass import ROOT, BreakGlass
from core.base import names
from core.base.errors import NotSyncedError
from core.cluster import Cluster
from core.decision.decision import Action, Finding
from core.decision.namespaces import Mode
from core.decision.request import Operation, Request
from core.people.two_person import ApprovalTerms, Approved, read_person, stays_open

RELAXED: Final = "break-glass/relaxed"
"""The rule of the finding by which each decision that was relaxed is found again."""


@dataclass(frozen=True)
class Breaker:
    """Knows which BreakGlasses are in force."""

    cluster: Cluster
    terms: ApprovalTerms
    clock: Callable[[], float]

    async def facts_of(self, request: Request, facts: Facts) -> Facts:
        """Give the facts with what relaxes the request, where it would be refused without.

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
            if _refusals(request, facts):
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
        used = tuple([one for one in wanted if await self._in_force(one, now)])
        if all(any(one.relaxes(*each) for one in used) for each in wrong):
            return msgspec.structs.replace(facts, relaxed_by=used)
        return msgspec.structs.replace(facts, asides=(*facts.asides, *_asides(opened, used)))

    async def _wrong(self, request: Request, facts: Facts) -> list[tuple[str, tuple[str, ...]]]:
        """Give all that is wrong with a request: rules, and the privileges that each is about.

        A refusal names what the closest profile lacks. Where the subjects may not use that one, all
        that is needed is wrong: it must be relaxed as well.
        """
        found = _refusals(request, facts)
        wrong = [(each.rule, _privileges(each, facts)) for each in found]
        pod = facts.pod
        if pod and any(each.privilege for each in found) and not await self._has_rest(pod):
            wrong += [(need.rule, (need.privilege,)) for need in pod.needs]
        return wrong

    async def _has_rest(self, pod: PodFacts) -> bool:
        """Say whether the subjects may use the profile that a refusal is counted from."""
        if pod.named is None:
            return any(pod.usable.get(each.name) for each in pod.candidates.nearest)
        answers = [
            await self.cluster.allowed(
                subject, names.USE_VERB, names.PROFILES_RESOURCE, pod.named.name, pod.namespace
            )
            for subject in pod.subjects
        ]
        return all(answers)

    async def _in_force(self, one: BreakGlass, now: float) -> bool:
        opener = read_person(one.meta.annotation(names.ACTIVATED_BY_ANNOTATION))
        if one.began is None or not stays_open(opener, one.began, self.terms):
            return False
        consents = self.cluster.break_glasses.consents(one.meta.uid)
        tier = names.BREAK_GLASS_TIER
        answer = await ask_approved(
            self.cluster, one.approvable, consents, tier, now, self.terms, endures=True
        )
        return isinstance(answer, Approved)


def relaxed(outcomes: Iterable[Outcome], used: Iterable[BreakGlass]) -> list[Outcome]:
    """Give the outcomes as warnings, with one more for each BreakGlass that made them so."""
    loud = Outcome(tuple(_announced(one) for one in used))
    return [loud, *map(softened, outcomes)]


def relaxed_words(used: Iterable[BreakGlass], decision: str) -> list[str]:
    """Give what the person who asked is warned of last."""
    names_of = ", ".join(one.meta.name for one in used)
    return [f"Without BreakGlass {names_of} Sallyport would have refused this; decision {decision}"]


def _relaxable(request: Request, facts: Facts) -> bool:
    """Say whether it is of a sort that can be relaxed at all.

    Not rights and credentials, which outlive it; not what lies in no namespace; not what runs,
    which the sweep reports as it is.
    """
    judged = facts.pod is not None or facts.ruled is not None
    if not request.namespace or not judged or facts.mode is not Mode.ENFORCE:
        return False
    if request.running or request.asked_profile is not None or gives(request):
        return False
    return request.operation is Operation.CONNECT or not enters(request)


def _refusals(request: Request, facts: Facts) -> list[Finding]:
    found = [finding for outcome in run(request, facts) for finding in outcome.findings]
    return [finding for finding in found if finding.action is Action.DENY]


def _privileges(finding: Finding, facts: Facts) -> tuple[str, ...]:
    if finding.rule == ROOT:
        return tuple(sorted((facts.origin and facts.origin.gaps) or ()))
    return (finding.privilege,) if finding.privilege else ()


def _asides(opened: Iterable[BreakGlass], used: Iterable[BreakGlass]) -> list[str]:
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
    return Finding(RELAXED, Action.WARN, "", message, remedy)


def softened(outcome: Outcome) -> Outcome:
    """Give an outcome as warnings, unless it holds whatever happens."""
    if outcome.held:
        return outcome
    findings = tuple(
        msgspec.structs.replace(finding, action=Action.WARN) for finding in outcome.findings
    )
    return msgspec.structs.replace(outcome, findings=findings)
