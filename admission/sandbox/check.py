"""Pods that must run in a sandbox name its RuntimeClass, and are able to run under it."""

from collections.abc import Iterator
from typing import Final

import msgspec

from admission.model.facts import Facts, SandboxOutcome
from admission.model.outcome import NOTHING, Outcome
from admission.risk.check import sandbox_reason, sandbox_rule
from admission.sandbox.decision import RUNTIME_CLASS_FIELD, sandbox_decisions
from admission.sandbox.messages import describe_signals, why_sandboxed
from core.base.safe_text import printable
from core.decision.decision import Action, Finding
from core.decision.namespaces import Mode
from core.decision.other_objects import path_in_pod
from core.decision.request import Phase, Request
from core.sandbox.decision import ENTERED, INCOMPATIBLE, REQUIRED, RUNTIME, SandboxDecision
from sandbox.runtime_choice import Obstacle, Refusal

_NAME: Final = 80
"""Characters shown of a name."""

_REASONS: Final = 3
"""Signals named in a refusal: the heaviest."""

_EXCEPTION: Final = (
    "If it can run in none: a PolicyException for the rule sandbox/required, with two approvers."
)


def check_sandbox(request: Request, facts: Facts) -> Outcome:
    """Say which sandbox an object's Pods must run in, and what is against it."""
    found = sandbox_decisions(facts)
    if not found:
        return NOTHING
    if facts.pod and facts.pod.entered:
        return _of_entered(found[0], facts.pod.entered, facts)
    findings = tuple(
        _named(finding, each, facts)
        for each in found
        for finding in _of_part(each, missing=_missing(each, request, facts))
    )
    # Of several templates the one that counts most speaks for all.
    gravest = max(found, key=lambda each: (bool(each.decision.runtime), each.decision.score))
    if not findings:
        return Outcome(sandbox=gravest.decision)
    demanded = [each.decision for each in found if each.decision.runtime]
    advice = [*dict.fromkeys(_why(each, facts) for each in demanded)]
    if not all(each.asked or each.identity for each in demanded):
        advice.append(_EXCEPTION)
    return Outcome(findings, "It must run in a sandbox.", tuple(advice), sandbox=gravest.decision)


def _of_entered(each: SandboxOutcome, pod: str, facts: Facts) -> Outcome:
    """Refuse entering a Pod that must run in a sandbox and runs in none.

    What its sandbox cannot run is no reason: it is in it.
    """
    outside = any(refusal.trouble is not Obstacle.INCOMPATIBLE for refusal in each.refusals)
    if not (each.decision.runtime and (each.part.named is None or outside)):
        return Outcome(sandbox=each.decision)
    name = printable(pod, _NAME)
    message = "enters a Pod that must run in a sandbox, and does not"
    remedy = (
        f"Have {name} created anew: its successor gets the RuntimeClass {each.decision.runtime}. "
        "Enter that one."
    )
    finding = Finding(ENTERED, Action.DENY, path_in_pod(RUNTIME_CLASS_FIELD, name), message, remedy)
    finding = _named(finding, each, facts)
    headline = "That Pod must run in a sandbox, and does not."
    return Outcome((finding,), headline, (_why(each.decision, facts),), sandbox=each.decision)


def _named(finding: Finding, each: SandboxOutcome, facts: Facts) -> Finding:
    """Put the finding under the rule of risk where risk alone demands the sandbox.

    Then no exception for the sandbox's rules excuses it, and a BreakGlass relaxes it.
    """
    if not each.decision.identity:
        return finding
    return msgspec.structs.replace(finding, rule=sandbox_rule(facts))


def _missing(each: SandboxOutcome, request: Request, facts: Facts) -> bool:
    """Return whether a Pod's final state lacks its class.

    Where its namespace does not enforce, the mutating pass sets none, and nothing would be gained
    by a warning that enforcement makes untrue.
    """
    final = request.phase is Phase.VALIDATING or request.running
    is_pod = (request.kind.group, request.kind.kind) == ("", "Pod")
    return bool(each.lacks) and final and is_pod and facts.mode is Mode.ENFORCE


def _of_part(each: SandboxOutcome, *, missing: bool) -> Iterator[Finding]:
    path = each.part.place(RUNTIME_CLASS_FIELD)
    if missing:
        message = "must run in a sandbox, and has no RuntimeClass"
        remedy = f"Set it to {each.lacks} in a new Pod: one that runs cannot be moved."
        yield Finding(REQUIRED, Action.DENY, path, message, remedy)
    for refusal in each.refusals:
        yield _finding(refusal, each.decision.runtime, path)


def _finding(refusal: Refusal, runtime: str, path: str) -> Finding:
    named = printable(refusal.runtime, _NAME)
    if refusal.trouble is Obstacle.INCOMPATIBLE and refusal.feature and refusal.limit:
        feature, limit = refusal.feature, refusal.limit
        message = f"cannot run under the RuntimeClass {named}: {feature.name} {limit.why}"
        return Finding(
            INCOMPATIBLE,
            Action.DENY,
            feature.path,
            message,
            f"{limit.instead}.",
            container=feature.container,
        )
    if refusal.trouble is Obstacle.ABSENT:
        message = f"must run with the RuntimeClass {named}, which the cluster does not have"
        remedy = "Your cluster's operators must create it, or set sandbox.runtime to another."
        return Finding(RUNTIME, Action.DENY, path, message, remedy)
    if refusal.trouble is Obstacle.NO_SANDBOX:
        handler = printable(refusal.handler, _NAME)
        message = f"must run in a sandbox; the handler {handler} of RuntimeClass {named} is none"
        remedy = "Your cluster's operators must mend its handler, or add it to sandbox.handlers."
        return Finding(RUNTIME, Action.DENY, path, message, remedy)
    if refusal.trouble is Obstacle.EMPTY:
        message = "is empty, which names the node's default runtime and no sandbox"
    else:
        message = f"names the RuntimeClass {named}; it must run with {runtime}"
    remedy = f"Leave runtimeClassName out, and it is filled in; or set it to {runtime}."
    return Finding(REQUIRED, Action.DENY, path, message, remedy)


def _why(decision: SandboxDecision, facts: Facts) -> str:
    """Say why a Pod must run in a sandbox, and what would change that, to who is refused."""
    if decision.reason == "identity":
        return sandbox_reason(facts)
    why = why_sandboxed(decision)
    said = f"{why[0].upper()}{why[1:]}"
    if decision.reason != "risk" or not decision.signals:
        return f"{said}."
    rule = facts.rules.get(decision.signals[0].rule)
    lower = f" To lower it: {rule.remedy}" if rule and rule.points else ""
    return f"{said}: {describe_signals(decision.signals, _REASONS)}.{lower}"
