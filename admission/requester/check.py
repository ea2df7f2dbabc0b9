"""Only the gate notes who asked for an object, and its Pods match the note on their root."""

from admission.model.facts import Facts, OriginFacts, PodFacts
from admission.model.messages import join_words
from admission.model.outcome import NOTHING, Outcome
from admission.profiles.check import check_profiles
from admission.risk.check import check_risk
from admission.weights.check import check_weights
from core.approvals.break_glass import ROOT_NOTE_RULE
from core.base.safe_text import printable
from core.decision.decision import Action, Finding
from core.decision.namespaces import Namespace, WhenUnnoted
from core.decision.request import Phase, Request
from core.decision.requester_notes import RootWorkload
from identity.requester_note_rules import required_notes, wrong_notes

OWNER_GONE_RULE = "notes/owner-gone"
UNNOTED_RULE = "notes/unnoted"

_SHOWN = 4


def check_notes(request: Request, facts: Facts) -> Outcome:
    """Refuse a note that is not the gate's, and a Pod that its root does not stand for.

    On the way to the final state the notes are not there yet: the mutating pass is only told what
    they have to be.
    """
    findings: tuple[Finding, ...] = ()
    if facts.origin is not None:
        findings = _of_origin(facts.origin, facts.namespace)
    if facts.notes is not None and request.phase is not Phase.MUTATING:
        profile, refused = _otherwise(request, facts)
        findings += wrong_notes(facts.notes, profile, refused=refused, grants=_granted(facts))
    if not findings:
        return NOTHING
    return Outcome(findings, "What is noted of who asked for it is not right.")


def notes_to_record(
    request: Request, facts: Facts, profile: str | None, *, refused: bool
) -> dict[str, str]:
    """Return the annotations that the mutating pass sets; `profile` is the one admitted under.

    What will be refused stays as its author wrote it. A note of the profile that the namespace
    names would outlive the namespace's choice; one on a workload that does not say all of its
    Pods (`core.kubernetes.workload_kinds.WorkloadKind.more`) would refuse them what their
    operator adds.
    """
    if facts.notes is None or request.phase is not Phase.MUTATING or refused:
        return {}
    return required_notes(facts.notes, profile if _says_all(facts.pod) else None, _granted(facts))


def _granted(facts: Facts) -> str:
    """Return what is to be noted of grants: on workloads alone, to which Pods are traced."""
    listed_kind = facts.notes is not None and facts.notes.workload
    return facts.weights.noted if facts.weights is not None and listed_kind else ""


def _otherwise(request: Request, facts: Facts) -> tuple[str | None, bool]:
    """Return the profile that must be noted, and whether the object is refused for what it needs.

    Of a Pod no profile must be noted, so nothing is worked out.
    """
    pod = facts.pod
    if pod is None or facts.notes is None or not facts.notes.workload:
        return None, False
    outcome = check_profiles(request, facts)
    refused = outcome.denies or bool(pod.denials) or _cannot_be_sandboxed(pod)
    refused = refused or check_risk(request, facts).denies or check_weights(request, facts).denies
    noted = not refused and _says_all(pod)
    return outcome.profile if noted else None, refused


def _cannot_be_sandboxed(pod: PodFacts) -> bool:
    return pod.sandbox is not None and any(each.refusals for each in pod.sandbox.decided)


def _says_all(pod: PodFacts | None) -> bool:
    """Return whether the profile is the workload's own, and about all of its Pods."""
    return pod is None or (pod.is_complete and not (pod.named and pod.named.of_namespace))


def _of_origin(origin: OriginFacts, namespace: Namespace | None) -> tuple[Finding, ...]:
    root = origin.root
    if root is None:
        message = "is owned by an object that is not there any more; it would be removed at once"
        remedy = "Nothing needs to be done; what the owner made goes with it."
        return (Finding(OWNER_GONE_RULE, Action.DENY, "metadata.ownerReferences", message, remedy),)
    if root.requester is None:
        if namespace is None or namespace.when_unnoted is WhenUnnoted.SERVICE_ACCOUNT:
            return ()
        message = f"comes from {_name(root)}, which does not say who asked for it"
        remedy = f"Submit {_name(root)} again with a change of its template, or create it anew."
        return (Finding(UNNOTED_RULE, Action.DENY, "metadata.ownerReferences", message, remedy),)
    return _of_profile(root, origin)


def _of_profile(root: RootWorkload, origin: OriginFacts) -> tuple[Finding, ...]:
    if root.profile is None or origin.gaps == frozenset():
        return ()
    name = printable(root.profile, 80)
    if origin.gaps is None:
        message = f"comes from {_name(root)}, noted under the profile {name}, which is gone"
    else:
        lacking = join_words(sorted(origin.gaps), _SHOWN)
        message = f"needs more than the profile {name} noted on {_name(root)} covers: {lacking}"
    remedy = f"Submit {_name(root)} again with a change of its template: it is judged anew then."
    return (Finding(ROOT_NOTE_RULE, Action.DENY, "metadata.ownerReferences", message, remedy),)


def _name(root: RootWorkload) -> str:
    return f"{root.kind} {printable(root.name, 80)}"
