"""Ways around what issue 24 built, tried by somebody who did not build it: rights and credentials.

RBAC allows all of it, and nobody who asks may use a profile: only the gate, or kube-apiserver
itself, refuses.
"""

import time
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from tests.api.people.connect_and_credentials.requests import (
    NAMESPACE,
    Asked,
    Visitors,
    certificate_request,
)
from tests.harness.programs.client import APPLY_PATCH, Client, Json
from tests.harness.worlds.rbac import GROUP, rule

CSRS: Final = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
SECRETS: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets"
TOKEN: Final = "kubernetes.io/service-account-token"
NAMED: Final = "kubernetes.io/service-account.name"
SIGNER: Final = "kubernetes.io/kube-apiserver-client"
MERGE: Final = "application/merge-patch+json"
DRY: Final = {"dryRun": "All"}
OF_TOKENS: Final = {"token/request/trainer", "token/unbound", "token/long-lived"}


def secret(name: str = "token", **changes: Any) -> Json:
    """Return a Secret that Kubernetes fills with a token of `trainer`."""
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": {NAMED: "trainer"}}
    made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": TOKEN}
    return {**made, **changes}


async def sent(
    client: Client, method: str, path: str, body: Json | str, content: str = "application/json"
) -> Asked:
    """Send a body, as text if it is one, dry; return what was said."""
    managed = {"fieldManager": "eve"} if content == APPLY_PATCH else {}
    parameters = {**DRY, **managed}
    status, answer = await client.request(
        method, path, body, parameters=parameters, content_type=content
    )
    return Asked(status, str(answer.get("message", answer)))


TWICE: Final = (
    '{"apiVersion":"v1","kind":"Secret","type":"Opaque","Type":"Opaque",'
    f'"metadata":{{"name":"twice","annotations":{{"{NAMED}":"nobody","{NAMED}":"trainer"}}}},'
    f'"type":"{TOKEN}"}}'
)

SECRET_WAYS: Final[dict[str, tuple[str, str, Json | str, str]]] = {
    "a name that is generated": (
        "POST",
        SECRETS,
        secret(metadata={"generateName": "t-", "annotations": {NAMED: "trainer"}}),
        "application/json",
    ),
    "a token of its own in stringData": (
        "POST",
        SECRETS,
        secret(stringData={"token": "mine", "namespace": "kube-system"}),
        "application/json",
    ),
    "each key twice, the harmless one first": ("POST", SECRETS, TWICE, "application/json"),
    "server-side apply": ("PATCH", f"{SECRETS}/applied", secret("applied"), APPLY_PATCH),
    "immutable from the start": ("POST", SECRETS, secret(immutable=True), "application/json"),
}


@pytest.mark.parametrize("way", SECRET_WAYS.values(), ids=SECRET_WAYS)
async def test_a_token_by_a_secret(
    visitors: Visitors, way: tuple[str, str, Json | str, str]
) -> None:
    """Wants a token of `trainer` that never ends, by a Secret that does not look like one."""
    asked = await sent(visitors.nobody(), *way)
    assert asked.refused, asked
    assert asked.privileges == OF_TOKENS


@pytest.fixture
async def token_of_another(admin: Client) -> AsyncIterator[Json]:
    """A Secret with a token of `default`, as somebody with the right made it."""
    made = secret("there")
    made["metadata"]["annotations"] = {NAMED: "default"}
    await admin.create(made)
    yield made
    await admin.delete(made)


async def test_a_token_secret_pointed_at_another_account(
    visitors: Visitors, token_of_another: Json
) -> None:
    """Wants the token controller to fill an existing Secret with `trainer`'s token."""
    name = token_of_another["metadata"]["name"]
    for annotations in ({NAMED: "trainer"}, {NAMED: "trainer", f"{NAMED[:-4]}uid": None}):
        patch = {"metadata": {"annotations": annotations}}
        asked = await sent(visitors.nobody(), "PATCH", f"{SECRETS}/{name}", patch, MERGE)
        assert asked.refused, asked
        assert asked.privileges == OF_TOKENS
    harmless = {"metadata": {"labels": {"a": "b"}}}
    assert (
        await sent(visitors.nobody(), "PATCH", f"{SECRETS}/{name}", harmless, MERGE)
    ).status == 200


async def test_a_secret_that_becomes_a_token_later(visitors: Visitors, admin: Client) -> None:
    """Wants the type changed after the creation was let pass: kube-apiserver itself refuses."""
    plain = secret("opaque", type="Opaque")
    await admin.create(plain)
    try:
        asked = await sent(visitors.nobody(), "PATCH", f"{SECRETS}/opaque", {"type": TOKEN}, MERGE)
        assert asked.status in {403, 422}, asked
    finally:
        await admin.delete(plain)


PADDED: Final = {"annotations": {"padding": "," * 15_000}}
"""Each comma counts as a value: what is large has its status taken away before it is read."""


