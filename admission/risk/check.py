"""Identities at risk may do what the risk table lets them do, and no more (docs/adr/0033).

Three identities count: who asks, who submitted the workload that it is made for, and what the Pod
can sign in as. Where the table says `sandbox`, the sandbox check (`admission.sandbox.check`) holds
the Pod to it.
"""

from collections.abc import Iterator
from typing import Final

from admission.model.facts import Facts, PodFacts, RiskFacts
from admission.model.outcome import NOTHING, Outcome
from admission.risk.messages import (
    describe_risk,
    list_allowed_operations,
    name_identity,
    suggest_remedy,
)
from core.decision.decision import Action, Finding
from core.decision.request import Request
from core.risk.model import AssessedIdentity, Effect, Role, Standing
from identity.requester_note_rules import REQUESTER_PATH

RISK: Final = "identity/risk"
STALE: Final = "identity/stale"
BEHAVIOUR: Final = "identity/behaviour"
"""The rule of what is unusual: it only warns."""


def check_risk(_: Request, facts: Facts) -> Outcome:
    """Refuse what the risk table denies; say what it warns of, or puts into a sandbox."""
    known = facts.risk
    if known is None or not known.has_findings:
        return NOTHING
    findings = (*_of_identities(known, facts), *_of_behaviour(known))
    left = list_allowed_operations(known.meanwhile)
    return Outcome(findings, _headline(known, facts), (left,) if left else (), told=True)


def is_of_identity(finding: Finding) -> bool:
    """Return whether a finding is about the identities behind a request."""
    return finding.rule in {RISK, STALE, BEHAVIOUR}


def rule_of(one: AssessedIdentity) -> str:
    """Return the rule by which an identity is judged."""
    return STALE if one.standing is Standing.STALE else RISK


def sandbox_rule(facts: Facts) -> str:
    """Return the rule by which a sandbox is demanded for a risk."""
    rules = {rule_of(one) for one in _sandboxing(facts)}
    return STALE if rules == {STALE} else RISK


def sandbox_reason(facts: Facts) -> str:
    """Say to who is refused why a sandbox is demanded, and what ends that."""
    known = facts.risk
    return " ".join(
        f"{_capital(name_identity(one, facts.root))} {describe_risk(one)}, "
        "so it must run in a sandbox. "
        f"{suggest_remedy(one, known.said.get(one.row, '') if known else '')}"
        for one in _sandboxing(facts)[:1]
    )


def _sandboxing(facts: Facts) -> list[AssessedIdentity]:
    known = facts.risk
    return [one for one in known.assessed if one.effect is Effect.SANDBOX] if known else []


def _of_identities(known: RiskFacts, facts: Facts) -> Iterator[Finding]:
    """Yield what is to be said of each identity: the strictest alone."""
    said: dict[tuple[Role, str], Effect] = {}
    for one in known.assessed:
        if one.effect is Effect.ALLOW:
            return
        if said.setdefault((one.role, one.who), one.effect) is one.effect:
            yield _finding(one, known, facts)


def _finding(one: AssessedIdentity, known: RiskFacts, facts: Facts) -> Finding:
    message = f"{name_identity(one, facts.root)} {describe_risk(one)}"
    refused = one.effect is Effect.DENY
    if one.effect is Effect.SANDBOX and facts.pod:
        refused = _runs_in_none(facts.pod)
        message += f"; {'this cannot' if refused else 'it must'} run in a sandbox"
    action = Action.DENY if refused else Action.WARN
    remedy = suggest_remedy(one, known.said.get(one.row, ""))
    return Finding(rule_of(one), action, _path(one, known, facts), message, remedy)


def _runs_in_none(pod: PodFacts) -> bool:
    """Return whether what needs privileges has no Pods that could be sandboxed: it is refused.

    What has none and needs none is harmless without.
    """
    return pod.sandbox is None


def _path(one: AssessedIdentity, known: RiskFacts, facts: Facts) -> str:
    """Return where an identity comes from; no field of the object says who asks."""
    if one.role is Role.WORKLOAD:
        return known.seen_at.get(one.who, "")
    if one.role is Role.AUTHOR and facts.root:
        return f"{REQUESTER_PATH} of {facts.root.kind} {facts.root.name}"
    return ""


def _of_behaviour(known: RiskFacts) -> Iterator[Finding]:
    if known.behaviour:
        message = f"this is unusual for the account behind it: {', '.join(known.behaviour)}"
        remedy = "Nothing is refused for it. If it was not you, tell your security team."
        yield Finding(BEHAVIOUR, Action.WARN, "", message, remedy)


def _headline(known: RiskFacts, facts: Facts) -> str:
    if not known.assessed or known.effect is Effect.ALLOW:
        return "It is unusual."
    one = known.assessed[0]
    if rule_of(one) == STALE:
        return "Nobody knows now whether somebody behind it is at risk."
    return f"{_capital(name_identity(one, facts.root))} {describe_risk(one)}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
