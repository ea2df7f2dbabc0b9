"""Judges requests: gathers the facts, runs the chain, makes the decision.

The mutating pass already refuses what the back-stop (a ValidatingAdmissionPolicy) would refuse:
kube-apiserver evaluates policies before it calls validating webhooks, and without this such a
refusal would have no decision (docs/adr/0044).
"""

import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import msgspec

from admission.answers import publish_error, publish_outcomes, publish_remarks
from admission.approvals.break_glass import relax_outcomes, relaxation_warning, soften_outcome
from admission.approvals.check import without_unrecorded
from admission.chain import run_checks
from admission.egress.pod_labels import label_patches
from admission.evidence import evidence_of, request_from_record
from admission.gather import Gatherer
from admission.model.facts import Facts
from admission.model.messages import (
    catalogue_notices,
    error_message,
    finding_lines,
    recorded_id,
    refusal_message,
    remedy_lines,
    warning_lines,
)
from admission.model.outcome import Outcome
from admission.profiles.check import MANY_RULE, MORE_RULE, NAMED_RULE
from admission.profiles.defaults import defaults_note, fill_defaults, fill_ids
from admission.requester.check import notes_to_record
from admission.sandbox.capacity import capacity_warnings
from admission.sandbox.decision import sandbox_patches
from core.base.deadline import with_deadline
from core.base.errors import CannotJudgeError, DeadlineError, InvalidObjectError, NotSyncedError
from core.base.ids import uuid7, writer_uuid7
from core.decision.decision import (
    Action,
    Decision,
    Evidence,
    Finding,
    Patch,
    Verdict,
    WhenUnrecorded,
)
from core.decision.document import DecisionDocument
from core.decision.namespaces import ORDINARY_MODES, Mode, Modes, Namespace, enforce_from
from core.decision.request import Phase, Request
from core.people.subject import Subject
from core.sandbox.decision import SandboxDecision
from policies.backstop.rules import COVERED

_HELD: Final = frozenset(covered.rule for covered in COVERED)
_PROFILES: Final = _HELD | {NAMED_RULE, MANY_RULE, MORE_RULE}
"""The rules of findings that say that no profile covers what is held."""

_OPERATORS = "Try again; if it stays, tell your cluster's operators the decision's id."

_NO_PROFILE: Final = ""
"""A name that no profile has."""


def refuses_while_mutating(request: Request, decision: Decision) -> bool:
    """Return whether no profile lets a Pod have what the back-stop holds, and that is refused.

    Everything else waits for the final state: another webhook may still put it right.
    """
    if request.kind.kind != "Pod" or decision.verdict is not Verdict.DENY or decision.allowed:
        return False
    if not any(need.rule in _HELD for need in decision.evidence.needs):
        return False
    return any(
        finding.rule in _PROFILES and finding.action is Action.DENY for finding in decision.findings
    )