@pytest.mark.parametrize("metadata", [{}, PADDED], ids=["small", "padded"])
@pytest.mark.parametrize("where", ["object", "condition"])
async def test_the_approval_of_a_large_certificate_request(
    visitors: Visitors, admin: Client, metadata: Json, where: str
) -> None:
    """Wants a certificate for a component approved, whose request is too large to be read whole."""
    made = certificate_request("padded", SIGNER, "system:kube-scheduler")
    made["metadata"] |= metadata if where == "object" else {}
    await admin.create(made)
    try:
        message = "," * 30_000 if where == "condition" and metadata else ""
        condition = {"type": "Approved", "status": "True", "reason": "a", "message": message}
        body = {**made, "status": {"conditions": [condition]}}
        asked = await sent(visitors.nobody(), "PUT", f"{CSRS}/padded/approval", body)
        assert asked.refused, asked
        assert f"certificate/approve/{SIGNER}" in asked.privileges
    finally:
        await admin.delete(made)


async def test_an_approval_by_the_wrong_door(visitors: Visitors, admin: Client) -> None:
    """Wants the approval written with the status, of which no webhook is asked."""
    made = certificate_request("by-status", SIGNER, "eve")
    await admin.create(made)
    try:
        condition = {"type": "Approved", "status": "True", "reason": "a"}
        body = {"status": {"conditions": [condition]}}
        for part in ("/status", ""):
            path = f"{CSRS}/by-status{part}"
            await visitors.nobody().request("PATCH", path, body, content_type=MERGE)
        found = await admin.get(made["apiVersion"], made["kind"], "by-status")
        assert not found["status"].get("conditions")
    finally:
        await admin.delete(made)


def given(*rules: Json, name: str = "tried") -> Json:
    """Return a ClusterRole."""
    metadata = {"name": name}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": list(rules),
    }


RIGHTS: Final = {
    "a node that is made at a gate's address": (rule([""], "nodes", "create"), "node-status"),
    "any part of a Pod": (rule([""], "pods/*", "patch"), "pod-status"),
    "the status of everything": (rule(["*"], "*/status", "update"), "node-status"),
    "slices of a star": (rule(["discovery.k8s.io"], "*", "delete"), "endpointslices"),
    "one Endpoints by its name": (rule([""], "endpoints", "patch", "gate"), "endpoints"),
}


@pytest.mark.parametrize(("gives", "privilege"), RIGHTS.values(), ids=RIGHTS)
async def test_a_right_that_says_where_a_proxy_leads(
    visitors: Visitors, gives: Json, privilege: str
) -> None:
    """Wants to give away what decides where kube-apiserver's proxies lead, by another spelling."""
    asked = await sent(visitors.nobody(), "POST", f"/apis/{GROUP}/v1/clusterroles", given(gives))
    assert asked.refused, asked
    assert f"rights/network/{privilege}" in asked.privileges


async def test_a_node_keeps_the_address_that_it_is_made_with(admin: Client) -> None:
    """kube-apiserver takes a node's status when it is made: that right is worth nodes/status."""
    status = {
        "addresses": [{"type": "InternalIP", "address": "10.244.0.9"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 9443}},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "made-up"}, "status": status}
    answer = await admin.dry_run(node)
    assert answer.body["status"]["addresses"] == status["addresses"]
    assert answer.body["status"]["daemonEndpoints"] == status["daemonEndpoints"]


def approval(**spec: Any) -> Json:
    """Return an Approval of an exception, as `spec.for` says more."""
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    wanted = {"kind": "PolicyException", "name": "seen", **spec}
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "Approval",
        "metadata": {"name": "tried", "namespace": NAMESPACE},
        "spec": {"for": wanted, "expiresAt": end},
    }


UNSTATED: Final[dict[str, Json]] = {
    "null": {"uid": None, "digest": None},
    "empty": {"uid": "", "digest": ""},
    "of nothing": {"uid": "none", "digest": f"sha256:{'0' * 64}"},
    "one of both": {"uid": "0d6c6c5e-8a5b-4a0e-9a57-1f6d2c1b7a31"},
}


@pytest.mark.parametrize("spec", UNSTATED.values(), ids=UNSTATED)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_an_approval_that_states_nothing(visitors: Visitors, spec: Json, method: str) -> None:
    """Wants the gate to fill in what the approver has not seen."""
    path = f"/apis/sallyport.dev/v1alpha1/namespaces/{NAMESPACE}/approvals"
    content = APPLY_PATCH if method == "PATCH" else "application/json"
    where = f"{path}/tried" if method == "PATCH" else path
    asked = await sent(visitors.using("pss-privileged"), method, where, approval(**spec), content)
    assert asked.status in {403, 422}, asked
    if asked.status == 403:
        assert "admission webhook" in asked.message
