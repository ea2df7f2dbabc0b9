"""Reads a recorded decision back into what a judge works on. Pure."""

from admission.candidates import candidates
from admission.facts import Facts, NamedProfile, PodFacts
from core.document import DecisionDocument
from core.errors import NotSyncedError
from core.request import Kind, Operation, Request
from core.subject import SERVICE_ACCOUNT_PREFIX, Subject, service_account


def request_of(document: DecisionDocument, subject: Subject) -> Request:
    """Give the request again, without its object, as if `subject` had made it."""
    asked = document.request
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


def recorded_needs(document: DecisionDocument, subject: Subject, facts: Facts) -> PodFacts:
    """Give what was recorded of a Pod, with `subject` in its requester's place.

    Raises:
        NotSyncedError: the record does not hold all that it needs.
    """
    if document.error_kind or document.left_alone or document.more_needs:
        message = f"decision {document.id} does not record all that its object needs"
        raise NotSyncedError(f"{message}: give the manifest instead")
    privileges = frozenset(need.privilege for need in document.needs)
    named = document.named
    return PodFacts(
        needs=tuple(document.needs),
        privileges=privileges,
        subjects=tuple(_subjects(document, subject)),
        root=False,
        candidates=candidates(facts.profiles, facts.namespace, privileges),
        named=NamedProfile(named.profile, named.path) if named else None,
    )


def _subjects(document: DecisionDocument, subject: Subject) -> list[Subject]:
    """Give whose rights count: service accounts as recorded, anyone else is the requester."""
    accounts = [label for label in document.subjects if label.startswith(SERVICE_ACCOUNT_PREFIX)]
    kept = [
        service_account(*label.removeprefix(SERVICE_ACCOUNT_PREFIX).split(":", 1))
        for label in accounts
        if label != document.requester
    ]
    asks = not document.subjects or document.requester in document.subjects
    return [subject, *kept] if asks else kept
