"""What a caller who has not proved to be kube-apiserver is told of a decision. Pure.

On AKS that is every caller, so these are the words that people read there. Such an answer says what
follows from the caller's own object and from the text of profiles, and nothing else
(docs/adr/0061-what-a-stranger-learns.md). Each rule is either listed here, as one whose finding
says no more than that or with fixed words; or its finding is told by the rule's id alone. The
record holds the findings as they are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from admission.model.candidates import is_special
from admission.model.facts import Facts
from admission.model.messages import CONNECT_ADVICE, join_words
from admission.model.outcome import Outcome
from admission.profiles.check import NAMED_RULE, NONE_RULE
from core.base.errors import CannotJudgeError, DeadlineError, InvalidObjectError, OverloadError
from core.base.safe_text import printable
from core.decision.decision import Action, Finding
from core.decision.other_objects import OtherObject, other_object_of
from core.decision.request import Request
from core.decision.requester_view import ELSEWHERE_RULE, OWN
from core.sandbox.decision import ENTERED, INCOMPATIBLE, REQUIRED, RUNTIME, SandboxDecision
from identity.requester_note_rules import PROFILE_PATH
from policies.bundle.format import Rule

_PRIVILEGES: Final = "privileges/"
_DENIALS: Final = "rules/"
_OF_IDENTITY: Final = "identity/"
_OF_CODE: Final = "sandbox/code/"
"""Rules of signals that read the object alone."""

_ASK: Final = "What is not said here, sallyport explain says by the decision's id."
_HELP: Final = "Give the decision's id to your security team, or to your cluster's operators."

_REASONS: Final = 3
"""Signals named in a refusal."""

HIDDEN: Final = frozenset(
    {
        "egress/account",
        "egress/break-glass",
        "egress/no-set",
        "egress/not-enrolled",
        "grants/store",
    }
)
"""Rules that tell whether another object is there, or how it is: a refusal says the rule alone, and
a warning nothing."""


class Words(NamedTuple):
    """What is said in the place of a finding's own words."""

    message: str
    remedy: str


FIXED: Final[Mapping[str, Words]] = {
    NONE_RULE: Words(
        "needs no privilege, but a profile that may be used for it",
        "Ask for the right to use a profile in this namespace.",
    ),
    RUNTIME: Words(
        "must run in a sandbox, and the cluster has none that is ready for it",
        "Your cluster's operators must mend the RuntimeClass of the sandbox.",
    ),
    ENTERED: Words(
        "enters a Pod that must run in a sandbox, and does not",
        "Have the Pod created anew, and enter that one.",
    ),
    "notes/profile": Words(
        "does not say the profile that it is admitted under: the gate notes that",
        "Leave the annotation as it was, or out of your manifest, and submit it again.",
    ),
    "notes/root": Words(
        "needs more than the profile covers that is noted on the workload it comes from",
        "Submit the workload again with a change of its template: it is judged anew then.",
    ),
    "notes/unnoted": Words(
        "comes from a workload that does not say who asked for it",
        "Submit the workload again with a change of its template, or create it anew.",
    ),
    "approvals/approver": Words(
        "may not be approved by you now",
        "Let another person approve it.",
    ),
    "statements/person": Words(
        "may not be made by you now",
        "Let another person make it.",
    ),
    "approvals/object": Words(
        "names an object that cannot be approved so: it is not there, or has changed",
        "Compare the name, the uid and the digest with the object's own.",
    ),
    "approvals/widening": Words(
        "allows more than before, which two others have not approved",
        "Two others approve it first, just as it is: sallyport approve profile FILE.",
    ),
    "approvals/narrowing": Words(
        "guards less than before, which two others have not approved",
        "Two others approve it first, just as it is: sallyport approve store FILE.",
    ),
    "exceptions/use": Words(
        "excuses what only somebody may excuse who can use a profile that covers it",
        "Let someone write it who may use a profile that covers all of it.",
    ),
    "break-glass/person": Words("may not be activated by you now", "Let another person do it."),
    "break-glass/approved": Words(
        "is not approved by two people",
        "Two people approve it first, neither of whom wrote it: sallyport approve.",
    ),
    "break-glass/relaxed": Words(
        "BREAK GLASS: a BreakGlass relaxes what would be refused",
        "Put right what follows before it ends; what still runs then is reported.",
    ),
    "egress/labels": Words(
        "is the gate's own label, and is not as the gate sets it",
        "Leave the label out of your manifest, and submit it again.",
    ),
    "egress/opens": Words(
        "opens more than the EgressAllowlists of its namespace do",
        "Write an EgressAllowlist instead.",
    ),
    "egress/sets": Words(
        "refers to EgressDestinations that its service accounts may not use",
        "Ask the owners of the set, or leave it out.",
    ),
    "egress/together": Words(
        "is broader than the limits together with the namespace's other allowlists",
        "Put these networks into one allowlist: two others can approve that one.",
    ),
    "egress/many": Words(
        "is more than the allowlists of one namespace can be",
        "Put what belongs together into one allowlist, and delete those that are over.",
    ),
    "weights/grant": Words(
        "reaches model weights, and no live AccessGrant covers that",
        "Ask for an AccessGrant that names the Pod's service account and whoever asks, and have "
        "two others approve it (sallyport approve accessgrant NAME).",
    ),
    "weights/public-route": Words(
        "goes to model weights by another address than their private endpoint",
        "Name the host of the private endpoint, or leave the address out.",
    ),
    "weights/copy": Words(
        "copies what may hold model weights",
        "Mount the claim itself under an AccessGrant, or ask the operators of the store.",
    ),
    "weights/volume": Words(
        "shows model weights, and is not kept for one claim from the start",
        "Create it anew, with the claim in spec.claimRef.",
    ),
}
"""By rule: the words in the place of those that tell of other objects, people or rights."""

