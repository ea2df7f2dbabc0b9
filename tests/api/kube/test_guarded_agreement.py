"""The CRDs and the Python types accept and refuse the same of what needs approval, and of that."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from core.approvals.approvals import CLUSTER_KIND, parse_approval
from core.approvals.break_glass import parse_break_glass
from core.approvals.exceptions import parse_exception
from core.base.errors import InvalidObjectError
from core.weights.audit_statements import parse_statement
from tests.harness.programs.client import Client
from tests.harness.programs.webhooks import serve_guarded

Spec = dict[str, Any]
WORKLOAD: Spec = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llama"}
EXCEPTION: Spec = {
    "workloads": [WORKLOAD],
    "excuses": [{"privilege": "host/network"}],
    "reason": "it must",
    "expiresAt": "2031-12-31T18:00:00Z",
}
APPROVAL: Spec = {
    "for": {"kind": "PolicyException", "name": "llama"},
    "expiresAt": "2031-12-31T18:00:00Z",
}
_NAMESPACED = {"PolicyException", "Approval"}
DIGEST = f"sha256:{64 * 'a'}"


def workload(**fields: Any) -> Spec:
    """Return an exception's `spec` with a workload changed."""
    return {**EXCEPTION, "workloads": [{**WORKLOAD, **fields}]}


def excuse(**fields: Any) -> Spec:
    """Return an exception's `spec` with one excuse."""
    return {**EXCEPTION, "excuses": [fields]}


def wanted(**fields: Any) -> Spec:
    """Return an approval's `spec` with `for` changed."""
    return {**APPROVAL, "for": {**APPROVAL["for"], **fields}}


def without(spec: Spec, field: str) -> Spec:
    """Return a `spec` without a field."""
    return {key: value for key, value in spec.items() if key != field}


