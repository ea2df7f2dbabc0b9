"""What recorded decisions say of enforcing."""

from typing import Any

import pytest

from core.decision.decision import Running, Verdict
from core.decision.document import TracedRoot
from core.decision.document_outlook import (
    Outlook,
    document_requester,
    document_workload,
    enforcement_outlook,
)
from tests.unit.audit.ledger.store.documents import document


@pytest.mark.parametrize(
    ("verdict", "fields", "expected"),
    [
        (Verdict.ALLOW, {"mode": "audit", "if_enforced": "admitted"}, Outlook.ADMITTED),
        (Verdict.WARN, {"mode": "audit", "if_enforced": "refused"}, Outlook.REFUSED),
        (Verdict.WARN, {"mode": "warn", "if_enforced": "admitted"}, Outlook.ADMITTED),
        (Verdict.WARN, {"mode": "warn"}, Outlook.REFUSED),
        (Verdict.WARN, {"mode": "enforce"}, Outlook.ADMITTED),
        (Verdict.DENY, {"mode": "enforce"}, Outlook.REFUSED),
        (Verdict.DENY, {"mode": "audit"}, Outlook.ADMITTED),
        (Verdict.ERROR, {"mode": "audit"}, Outlook.UNJUDGED),
        (Verdict.ERROR, {"mode": "enforce"}, Outlook.UNJUDGED),
    ],
)
def test_what_enforcing_would_make_of_it(
    verdict: Verdict, fields: dict[str, Any], expected: Outlook
) -> None:
    """Warnings of earlier releases count as refusals; what no mode admits does not count."""
    assert enforcement_outlook(document(verdict=verdict, **fields)) is expected


ROOT = TracedRoot(kind="Deployment", name="web", uid="u", requester="user:2bd806c97f0e00af")


@pytest.mark.parametrize(
    ("fields", "workload", "asker"),
    [
        ({"root": ROOT, "requester": "system:x"}, "Deployment/web", "user:2bd806c97f0e00af"),
        ({"name": "note", "requester": "oid:1"}, "Pod/note", "oid:1"),
        ({"name": "", "requester": "oid:1"}, "Pod/(unnamed)", "oid:1"),
        ({"name": "a", "subresource": "exec", "requester": "oid:1"}, "Pod/a exec", "oid:1"),
        ({"source": "sweep", "running": Running("Job/fit"), "requester": "s"}, "Job/fit", ""),
        ({"source": "sweep", "running": Running(), "name": "b", "requester": "s"}, "Pod/b", ""),
    ],
)
def test_workloads_are_what_people_submit(
    fields: dict[str, Any], workload: str, asker: str
) -> None:
    """Pods count as their root; of what runs nothing says who asked for it."""
    made = document(**fields)
    assert (document_workload(made), document_requester(made)) == (workload, asker)
