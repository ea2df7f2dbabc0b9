"""The CRDs and the Python types accept and refuse the same exceptions and approvals."""

import json
from typing import Any

import pytest

from core.approvals import parse_approval
from core.errors import InvalidObjectError
from core.exceptions import parse_exception
from tests.harness.client import Client
from tests.harness.webhooks import serve_guarded

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
DIGEST = f"sha256:{64 * 'a'}"


def workload(**fields: Any) -> Spec:
    """Give an exception's `spec` with a workload changed."""
    return {**EXCEPTION, "workloads": [{**WORKLOAD, **fields}]}


def excuse(**fields: Any) -> Spec:
    """Give an exception's `spec` with one excuse."""
    return {**EXCEPTION, "excuses": [fields]}


def wanted(**fields: Any) -> Spec:
    """Give an approval's `spec` with `for` changed."""
    return {**APPROVAL, "for": {**APPROVAL["for"], **fields}}


def without(spec: Spec, field: str) -> Spec:
    """Give a `spec` without a field."""
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
KINDS = {
    "PolicyException": (parse_exception, EXCEPTIONS),
    "Approval": (parse_approval, APPROVALS),
}


@pytest.fixture
async def served(client: Client) -> Client:
    """A client of a server that knows the kinds."""
    await serve_guarded(client)
    return client


def _accepts(kind: str, item: Spec) -> bool:
    try:
        KINDS[kind][0](json.dumps(item).encode())
    except InvalidObjectError:
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "case"), [(kind, case) for kind, (_, cases) in KINDS.items() for case in cases]
)
async def test_both_say_the_same(kind: str, case: str, served: Client) -> None:
    """What is right is accepted by both, what is wrong refused by both."""
    accepted, spec = KINDS[kind][1][case]
    item = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "agreement", "namespace": "default"},
        "spec": spec,
    }
    path = f"/apis/sallyport.dev/v1alpha1/namespaces/default/{kind.lower()}s"
    parameters = {"dryRun": "All", "fieldValidation": "Strict"}
    status, answer = await served.request("POST", path, item, parameters=parameters)
    assert status in {201, 400, 422}, answer
    assert (status == 201, _accepts(kind, item)) == (accepted, accepted), answer