RULE = "rules/runtime/annotations"
EXCEPTIONS: dict[str, tuple[bool, Any]] = {
    "plain": (True, EXCEPTION),
    "core group": (True, workload(apiVersion="v1", kind="Pod")),
    "many": (True, {**EXCEPTION, "workloads": [WORKLOAD] * 16}),
    "of a container": (True, excuse(privilege="capability/NET_ADMIN", container="a-1")),
    "percent": (True, excuse(privilege="volume/hostPath:ro/a%20b/...")),
    "a rule": (True, excuse(rule=RULE, value="io.x/y")),
    "a rule alone": (True, excuse(rule=RULE)),
    "null in optional fields": (True, excuse(privilege="a", container=None, rule=None)),
    "umlauts": (True, {**EXCEPTION, "reason": "ä" * 1024}),
    "spec is null": (False, None),
    "no workloads": (False, {**EXCEPTION, "workloads": []}),
    "too many": (False, {**EXCEPTION, "workloads": [WORKLOAD] * 17}),
    "every name": (False, workload(name="*")),
    "no name": (False, workload(name="")),
    "name with capitals": (False, workload(name="Llama")),
    "name of many": (False, workload(name="llama*")),
    "a selector instead": (False, workload(selector={"matchLabels": {}})),
    "kind in lower case": (False, workload(kind="deployment")),
    "every kind": (False, workload(kind="*")),
    "every version": (False, workload(apiVersion="*")),
    "group alone": (False, workload(apiVersion="apps")),
    "version null": (False, workload(apiVersion=None)),
    "no excuses": (False, {**EXCEPTION, "excuses": []}),
    "too many excuses": (False, {**EXCEPTION, "excuses": [{"privilege": "a"}] * 33}),
    "nothing excused": (False, excuse()),
    "both": (False, excuse(privilege="a", rule=RULE)),
    "a pattern": (False, excuse(privilege="host/*")),
    "everything": (False, excuse(privilege="**")),
    "dots": (False, excuse(privilege="a/../b")),
    "empty privilege": (False, excuse(privilege="")),
    "newline": (False, excuse(privilege="a\n")),
    "container of a rule": (False, excuse(rule=RULE, container="a")),
    "value of a privilege": (False, excuse(privilege="a", value="b")),
    "container with a star": (False, excuse(privilege="a", container="*")),
    "privilege as a rule": (False, excuse(rule="privileges/host/network")),
    "rules in general": (False, excuse(rule="rules")),
    "unknown field": (False, excuse(privilege="a", containers=["b"])),
    "no reason": (False, without(EXCEPTION, "reason")),
    "empty reason": (False, {**EXCEPTION, "reason": ""}),
    "long reason": (False, {**EXCEPTION, "reason": "a" * 1025}),
    "no end": (False, without(EXCEPTION, "expiresAt")),
    "end null": (False, {**EXCEPTION, "expiresAt": None}),
    "another zone": (False, {**EXCEPTION, "expiresAt": "2031-12-31T18:00:00+02:00"}),
    "fractions": (False, {**EXCEPTION, "expiresAt": "2031-12-31T18:00:00.5Z"}),
    "a day alone": (False, {**EXCEPTION, "expiresAt": "2031-12-31"}),
    "no such day": (False, {**EXCEPTION, "expiresAt": "2031-02-30T18:00:00Z"}),
    "hour 24": (False, {**EXCEPTION, "expiresAt": "2031-02-20T24:00:00Z"}),
    "second 60": (False, {**EXCEPTION, "expiresAt": "2031-02-20T23:59:60Z"}),
    "never": (False, {**EXCEPTION, "expiresAt": "9999-12-31T00:00:00Z"}),
}
APPROVALS: dict[str, tuple[bool, Any]] = {
    "plain": (True, APPROVAL),
    "as seen": (True, wanted(uid="0b1c-2d", digest=DIGEST)),
    "with a reason": (True, {**APPROVAL, "reason": "looked at it"}),
    "null in optional fields": (True, wanted(uid=None, digest=None)),
    "of an allowlist": (True, wanted(kind="EgressAllowlist")),
    "of a set": (False, wanted(kind="EgressDestinations")),
    "of nothing": (False, without(APPROVAL, "for")),
    "another kind": (False, wanted(kind="Secret")),
    "every name": (False, wanted(name="*")),
    "another namespace": (False, wanted(namespace="x")),
    "no digest": (False, wanted(digest="sha256:a")),
    "digest in capitals": (False, wanted(digest=DIGEST.upper())),
    "uid with a star": (False, wanted(uid="*")),
    "uid empty": (False, wanted(uid="")),
    "no end": (False, without(APPROVAL, "expiresAt")),
    "an approver": (False, {**APPROVAL, "approver": "ben@example.com"}),
    "long reason": (False, {**APPROVAL, "reason": "a" * 1025}),
}
CLUSTER_APPROVAL: Spec = {**APPROVAL, "for": {"kind": "BreakGlass", "name": "fire"}}


def proposal(**fields: Any) -> Spec:
    """Return the `spec` of an approval of a profile."""
    return {**APPROVAL, "for": {"kind": "ContainerProfile", "name": "gpu", **fields}}


CLUSTER_APPROVALS: dict[str, tuple[bool, Any]] = {
    "plain": (True, CLUSTER_APPROVAL),
    "of an exception": (False, APPROVAL),
    "of a set": (True, wanted(kind="EgressDestinations")),
    "of an allowlist": (False, wanted(kind="EgressAllowlist")),
    "of a profile": (True, proposal(digest=DIGEST)),
    "of a profile that is there": (True, proposal(digest=DIGEST, uid="0b1c-2d")),
    "of any profile": (False, proposal()),
    "of any profile by null": (False, proposal(digest=None)),
    "of nothing": (False, without(CLUSTER_APPROVAL, "for")),
}
GLASS: Spec = {"namespaces": ["train"], "rules": ["*"], "hours": 4, "reason": "it burns"}


def glass_egress(*workloads: str) -> Spec:
    """Return the `spec` of a BreakGlass for the egress of some workloads."""
    return {**without(GLASS, "rules"), "egress": {"workloads": [*workloads]}}