_HEADLINES: Final[Mapping[str, str]] = {
    "approvals": "It may not be written so, or not by you.",
    "egress": "It would open egress that nobody has allowed.",
    "field": "It has fields that this gate does not know.",
    "guards": "It may not be written so, or not by you.",
    "identity": "An identity behind it keeps it from this.",
    "namespaces/ids": "Its IDs cannot be read.",
    "namespaces/egress-workloads": "Its list of workloads cannot be read.",
    "namespaces": "You may not change how this namespace is guarded.",
    "notes": "What is noted of who asked for it is not right.",
    "rules": "It asks for what nobody may have.",
    "sandbox": "It must run in a sandbox.",
    "weights": "It reaches model weights without a live grant.",
}
"""By the first finding's rule, or by the first part of it."""

_HIDDEN: Final = Words("is refused by this rule", _ASK)
_AT_RISK: Final = Words("this is held back for the risk of an identity behind it", _HELP)
_STALE: Final = Words(
    "this is held back: nobody knows now whether an identity behind it is at risk",
    "Try again in some minutes; if it stays, tell your cluster's operators.",
)
_OF_ANOTHER: Final[Mapping[OtherObject, Words]] = {
    OtherObject.ROLE: Words(
        "gives rights that you may not give",
        f"Name a role that gives less. {_ASK}",
    ),
    OtherObject.POD: Words(
        "the Pod that it enters has what you may not have",
        f"Enter a Pod that a profile of yours covers. {_ASK}",
    ),
    OtherObject.VOLUME: Words(
        "is a volume that you may not have",
        f"Use a claim of another volume. {_ASK}",
    ),
}


def publish_outcomes(outcomes: Iterable[Outcome], facts: Facts) -> list[Outcome]:
    """Return the outcomes in words that follow from the object and from profiles' text."""
    found = [_publish(outcome, facts) for outcome in outcomes]
    return [outcome for outcome in found if outcome.findings]


def publish_remarks(remarks: Sequence[str]) -> tuple[str, ...]:
    """Return what stands for remarks, which name exceptions and who approved them."""
    if not remarks:
        return ()
    return (f"A PolicyException or BreakGlass is about it, and does not help. {_ASK}",)


def publish_error(error: CannotJudgeError | InvalidObjectError, request: Request) -> str:
    """Return why nobody could judge: what is wrong with the object, or the kind of error.

    An error about another object, or of what the cluster did not say, would tell of these.
    """
    if isinstance(error, InvalidObjectError):
        own = error.what == request.kind.kind
        return str(error) if own else "an object that it refers to does not have its kind's shape"
    if isinstance(error, (DeadlineError, OverloadError)):
        return str(error)
    return f"something that must be known for it is not known now ({error.kind})"


def _publish(outcome: Outcome, facts: Facts) -> Outcome:
    found: dict[tuple[str, str, str], Finding] = {}
    for finding in outcome.findings:
        for each in _told(finding, facts):
            found.setdefault((each.rule, each.path, each.message), each)
    told = tuple(found.values())
    if not told:
        return Outcome()
    return msgspec.structs.replace(
        outcome,
        findings=told,
        headline=_headline(told),
        advice=tuple(_advice(outcome, told, facts)),
        profile=None,
        sandbox=None,
    )


