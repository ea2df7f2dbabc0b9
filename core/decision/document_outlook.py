"""What a recorded decision means for a rollout: its outlook, its workload and its requester."""

import enum

from core.decision.decision import Verdict
from core.decision.document import DecisionDocument
from core.decision.namespaces import Mode


class Outlook(enum.Enum):
    """What enforcing would make of what was decided."""

    ADMITTED = "admitted"
    REFUSED = "refused"
    UNJUDGED = "unjudged"
    """Nobody could judge it: it would be refused as an error."""


def enforcement_outlook(document: DecisionDocument) -> Outlook:
    """Return what enforcing would make of a decision.

    A warning that says neither, of an earlier release, counts as a refusal. What was refused though
    its namespace did not enforce is refused in every mode: enforcing changes nothing for it.
    """
    enforced = document.mode == Mode.ENFORCE.value
    if document.verdict is Verdict.ERROR:
        return Outlook.UNJUDGED
    if document.verdict is Verdict.DENY:
        return Outlook.REFUSED if enforced else Outlook.ADMITTED
    if enforced or document.if_enforced:
        return Outlook.REFUSED if document.if_enforced == "refused" else Outlook.ADMITTED
    return Outlook.REFUSED if document.verdict is Verdict.WARN else Outlook.ADMITTED


def document_workload(document: DecisionDocument) -> str:
    """Name what a decision was about by what people submit: `Deployment/web`, `Pod/notebook exec`.

    Pods that a controller made count as their root, those that run as what they say made them.
    """
    asked = document.request
    if document.running is not None and document.running.workload:
        return document.running.workload
    if document.root is not None:
        return f"{document.root.kind}/{document.root.name}"
    tail = f" {asked.subresource}" if asked.subresource else ""
    return f"{asked.kind}/{asked.name or '(unnamed)'}{tail}"


def document_requester(document: DecisionDocument) -> str:
    """Name who asked: of what a controller made, who asked for its root, where that is noted.

    Of what runs nothing says it: empty.
    """
    if document.source == "sweep":
        return ""
    return (document.root.requester if document.root else "") or document.requester
