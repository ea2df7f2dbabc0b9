"""The status of an object is nobody's decision: it is read past, and no digest holds it."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from core.approvals.approvals import CLUSTER_KIND, parse_approval
from core.approvals.break_glass import parse_break_glass
from core.approvals.exceptions import parse_exception
from core.base.errors import InvalidObjectError
from core.base.sallyport_objects import read_object
from core.weights.access_grants import parse_grant
from core.weights.audit_statements import parse_statement
from tests.api.kube.test_guarded_agreement import (
    APPROVAL,
    CLUSTER_APPROVAL,
    EXCEPTION,
    GLASS,
    STATEMENTS,
)
from tests.api.kube.test_weight_agreement import GRANT

FORGED: Final = {
    "conditions": [{"type": "Active", "status": "True", "reason": "TwoPeople"}],
    "ends": "2031-12-31T18:00:00Z",
    "approvedBy": ["oid:a", "oid:b"],
}

PARSERS: Final[dict[str, tuple[Callable[[bytes], Any], Any]]] = {
    "PolicyException": (parse_exception, EXCEPTION),
    "Approval": (parse_approval, APPROVAL),
    CLUSTER_KIND: (partial(parse_approval, kind=CLUSTER_KIND), CLUSTER_APPROVAL),
    "BreakGlass": (parse_break_glass, GLASS),
    "AccessGrant": (parse_grant, GRANT),
    "AuditStatement": (parse_statement, next(spec for sound, spec in STATEMENTS.values() if sound)),
}


def raw(kind: str, spec: Any, **fields: Any) -> bytes:
    """Return an object as a cluster holds it."""
    metadata = {"name": "a", "namespace": "b", "uid": "c", "annotations": {}}
    whole = {"apiVersion": "sallyport.dev/v1alpha1", "kind": kind, "metadata": metadata}
    return json.dumps({**whole, "spec": spec, **fields}).encode()


@pytest.mark.parametrize("kind", PARSERS)
def test_no_status_changes_what_an_object_says(kind: str) -> None:
    """With any status, and with a broken one, it reads as without one, digest included."""
    parse, spec = PARSERS[kind]
    plain = parse(raw(kind, spec))
    assert plain is not None
    for status in (FORGED, {}, None, "broken", [1]):
        assert parse(raw(kind, spec, status=status)) == plain


@pytest.mark.parametrize("kind", PARSERS)
def test_another_field_beside_the_spec_is_refused(kind: str) -> None:
    """Only `status` is read past: what nobody knows is not."""
    parse, spec = PARSERS[kind]
    with pytest.raises(InvalidObjectError, match="statuses: there is no such field; remove it"):
        parse(raw(kind, spec, statuses=FORGED))


def test_the_digest_is_of_the_spec_alone() -> None:
    """A status that control writes revokes no approval."""
    before = read_object(raw("PolicyException", EXCEPTION), "PolicyException").digest
    after = read_object(raw("PolicyException", EXCEPTION, status=FORGED), "PolicyException").digest
    changed = {**EXCEPTION, "reason": "other"}
    other = read_object(raw("PolicyException", changed), "PolicyException").digest
    assert (after == before, other == before) == (True, False)