def _told(finding: Finding, facts: Facts) -> Iterator[Finding]:
    """Yield a finding as it is told; nothing of a warning that tells of other than the object."""
    rule = finding.rule
    if (another := other_object_of(rule, finding.path)) is not None:
        path = "" if another is OtherObject.POD else finding.path
        yield Finding(ELSEWHERE_RULE, finding.action, path, *_OF_ANOTHER[another])
    elif rule.startswith(_OF_IDENTITY):
        if finding.action is Action.DENY:
            yield Finding(rule, finding.action, "", *(_STALE if _is_stale(rule) else _AT_RISK))
    elif rule == NAMED_RULE:
        yield _named(finding, facts)
    elif rule in OWN or _is_of_object(facts.rules.get(rule)):
        yield finding
    elif (fixed := FIXED.get(rule) or _of_site(facts.rules.get(rule))) is not None:
        yield Finding(rule, finding.action, finding.path, *fixed, container=finding.container)
    elif finding.action is Action.DENY:
        yield Finding(rule, finding.action, "", *_HIDDEN)


def _is_stale(rule: str) -> bool:
    return rule == f"{_OF_IDENTITY}stale"


def _is_of_object(rule: Rule | None) -> bool:
    """Return whether a built-in rule of Rego reads the object's projection alone."""
    return rule is not None and not rule.site and rule.id.startswith((_PRIVILEGES, _DENIALS))


def _of_site(rule: Rule | None) -> Words | None:
    """Return what the METADATA of a site's rule says; its messages may quote what it was shown."""
    if rule is None or not rule.site:
        return None
    return Words(printable(rule.title or "is refused by a rule of this cluster", 200), rule.remedy)


def _named(finding: Finding, facts: Facts) -> Finding:
    named = facts.pod.named if facts.pod else None
    name = printable(named.name, 80) if named and named.path == PROFILE_PATH else ""
    what = f"the profile {name}" if name else "the profile that is named for it"
    if named is not None and named.name not in facts.profiles.by_name:
        words = Words(f"there is no ContainerProfile {name}", "Name one that exists, or none.")
    else:
        words = Words(f"{what} may not be used for it here", "Name another profile, or none.")
    return Finding(NAMED_RULE, finding.action, finding.path, *words)


def _headline(told: Sequence[Finding]) -> str:
    privileges = {finding.privilege for finding in told if finding.privilege}
    if privileges and all(finding.privilege for finding in told):
        count = len(privileges)
        return f"It needs {count} privilege{'' if count == 1 else 's'} that may not be used here."
    rule = told[0].rule
    return _HEADLINES.get(rule) or _HEADLINES.get(rule.partition("/")[0], "It is refused.")


def _advice(outcome: Outcome, told: Sequence[Finding], facts: Facts) -> Iterator[str]:
    pod, rules = facts.pod, {finding.rule for finding in told}
    if pod is not None and any(finding.privilege for finding in told) | (NONE_RULE in rules):
        if pod.entered:
            yield CONNECT_ADVICE
        elif ELSEWHERE_RULE not in rules:
            yield from _of_profiles(facts)
    elif outcome.sandbox is not None and not rules.isdisjoint({REQUIRED, INCOMPATIBLE}):
        yield from _of_sandbox(outcome.sandbox, facts.rules)
    if rules in ({"namespaces/exempt"}, {"egress/uncompared"}):
        yield from outcome.advice


def _of_profiles(facts: Facts) -> Iterator[str]:
    """Yield which profiles cover all of it: what profiles say, not who may use them."""
    pod = facts.pod
    if pod is None or pod.named is not None:
        return
    covering, near = pod.candidates.covering_names(), pod.candidates.nearest
    if covering:
        yield f"Or ask for the right to use {join_words(covering, 4)}."
    elif near and any(map(is_special, pod.privileges)):
        lacks = join_words(sorted(near[0].gaps), 4)
        yield f"No profile covers all of it; the closest, {near[0].name}, lacks {lacks}."


def _of_sandbox(decision: SandboxDecision, rules: Mapping[str, Rule]) -> Iterator[str]:
    """Yield the signals of the object's own, without a score: others may count in it."""
    own = [each for each in decision.signals if _is_own_signal(each.rule, rules)][:_REASONS]
    if decision.asked or not own:
        return
    shown = ", ".join(f"{each.rule} ({each.reason})" for each in own)
    yield f"What makes it riskier: {shown}. To lower it: {rules[own[0].rule].remedy}"


def _is_own_signal(signal: str, rules: Mapping[str, Rule]) -> bool:
    rule = rules.get(signal)
    return rule is not None and not rule.site and signal.startswith(_OF_CODE)