BREAK_GLASSES: dict[str, tuple[bool, Any]] = {
    "plain": (True, GLASS),
    "a day": (True, {**GLASS, "hours": 24}),
    "activated": (True, {**GLASS, "activated": True}),
    "null in optional fields": (True, {**GLASS, "privileges": None, "activated": None}),
    "rules": (True, {**GLASS, "rules": ["privileges/host/network", "rules/runtime/x_1"]}),
    "rules of risk": (True, {**GLASS, "rules": ["identity/risk", "identity/stale"]}),
    "privileges": (True, {**without(GLASS, "rules"), "privileges": ["host/*", "a/%20/**", "**"]}),
    "both": (True, {**GLASS, "rules": ["rules/a/b"], "privileges": ["host/*"]}),
    "egress alone": (True, {**without(GLASS, "rules"), "egress": {}}),
    "egress and everything": (True, {**GLASS, "egress": {}}),
    "egress of workloads": (True, glass_egress("Job/fetch", "Deployment/a.b-c")),
    "egress of nulls": (True, {**GLASS, "egress": {"workloads": None}}),
    "egress of no workload": (False, glass_egress()),
    "egress of too many": (False, glass_egress(*["Job/fetch"] * 65)),
    "egress of a kind alone": (False, glass_egress("Job")),
    "egress of every Job": (False, glass_egress("Job/*")),
    "egress of a lower kind": (False, glass_egress("job/fetch")),
    "egress of a namespace's": (False, glass_egress("train/Job/fetch")),
    "egress of a long name": (False, glass_egress(f"Job/{'a' * 254}")),
    "egress to somewhere": (False, {**GLASS, "egress": {"to": []}}),
    "egress in words": (False, {**GLASS, "egress": "all"}),
    "egress is null alone": (False, {**without(GLASS, "rules"), "egress": None}),
    "spec is null": (False, None),
    "nothing relaxed": (False, without(GLASS, "rules")),
    "no rule": (False, {**GLASS, "rules": []}),
    "no privilege": (False, {**without(GLASS, "rules"), "privileges": []}),
    "everything and more": (False, {**GLASS, "rules": ["*", "rules/a/b"]}),
    "everything twice": (False, {**GLASS, "rules": ["*", "*"]}),
    "everything and privileges": (False, {**GLASS, "privileges": ["host/*"]}),
    "the guards": (False, {**GLASS, "rules": ["guards/recorded"]}),
    "a check by name": (False, {**GLASS, "rules": ["profiles/named"]}),
    "another rule of risk": (False, {**GLASS, "rules": ["identity/behaviour"]}),
    "more than a rule of risk": (False, {**GLASS, "rules": ["identity/risk/a"]}),
    "a family": (False, {**GLASS, "rules": ["privileges/*"]}),
    "stars inside": (False, {**without(GLASS, "rules"), "privileges": ["a/**/b"]}),
    "dots": (False, {**without(GLASS, "rules"), "privileges": ["a/.."]}),
    "too many rules": (False, {**GLASS, "rules": ["rules/a/b"] * 33}),
    "no namespace": (False, {**GLASS, "namespaces": []}),
    "every namespace": (False, {**GLASS, "namespaces": ["*"]}),
    "too many namespaces": (False, {**GLASS, "namespaces": ["a"] * 65}),
    "long namespace": (False, {**GLASS, "namespaces": ["a" * 64]}),
    "no hours": (False, without(GLASS, "hours")),
    "zero hours": (False, {**GLASS, "hours": 0}),
    "too long": (False, {**GLASS, "hours": 25}),
    "half an hour": (False, {**GLASS, "hours": 0.5}),
    "hours in words": (False, {**GLASS, "hours": "4"}),
    "no reason": (False, {**GLASS, "reason": ""}),
    "activated in words": (False, {**GLASS, "activated": "true"}),
    "a time of activation": (False, {**GLASS, "activatedAt": "2031-12-31T18:00:00Z"}),
}
STATEMENT: Spec = {
    "finding": "01a1630d-b1e7-7505-9713-fbe309e7a0ca",
    "state": "investigating",
    "owner": "self",
    "note": "looked at it",
}
CLOSING: Spec = {**without(STATEMENT, "owner"), "state": "falseAlarm"}
ACCEPTED: Spec = {**CLOSING, "state": "accepted", "acceptedUntil": "2031-12-31T18:00:00Z"}
SIGNED: Spec = {"report": DIGEST}
STATEMENTS: dict[str, tuple[bool, Any]] = {
    "plain": (True, STATEMENT),
    "a state alone": (True, {"finding": STATEMENT["finding"], "state": "new"}),
    "an owner alone": (True, {"finding": STATEMENT["finding"], "owner": "user:0123456789abcdef"}),
    "a note alone": (True, {"finding": STATEMENT["finding"], "note": "n"}),
    "closing": (True, CLOSING),
    "accepted": (True, ACCEPTED),
    "a report": (True, SIGNED),
    "a report with a note": (True, {**SIGNED, "note": "read"}),
    "null in optional fields": (True, {**STATEMENT, "report": None, "acceptedUntil": None}),
    "owner of Entra": (True, {**STATEMENT, "owner": f"oid:{STATEMENT['finding']}"}),
    "spec is null": (False, None),
    "about nothing": (False, without(STATEMENT, "finding")),
    "about both": (False, {**STATEMENT, "report": DIGEST}),
    "nothing said": (False, {"finding": STATEMENT["finding"]}),
    "an empty note": (False, {"finding": STATEMENT["finding"], "note": ""}),
    "the beginning of an id": (False, {**STATEMENT, "finding": "01a1630d"}),
    "an id in capitals": (False, {**STATEMENT, "finding": STATEMENT["finding"].upper()}),
    "another state": (False, {**STATEMENT, "state": "closed"}),
    "closing without a note": (False, without(CLOSING, "note")),
    "closing with an empty note": (False, {**CLOSING, "note": ""}),
    "accepted for ever": (False, without(ACCEPTED, "acceptedUntil")),
    "an end of another state": (False, {**ACCEPTED, "state": "falseAlarm"}),
    "an end of no state": (False, without(ACCEPTED, "state")),
    "a day alone": (False, {**ACCEPTED, "acceptedUntil": "2031-12-31"}),
    "an owner by name": (False, {**STATEMENT, "owner": "ann@example.com"}),
    "an empty owner": (False, {**STATEMENT, "owner": ""}),
    "a long note": (False, {**STATEMENT, "note": "a" * 1025}),
    "a report by its beginning": (False, {"report": "sha256:aa"}),
    "a state of a report": (False, {**SIGNED, "state": "new"}),
    "an owner of a report": (False, {**SIGNED, "owner": "self"}),
    "an unknown field": (False, {**STATEMENT, "severity": "low"}),
}
KINDS: dict[str, tuple[str, Callable[[bytes], object], dict[str, tuple[bool, Any]]]] = {
    "PolicyException": ("policyexceptions", parse_exception, EXCEPTIONS),
    "Approval": ("approvals", parse_approval, APPROVALS),
    "BreakGlass": ("breakglasses", parse_break_glass, BREAK_GLASSES),
    CLUSTER_KIND: (
        "clusterapprovals",
        partial(parse_approval, kind=CLUSTER_KIND),
        CLUSTER_APPROVALS,
    ),
    "AuditStatement": ("auditstatements", parse_statement, STATEMENTS),
}


@pytest.fixture
async def served(client: Client) -> Client:
    """A client of a server that knows the kinds."""
    await serve_guarded(client)
    return client


def _accepts(kind: str, item: Spec) -> bool:
    try:
        KINDS[kind][1](json.dumps(item).encode())
    except InvalidObjectError:
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "case"), [(kind, case) for kind, (_, _, cases) in KINDS.items() for case in cases]
)
async def test_both_say_the_same(kind: str, case: str, served: Client) -> None:
    """What is right is accepted by both, what is wrong refused by both."""
    plural, _, cases = KINDS[kind]
    accepted, spec = cases[case]
    item = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "agreement"}
        | ({"namespace": "default"} if kind in _NAMESPACED else {}),
        "spec": spec,
    }
    place = "namespaces/default/" if kind in _NAMESPACED else ""
    path = f"/apis/sallyport.dev/v1alpha1/{place}{plural}"
    parameters = {"dryRun": "All", "fieldValidation": "Strict"}
    status, answer = await served.request("POST", path, item, parameters=parameters)
    assert status in {201, 400, 422}, answer
    assert (status == 201, _accepts(kind, item)) == (accepted, accepted), answer
