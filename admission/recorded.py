"""Reads a recorded decision back into what a judge works on. Pure."""

from collections.abc import Mapping

from admission.model.candidates import candidates
from admission.model.facts import Facts, NamedProfile, PodFacts
from admission.profiles.denials import is_denial
from core.base.errors import LedgerError
from core.decision.document import DecisionDocument
from core.decision.request import Kind, Operation, Request
from core.people.subject import SERVICE_ACCOUNT_PREFIX, Subject, service_account_subject
from core.sandbox.decision import SandboxMode, WeighedSignal
from sandbox.risk_score import NO_RISK, RiskScore


def request_of(document: DecisionDocument, subject: Subject) -> Request:
    """Give the request again, without its object, as if `subject` had made it.

    Raises:
        LedgerError: it is not about a Pod, or the record does not hold all that the Pod needs.
    """
    asked = document.request
    if (asked.group, asked.version, asked.kind) != ("", "v1", "Pod"):
        what = f"is about a {asked.kind}; only Pods are judged again from the record"
        raise LedgerError(f"decision {document.id} {what}: give the manifest instead")
    cut = document.more_needs or any(need.privilege.endswith("…") for need in document.needs)
    if document.error_kind or document.left_alone or cut:
        what = "does not record all that its object needs"
        raise LedgerError(f"decision {document.id} {what}: give the manifest instead")
    return Request(
        uid="",
        kind=Kind(asked.kind, asked.version, asked.group),
        operation=Operation(asked.operation),
        subject=subject,
        namespace=asked.namespace,
        name=asked.name,
        subresource=asked.subresource,
        dry_run=True,
    )


def recorded_needs(
    document: DecisionDocument, subject: Subject, facts: Facts, privileges: Mapping[str, int]
) -> PodFacts:
    """Give what was recorded of a Pod, with `subject` in its requester's place."""
    named = document.named
    return PodFacts(
        needs=tuple(document.needs),
        privileges=frozenset(privileges),
        subjects=tuple(_subjects(document, subject)),
        namespace=document.request.namespace,
        denials=tuple(f for f in document.findings if is_denial(f)),
        candidates=candidates(facts.profiles, facts.namespace, privileges),
        named=NamedProfile(named.profile, named.path) if named else None,
    )


def recorded_weight(document: DecisionDocument, mode: SandboxMode) -> RiskScore:
    """Give what counted when it was decided; it counts the same whoever asks.

    Raises:
        LedgerError: nobody asked for a sandbox then, so nothing was weighed, and now the risk
            decides.
    """
    was = document.isolation
    if was is not None:
        counted = tuple(WeighedSignal(s.rule, s.points, s.path, s.reason) for s in was.signals)
        return RiskScore(counted, was.score)
    if mode is SandboxMode.BY_RISK:
        what = "does not record how risky its object is, since nobody asked for a sandbox then"
        raise LedgerError(f"decision {document.id} {what}: give the manifest instead")
    return NO_RISK


def _subjects(document: DecisionDocument, subject: Subject) -> list[Subject]:
    """Give whose rights count: service accounts as recorded, anyone else is the requester."""
    accounts = [label for label in document.subjects if label.startswith(SERVICE_ACCOUNT_PREFIX)]
    kept = [
        service_account_subject(*label.removeprefix(SERVICE_ACCOUNT_PREFIX).split(":", 1))
        for label in accounts
        if label != document.requester
    ]
    asks = not document.subjects or document.requester in document.subjects
    return [subject, *kept] if asks else kept
