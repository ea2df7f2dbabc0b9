"""What of a recorded decision its own requester may read: no risk, and nothing of other objects.

Risk details would warn a thief who uses the requester's token. A review that a stranger sent may
name any object, in anybody's name: so of a decision whose caller did not prove to be
kube-apiserver, only what follows from the object itself is shown, and the requester's own rights.
Pure (docs/adr/0061).
"""

from typing import Final

import msgspec

from core.decision.decision import Action, Finding, Need
from core.decision.document import (
    AccessAnswer,
    DecisionDocument,
    Isolated,
    Revisions,
    TracedRoot,
    TriedProfile,
)
from core.decision.other_objects import other_object_of
from core.people.subject import Subject
from core.sandbox.decision import NOTED_PROFILE

ELSEWHERE_RULE: Final = "profiles/elsewhere"
"""Stands for the rules of all that another object needs: a role, a Pod, a volume."""

OWN: Final = frozenset(
    {
        "profiles/more",
        "profiles/many",
        "sandbox/incompatible",
        "sandbox/required",
        "approvals/own",
        "approvals/right",
        "approvals/stated",
        "approvals/unchanged",
        "statements/unchanged",
        "break-glass/sealed",
        "break-glass/used",
        "egress/approval",
        "egress/broad",
        "egress/default-deny",
        "egress/finalizer",
        "egress/generated",
        "egress/host-network",
        "egress/invalid",
        "egress/lasting",
        "egress/many-tenants",
        "egress/punycode",
        "egress/reserved",
        "egress/shared",
        "egress/uncompared",
        "egress/wildcard",
        "guards/expiry",
        "guards/recorded",
        "field/unknown",
        "namespaces/egress-workloads",
        "namespaces/exempt",
        "namespaces/ids",
        "notes/grants",
        "notes/owner",
        "notes/owner-gone",
        "notes/requester",
    }
)
"""Rules whose findings say what the request itself says, and fixed words."""

_OF_IDENTITY: Final = "identity/"
_OF_PEOPLE: Final = ("sandbox/identity/", "sandbox/behaviour/", "sandbox/actor/")
"""Signals that count who is behind an object."""

_OF_OBJECT: Final = ("privileges/", "rules/")

_HELP: Final = "Give the decision's id to your security team, or to your cluster's operators."
_ASK: Final = "Ask your cluster's operators, who may read the decision: give them its id."


def is_requester(document: DecisionDocument, subject: Subject, *, names: bool) -> bool:
    """Return whether a subject asked, or submitted the workload that it was asked for.

    `names` is whether people are recorded by their user names: a name could look like a label.
    """
    shown = subject.username if names else subject.label
    root = document.root.requester if document.root else ""
    return bool(shown) and shown in {document.requester, root}


def view_for_requester(
    document: DecisionDocument, subject: Subject, *, names: bool
) -> DecisionDocument:
    """Return what its requester may read of a decision."""
    shown = subject.username if names else subject.label
    whole = document.caller_known
    # What is said of the sandbox of a Pod that is entered is that Pod's.
    isolated = None if document.request.operation == "CONNECT" and not whole else document.isolation
    return msgspec.structs.replace(
        document,
        risk=[],
        more_risk=0,
        behaviour=[],
        context="",
        revisions=Revisions(document.revisions.policy, document.revisions.profiles),
        isolation=_sandbox(isolated, whole=whole) if isolated else None,
        sandbox=document.sandbox if isolated else None,
        findings=[
            told for each in document.findings if (told := _finding(each, whole=whole)) is not None
        ],
        needs=[each for each in document.needs if whole or _is_own(each)],
        tried=[_tried(each, document, shown, whole=whole) for each in document.tried],
        access_reviews=[each for each in document.access_reviews if _is_of(each, shown)],
        root=_root(document.root, shown, whole=whole) if document.root else None,
        exceptions=document.exceptions if whole else [],
        break_glass=document.break_glass if whole else [],
        weight_stores=document.weight_stores if whole else [],
        grants=document.grants if whole else [],
        reason=document.reason if whole or document.error_kind == "object" else "",
    )


def _finding(finding: Finding, *, whole: bool) -> Finding | None:
    if finding.rule.startswith(_OF_IDENTITY):
        if finding.action is Action.WARN:
            return None
        message = "this is held back for the risk of an identity behind it"
        return Finding(finding.rule, finding.action, "", message, _HELP)
    another = other_object_of(finding.rule, finding.path) is not None
    if whole or (finding.rule in OWN and not another) or _is_own(finding):
        return finding
    if finding.action is Action.WARN:
        return None
    rule = ELSEWHERE_RULE if another else finding.rule
    return Finding(rule, finding.action, "", "is refused by this rule", _ASK)


def _is_own(one: Finding | Need) -> bool:
    """Return whether something follows from the object that was sent alone."""
    return one.rule.startswith(_OF_OBJECT) and other_object_of(one.rule, one.path) is None


def _tried(
    tried: TriedProfile, document: DecisionDocument, shown: str, *, whole: bool
) -> TriedProfile:
    """Return a profile with what it lacks of the object's own, and the requester's own right."""
    if whole:
        return tried
    own = {need.privilege for need in document.needs if _is_own(need)}
    usable = tried.usable if document.subjects == [shown] else None
    lacks = [each for each in tried.lacks if each in own]
    return msgspec.structs.replace(tried, lacks=lacks, usable=usable)


def _is_of(answer: AccessAnswer, shown: str) -> bool:
    return answer.subject == shown


def _root(root: TracedRoot, shown: str, *, whole: bool) -> TracedRoot | None:
    """Return the workload behind an object: a reference to another's is easily made up."""
    if root.requester == shown:
        return root
    return msgspec.structs.replace(root, requester="") if whole else None


def _sandbox(decided: Isolated, *, whole: bool) -> Isolated | None:
    """Return what decided about the sandbox; nothing where people counted.

    A score without them, or a sandbox without its reason, would say that somebody is at risk.
    """
    if decided.identity or any(each.rule.startswith(_OF_PEOPLE) for each in decided.signals):
        return None
    noted = decided.mode_by is not None and decided.mode_by.kind == NOTED_PROFILE
    return msgspec.structs.replace(decided, mode_by=None) if noted and not whole else decided