def new_decision_id() -> str:
    """Make an id for a decision taken now."""
    return uuid7(time.time_ns() // 1_000_000)


def decision_ids_of(instance: str) -> Callable[[], str]:
    """Return what makes ids for the decisions of one gate, which no other gate can use."""
    return lambda: writer_uuid7(time.time_ns() // 1_000_000, instance)


@dataclass
class _RequestScope:
    """What is known of where a request acts, also when gathering its facts fails."""

    mode: Mode = Mode.ENFORCE
    namespace: Namespace | None = None

    def when_unjudged(self, request: Request, gatherer: Gatherer) -> Mode:
        """Return the mode of a request that cannot be judged: what is held is refused."""
        if self.mode is Mode.ENFORCE or not gatherer.holds(request, self.namespace):
            return self.mode
        return Mode.ENFORCE


@dataclass(frozen=True)
class Judge:
    """Answers requests. Live admission and files both come through here."""

    gatherer: Gatherer
    modes: Modes = ORDINARY_MODES
    """Which mode holds where."""
    new_id: Callable[[], str] = new_decision_id
    when_unrecorded: WhenUnrecorded = WhenUnrecorded.REFUSE
    """The rule of namespaces without the label."""

    def missing(self) -> list[str]:
        """Name what must be loaded before anything can be judged."""
        return self.gatherer.cluster.missing()

    async def validate(self, request: Request, *, budget: float) -> Decision:
        """Judge the final state of a request within `budget` seconds.

        What cannot be judged ends in Verdict.ERROR: refused, where the namespace enforces.
        """
        scope = _RequestScope()

        def gather(request: Request) -> Coroutine[Any, Any, Facts]:
            return self._facts(request, scope)

        return await self._judged(request, gather, scope, budget)

    async def examine(self, request: Request, mode: Mode, *, budget: float) -> Decision:
        """Judge a request as where this mode holds, for a person who asks what an object needs.

        No namespace has a say: neither its ceiling counts, nor the profile that it names, only the
        IDs that its Pods have on shared file systems. It is judged by the profile that the request
        asks for, and else by none, which fills nothing in: nobody is asked about rights.
        """
        asked = request.asked_profile or _NO_PROFILE
        request = msgspec.structs.replace(
            request, asked_profile=asked, is_filled=request.asked_profile is None
        )

        async def gather(request: Request) -> Facts:
            if request.ids_of is None and request.namespace:
                with suppress(NotSyncedError):  # It is not there yet, so it has no IDs.
                    ids_of = await self.gatherer.cluster.namespace(request.namespace)
                    request = msgspec.structs.replace(request, ids_of=ids_of)
            return await self.gatherer.gather(request, None, mode)

        return await self._judged(request, gather, _RequestScope(mode), budget)

    async def _judged(
        self,
        request: Request,
        gather: Callable[[Request], Coroutine[Any, Any, Facts]],
        scope: _RequestScope,
        budget: float,
    ) -> Decision:
        try:
            facts = await with_deadline(budget, gather(request))
            decision = self._decide(request, facts)
            if request.phase is not None:
                return decision
            created = fill_ids(request, facts, decision.profile if decision.allowed else None)
            if created is None:
                return decision
            facts = await with_deadline(budget, gather(created))
            return self._decide(created, facts)
        except TimeoutError:
            return self._error(request, scope, _too_late(budget))
        except (CannotJudgeError, InvalidObjectError) as error:
            return self._error(request, scope, error)

    async def mutate(self, request: Request, *, budget: float) -> Decision:
        """Judge a request to note the chosen profile on it and to fill in its defaults.

        It refuses what the back-stop would refuse, so that there is a decision of it. All else
        that may not be is refused by the validating pass, which trusts nothing that was done here.
        """
        request = msgspec.structs.replace(request, phase=Phase.MUTATING)
        decision = without_unrecorded(await self.validate(request, budget=budget))
        if refuses_while_mutating(request, decision):
            return decision
        return msgspec.structs.replace(decision, allowed=True, warnings=[])

    async def rejudge(
        self, document: DecisionDocument, subject: Subject, *, budget: float
    ) -> tuple[Request, Decision]:
        """Judge what a recorded decision says its object needs, for another requester, today.

        Service accounts that counted still do. The needs are the recorded ones; profiles,
        rights, mode and ceiling are those of now.

        Raises:
            CannotJudgeError: something that must be known cannot be, or not in time.
            LedgerError: it is not about a Pod, or the record does not hold all that it needs.
        """
        request = request_from_record(document, subject)
        try:
            work = self.gatherer.regather(document, request, self.modes)
            facts = await with_deadline(budget, work)
        except TimeoutError as error:
            raise DeadlineError(f"the cluster did not answer within {budget:.1f} s") from error
        return request, self._decide(request, facts)

    async def _facts(self, request: Request, scope: _RequestScope) -> Facts:
        namespace = await self.gatherer.namespace_of(request)
        if namespace is not None:
            scope.namespace = namespace
            scope.mode = self.modes.of(namespace)
        elif self.gatherer.judges(request):
            scope.mode = self.modes.elsewhere
        return await self.gatherer.gather(request, namespace, scope.mode)

    def _decide(self, request: Request, facts: Facts) -> Decision:
        ruling = _rule(run_checks(request, facts), facts)
        decision_id = self.new_id()
        told_id = recorded_id(decision_id, dry_run=request.dry_run)
        answer = _Answer.of(ruling.speaking, request, facts)
        later = [] if ruling.denied else _later(request, facts, ruling, answer, told_id)
        scope = _RequestScope(ruling.mode, facts.namespace)
        mutation = _mutation(request, facts, ruling)
        findings = ruling.findings()
        return Decision(
            id=decision_id,
            verdict=_verdict(findings, refused=ruling.refused),
            allowed=not ruling.refused,
            message=refusal_message(request.what, answer.refusing, told_id, answer.remarks)
            if ruling.denied
            else "\n".join(later),
            warnings=_warnings(answer.refusing, later, told_id, scope),
            findings=findings,
            answered=answer.findings,
            profile=ruling.profile,
            mode=facts.mode.value,
            if_enforced=_if_enforced(ruling),
            policy_revision=facts.policy_revision,
            profiles_revision=facts.profiles.revision,
            subjects=[subject.label for subject in facts.pod.subjects] if facts.pod else [],
            recorded=mutation.annotations,
            filled=mutation.patches,
            sandbox=ruling.sandbox,
            when_unrecorded=self._when_unrecorded(facts),
            evidence=evidence_of(facts, ruling.admitted, self.gatherer.kind_of(request.subject)),
        )

    def _when_unrecorded(self, facts: Facts) -> WhenUnrecorded:
        """Return the rule: what is not judged, or not enforced, is never refused for it."""
        if facts.left_alone or facts.mode is not Mode.ENFORCE:
            return WhenUnrecorded.ADMIT
        if facts.namespace is None:
            return self.when_unrecorded
        return facts.namespace.when_unrecorded(self.when_unrecorded)

    def _error(
        self, request: Request, scope: _RequestScope, error: CannotJudgeError | InvalidObjectError
    ) -> Decision:
        decision_id = self.new_id()
        mode = scope.when_unjudged(request, self.gatherer)
        if isinstance(error, InvalidObjectError):
            kind, field, remedy = "object", error.field, "Correct the manifest."
        else:
            kind, field, remedy = error.kind, "", _OPERATORS
        why = str(error) if request.tells_all else publish_error(error, request)
        told_id = recorded_id(decision_id, dry_run=request.dry_run)
        message = error_message(request.what, why, remedy, told_id)
        return Decision(
            id=decision_id,
            verdict=Verdict.ERROR,
            allowed=mode is not Mode.ENFORCE,
            message=message,
            warnings=[message.splitlines()[0]] if mode is Mode.WARN else [],
            mode=mode.value,
            answered=None if request.tells_all else [],
            error_kind=kind,
            reason=str(error),
            field=field,
            evidence=Evidence(requester_kind=self.gatherer.kind_of(request.subject).value),
            policy_revision=self.gatherer.engine.revision,
            when_unrecorded=WhenUnrecorded.REFUSE if mode is Mode.ENFORCE else WhenUnrecorded.ADMIT,
        )


class _Ruling(NamedTuple):
    """What the outcomes of the checks come to."""

    speaking: list[Outcome]
    """Those with findings."""
    mode: Mode
    """The mode that counts: what is held is enforced in every namespace."""
    denied: bool
    profile: str | None
    """The profile that covers the object; none while a BreakGlass relaxes what it needs."""
    sandbox: SandboxDecision | None

    @property
    def refused(self) -> bool:
        """Whether the request is denied, and that is enforced."""
        return self.denied and self.mode is Mode.ENFORCE

    @property
    def admitted(self) -> str | None:
        """The profile under which the object is admitted."""
        return None if self.denied else self.profile

    def findings(self) -> list[Finding]:
        """Return all findings; those of a denial that is not enforced are warnings."""
        findings = [finding for outcome in self.speaking for finding in outcome.findings]
        if self.denied and not self.refused:
            return [msgspec.structs.replace(each, action=Action.WARN) for each in findings]
        return findings


def _rule(outcomes: list[Outcome], facts: Facts) -> _Ruling:
    """Return what outcomes come to, as BreakGlasses relax them and the mode enforces them."""
    mode = facts.mode
    if facts.break_glasses:
        outcomes = relax_outcomes(outcomes, facts.break_glasses)
    if mode is not Mode.ENFORCE and _is_held(outcomes, facts):
        mode = Mode.ENFORCE
        outcomes = [soften_outcome(outcome) for outcome in outcomes]
    speaking = [outcome for outcome in outcomes if outcome.findings]
    profile = next((outcome.profile for outcome in outcomes if outcome.profile), None)
    return _Ruling(
        speaking,
        mode,
        denied=any(outcome.denies for outcome in speaking),
        profile=None if facts.break_glasses else profile,
        sandbox=next((outcome.sandbox for outcome in outcomes if outcome.sandbox), None),
    )


def _is_held(outcomes: Iterable[Outcome], facts: Facts) -> bool:
    """Return whether something is denied that is refused in every mode."""
    return facts.egress is not None and any(each.held and each.denies for each in outcomes)


def _if_enforced(ruling: _Ruling) -> Literal["", "refused", "admitted"]:
    """Say what enforcement would have come to; nothing where it is enforced."""
    if ruling.mode is Mode.ENFORCE:
        return ""
    return "refused" if ruling.denied else "admitted"


class _Answer(NamedTuple):
    """What the caller is told: all outcomes with findings, or what is public of them."""

    speaking: list[Outcome]
    remarks: tuple[str, ...]
    is_whole: bool

    @classmethod
    def of(cls, speaking: list[Outcome], request: Request, facts: Facts) -> "_Answer":
        """Word the answer for who brings the request."""
        if request.tells_all:
            return cls(speaking, facts.remarks, is_whole=True)
        public = publish_outcomes(speaking, facts) if speaking else []
        return cls(public, publish_remarks(facts.remarks), is_whole=False)

    @property
    def refusing(self) -> list[Outcome]:
        """Those that refuse the request."""
        return [outcome for outcome in self.speaking if outcome.denies]

    @property
    def findings(self) -> list[Finding] | None:
        """The findings that are told; None where all are."""
        if self.is_whole:
            return None
        return [finding for outcome in self.speaking for finding in outcome.findings]


def _too_late(budget: float) -> DeadlineError:
    return DeadlineError(f"the {budget:.1f} s that kube-apiserver gave were not enough")


def _verdict(findings: list[Finding], *, refused: bool) -> Verdict:
    if not findings:
        return Verdict.ALLOW
    return Verdict.DENY if refused else Verdict.WARN


def _newest_catalogue(speaking: Iterable[Outcome], facts: Facts) -> int:
    """Return the catalogue of the newest rule that outcomes are of, before they are published."""
    rules = {finding.rule for outcome in speaking for finding in outcome.findings}
    return max((facts.rules[rule].since for rule in rules if rule in facts.rules), default=0)


def _later(
    request: Request, facts: Facts, ruling: _Ruling, answer: _Answer, decision: str
) -> list[str]:
    """Word what is told of an object that is not denied."""
    later = _to_come(facts, ruling, answer, decision)
    if facts.pod and facts.pod.sandbox and answer.is_whole:
        later += capacity_warnings(request, facts, decision)
    return later


def _to_come(facts: Facts, ruling: _Ruling, answer: _Answer, decision: str) -> list[str]:
    """Word what is relaxed, or what an object needs of a newer catalogue than its profile's."""
    speaking = answer.speaking
    if facts.break_glasses:
        used = facts.break_glasses if answer.is_whole else ()
        return [*finding_lines(speaking), *relaxation_warning(used, decision)]
    if not speaking:
        return []
    if facts.guard is not None:
        return finding_lines(speaking)
    told = remedy_lines([outcome for outcome in speaking if outcome.told])
    rest = [outcome for outcome in speaking if not outcome.told]
    if not rest or ruling.profile is None:
        return told
    known = facts.profiles.by_name[ruling.profile] if answer.is_whole else None
    since = _newest_catalogue(ruling.speaking, facts)
    return [*told, *catalogue_notices(rest, decision, known, since)]


def _warnings(
    refusing: list[Outcome], later: list[str], decision: str, scope: _RequestScope
) -> list[str]:
    """Return the warnings of a refusal that is not enforced, or of privileges to come."""
    if scope.mode is Mode.AUDIT:
        return []
    if refusing:
        announced = enforce_from(scope.namespace) if scope.namespace else ""
        return warning_lines(refusing, decision, announced) if scope.mode is Mode.WARN else []
    return later


class _Mutation(NamedTuple):
    """What the mutating webhook sets."""

    annotations: dict[str, str]
    patches: list[Patch]


def _mutation(request: Request, facts: Facts, ruling: _Ruling) -> _Mutation:
    """Return what the mutating webhook sets."""
    guarded = dict(facts.guard.recorded) if facts.guard else {}
    if request.phase is not Phase.MUTATING:
        return _Mutation(guarded, [])
    profile, denied = ruling.admitted, ruling.denied
    filled = fill_defaults(request, facts, profile)
    notes = notes_to_record(request, facts, profile, refused=ruling.refused)
    sandboxed = sandbox_patches(request, facts, refused=denied) if ruling.sandbox else []
    return _Mutation(
        guarded | notes | defaults_note(facts, profile, filled),
        [*filled, *sandboxed, *label_patches(request, facts)],
    )
