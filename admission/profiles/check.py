"""A Pod is admitted when one profile that its subjects may use covers all that it needs.

What a built-in rule denies to everyone is refused whatever the profile.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from admission.model.candidates import MAX_PRIVILEGES, Candidate, is_special
from admission.model.facts import Facts, NamedProfile, PodFacts
from admission.model.messages import (
    CONNECT_ADVICE,
    join_words,
    privilege_message,
    remedies_for_connection,
)
from admission.model.outcome import NOTHING, Outcome
from core.base.safe_text import printable
from core.decision.decision import Action, Finding, Need
from core.decision.other_objects import ROLE_PATH, OtherObject, other_object_of, path_in_pod
from core.decision.request import Request
from core.people.subject import Subject

NAMED_RULE = "profiles/named"
NONE_RULE = "profiles/none"
MORE_RULE = "profiles/more"
MANY_RULE = "profiles/many"

MOST_FINDINGS = 200
"""A Pod of 1.5 MiB can need tens of thousands of privileges; naming 200 is help enough."""

_POD_NEEDS = "take away what needs them (ports of the node, capabilities, sysctls)."
_RULES_NEED = "take away rules that need them (roles, users, profiles, webhooks, signers by name)."
_SMALLER: Final[Mapping[str, tuple[str, str]]] = {
    "Pod": ("spec", f"Split the Pod, or {_POD_NEEDS}"),
    "Role": ("rules", f"Split the Role, or {_RULES_NEED}"),
    "ClusterRole": ("rules", f"Split the ClusterRole, or {_RULES_NEED}"),
    "RoleBinding": ("roleRef", "Split the role that it gives, and bind its parts."),
    "ClusterRoleBinding": ("roleRef", "Split the role that it gives, and bind its parts."),
    "ServiceAccount": ("metadata", "Take away annotations and labels of clouds."),
    "CertificateSigningRequest": ("spec.request", "Ask for fewer organisations."),
}
"""By kind: the field that needs so much, and how it becomes less."""


def check_denials(_: Request, facts: Facts) -> Outcome:
    """Refuse what a rule denies to everyone."""
    if facts.pod is None or not facts.pod.denials:
        return NOTHING
    return Outcome(facts.pod.denials, "It asks for what nobody may have.")


def is_denial(finding: Finding) -> bool:
    """Return whether a finding is of a rule that denies: its policies lie under `rules/`."""
    return finding.rule.startswith("rules/")


def check_profiles(request: Request, facts: Facts) -> Outcome:
    """Choose the profile, or say what keeps every profile from being chosen."""
    pod = facts.pod
    if pod is None:
        return NOTHING
    if pod.sandbox is not None:
        return pod.sandbox.chosen
    if len(pod.privileges) > MAX_PRIVILEGES:
        return _too_many(request.kind.kind, pod)
    if pod.named is not None:
        return _by_named(pod.named, pod, facts)
    for candidate in pod.candidates.covering():
        if pod.usable.get(candidate.name):
            return _admitted(candidate, pod, facts)
    return _refused(request, facts, pod)


def _too_many(kind: str, pod: PodFacts) -> Outcome:
    count = len(pod.privileges)
    message = f"needs {count} different privileges; more than {MAX_PRIVILEGES} are not judged"
    if pod.entered:
        path, remedy = (
            path_in_pod("spec", pod.entered),
            f"Enter a Pod that needs less, or let its author {_POD_NEEDS}",
        )
    else:
        # All others with as much are workloads: one profile must cover all of their Pods.
        path, remedy = _SMALLER.get(kind, ("spec", f"Split the {kind}, or {_POD_NEEDS}"))
    return Outcome((Finding(MANY_RULE, Action.DENY, path, message, remedy),), "It needs too much.")


def _by_named(named: NamedProfile, pod: PodFacts, facts: Facts) -> Outcome:
    name = printable(named.name, 80)
    if named.name not in facts.profiles.by_name:
        problem = f"there is no ContainerProfile {name}"
        return _named_refused(named, problem, "Name a profile that exists, or none.")
    candidate = pod.candidates.only(named.name).first()
    if candidate is None:
        problem = f"the ceiling of this namespace leaves out the profile {name}"
        return _named_refused(named, problem, "Name a profile within the ceiling, or none.")
    if candidate.gaps:
        headline = f"The profile {name} does not cover {_count(candidate.gaps)} that it needs."
        advice = f"{named.path} names {name}: its author, or the gate when it was created."
        advices = (advice, "Without it, another profile may be chosen.") if named.path else ()
        return Outcome(_findings(candidate.gaps, pod, facts), headline, advices, candidate.name)
    if not pod.usable.get(named.name):
        problem = f"{_who(pod.subjects)} may not use the profile {name} here"
        return _named_refused(named, problem, f"Name another profile, or ask {_grant(name)}.")
    return _admitted(candidate, pod, facts)


def _admitted(candidate: Candidate, pod: PodFacts, facts: Facts) -> Outcome:
    """Admit under a profile, with a warning for what its catalogue did not know yet."""
    if not candidate.later:
        return Outcome(profile=candidate.name)
    findings = tuple(
        msgspec.structs.replace(finding, action=Action.WARN)
        for finding in _findings(candidate.later, pod, facts)
    )
    return Outcome(findings, profile=candidate.name)


def _named_refused(named: NamedProfile, problem: str, remedy: str) -> Outcome:
    finding = Finding(NAMED_RULE, Action.DENY, named.path, problem, remedy)
    return Outcome((finding,), f"{problem[0].upper()}{problem[1:]}.")


def _refused(request: Request, facts: Facts, pod: PodFacts) -> Outcome:
    """Word the refusal from the profile that comes closest among those that may be used."""
    near = pod.candidates.nearest
    where = _elsewhere(request, pod)
    own = next((candidate for candidate in near if pod.usable.get(candidate.name)), None)
    covers_all = pod.candidates.covering_names()
    binding = "" if pod.namespace else ": by a ClusterRoleBinding"
    advice = [CONNECT_ADVICE] if pod.entered else []
    if covers_all:
        advice.append(f"Or ask {_grant(*covers_all)}{where}{binding}.")
    elif facts.namespace and facts.namespace.ceiling is not None:
        advice.append("No profile within the ceiling of this namespace covers all of it.")
    if own is not None:
        advice.insert(0, f"The profile {own.name} covers the rest.")
        headline = (
            f"It needs {_count(own.gaps)} that {_who(pod.subjects)} may not have{where or ' here'}."
        )
        return Outcome(_findings(own.gaps, pod, facts), headline, tuple(advice))
    special = {privilege for privilege in pod.privileges if is_special(privilege)}
    if not special and (covers_all or not near):
        return _no_profile(pod, tuple(advice))
    if near:
        advice.append(
            f"The closest profile, {near[0].name}, lacks {join_words(sorted(near[0].gaps), 4)}."
        )
    who = _who(pod.subjects)
    uncovered = pod.candidates.uncovered_privileges()
    wanted = (special if covers_all else special | uncovered) or pod.privileges
    headline = f"It needs {_count(wanted)}; no profile that {who} may use{where} covers all."
    return Outcome(_findings(wanted, pod, facts), headline, tuple(advice))


def _no_profile(pod: PodFacts, advice: tuple[str, ...]) -> Outcome:
    who = _who(pod.subjects)
    finding = Finding(
        rule=NONE_RULE,
        action=Action.DENY,
        path="",
        message=f"needs no privilege, but {who} may use no profile at all",
        remedy=f"Ask for the right to use one in namespace {pod.namespace}.",
    )
    return Outcome((finding,), f"{who[0].upper()}{who[1:]} may use no profile here.", advice)


def _findings(gaps: Collection[str], pod: PodFacts, facts: Facts) -> tuple[Finding, ...]:
    """Return a finding for each need that is a gap; beyond what anyone reads, one for the rest."""
    needs = [need for need in pod.needs if need.privilege in gaps]
    shown = needs[:MOST_FINDINGS]
    privileges = {need.privilege for need in shown}
    covered_by = {
        privilege: pod.candidates.covering_names_of(privilege) for privilege in privileges
    }
    findings = [_finding(need, facts, covered_by[need.privilege]) for need in shown]
    if pod.entered:
        findings = remedies_for_connection(findings, pod.entered)
    if len(needs) > MOST_FINDINGS:
        findings.append(_more(needs[MOST_FINDINGS:], pod.entered))
    return tuple(findings)


def _more(rest: Sequence[Need], entered: str) -> Finding:
    """Return the finding of the needs that have none of their own, with whose they are."""
    another = other_object_of(rest[0].rule, rest[0].path)
    path = {OtherObject.POD: path_in_pod("spec", entered), OtherObject.ROLE: ROLE_PATH}
    message = f"needs privileges at {len(rest)} more places"
    where = path.get(another, "") if another else ""
    return Finding(MORE_RULE, Action.DENY, where, message, "Mend those shown first.")


def _finding(need: Need, facts: Facts, covered_by: list[str]) -> Finding:
    rule = facts.rules.get(need.rule)
    return Finding(
        rule=need.rule,
        action=Action.DENY,
        path=need.path,
        message=privilege_message(rule.message if rule else "needs {value}", need.privilege),
        remedy=rule.remedy if rule else "Remove it.",
        privilege=need.privilege,
        container=need.container,
        covered_by=covered_by,
    )


def _count(privileges: Collection[str]) -> str:
    return "1 privilege" if len(privileges) == 1 else f"{len(privileges)} privileges"


def _who(subjects: Iterable[Subject]) -> str:
    """Name those whose right is missing, to the person who reads it: never a person's name."""
    names = [
        "service account " + ":".join(subject.username.split(":")[2:])
        if subject.is_service_account
        else "you"
        for subject in subjects
    ]
    if not names:
        return "its maker"
    return names[0] if len(names) == 1 else f"{' and '.join(names)} both"


def _elsewhere(request: Request, pod: PodFacts) -> str:
    """Say where the right is asked, unless it is in the request's own namespace."""
    if not pod.namespace:
        return " in all namespaces"
    return "" if pod.namespace == request.namespace else f" in namespace {pod.namespace}"


def _grant(*profiles: str) -> str:
    return f"for the right to use {join_words(profiles, 4)}"
