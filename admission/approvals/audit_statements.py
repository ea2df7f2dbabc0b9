"""AuditStatements are made by people who are not at risk, and bear the name of who makes them.

Everything is read from the request. Whether a statement counts (its author may be whom the finding
is about, and a high one takes two people to close) is decided where the ledger is read, which has
the finding and all that was said of it: the gate asks no ledger.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from admission.approvals.approvals import annotations_of, check_end, guard_finding
from admission.model.facts import GuardFacts
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.sallyport_objects import read_object
from core.decision.decision import Finding
from core.decision.request import Operation, Request
from core.people.subject import Subject
from core.people.two_person import (
    ApprovalTerms,
    Person,
    person_of,
    why_may_not_approve,
    write_person,
)
from core.weights.audit_statements import KIND, MAX_DAYS, AuditStatement, parse_statement

PERSON_RULE: Final = "statements/person"
UNCHANGED_RULE: Final = "statements/unchanged"

_RECORDED: Final = (names.AUTHOR_ANNOTATION,)


@dataclass(frozen=True)
class StatementGuard:
    """Finds who makes a statement, and what speaks against it."""

    terms: ApprovalTerms
    clock: Callable[[], float]

    async def gather(self, request: Request) -> GuardFacts:
        """Return what must be recorded, what is, and what speaks against the request.

        Raises:
            InvalidObjectError: the object does not have its kind's shape.
        """
        if request.object is None:
            raise InvalidObjectError(KIND, "object", "the review holds none")
        statement = parse_statement(request.object)
        found = annotations_of(statement.meta.annotations, _RECORDED)
        if request.operation is Operation.UPDATE and request.old_object is not None:
            old = read_object(request.old_object, KIND)
            findings: tuple[Finding, ...] = ()
            if statement.digest != old.digest:
                remedy = "Make another one: sallyport findings set."
                findings = (guard_finding(UNCHANGED_RULE, "spec", "never changes", remedy),)
            return GuardFacts(annotations_of(old.meta.annotations, _RECORDED), found, findings)
        recorded = {names.AUTHOR_ANNOTATION: write_person(marks_of(request.subject))}
        return GuardFacts(recorded, found, self._against(request.subject, statement))

    def _against(self, subject: Subject, statement: AuditStatement) -> tuple[Finding, ...]:
        findings: tuple[Finding, ...] = ()
        if why := why_may_not_approve(subject, self.terms, "make a statement"):
            remedy = "Let another person make it."
            findings = (guard_finding(PERSON_RULE, "", why, remedy),)
        if statement.spec.accepted_until is None:
            return findings
        until, path = statement.accepted_until, "spec.acceptedUntil"
        return findings + check_end(self.clock(), until, MAX_DAYS, path)


def marks_of(subject: Subject) -> Person:
    """Return all by which a finding may name a person: findings have the labels of requesters."""
    return person_of(subject) | {subject.label}
