"""Registers the gate's webhooks with kube-apiserver, by URL instead of by Service."""

import asyncio
import base64
import re
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Final

from tests.harness.evidence import ROOT
from tests.harness.programs.client import Client, Json, read_objects
from tests.harness.worlds.pods import RESTRICTED
from tests.harness.worlds.rbac import grant, rule, user

CRDS: Final = ROOT / "helm" / "sallyport-crds" / "templates"
MANIFEST: Final = ROOT / "deploy" / "webhooks.yaml"
SETTLE_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.1
_BINDING: Final[Json] = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "none"},
    "target": {"apiVersion": "v1", "kind": "Node", "name": "none"},
}
_NAMESPACE: Final = "webhook-probe"
_CALLS: Final = re.compile(
    r'^apiserver_admission_webhook_request_total\{.*name="([^"]+)".*\} (\S+)$',
    re.MULTILINE,
)


def configurations(url: str, ca_pem: bytes) -> list[Json]:
    """Return the shipped webhook configurations, pointed at `url` plus each webhook's path."""
    items = read_objects(MANIFEST)
    for item in items:
        for webhook in item["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {
                "url": f"{url}{path}",
                "caBundle": base64.b64encode(ca_pem).decode(),
            }
    return items


_GUARDED: Final = {
    "PolicyException": "policyexceptions",
    "Approval": "approvals",
    "BreakGlass": "breakglasses",
    "ClusterApproval": "clusterapprovals",
    "EgressAllowlist": "egressallowlists",
    "EgressDestinations": "egressdestinations",
    "AccessGrant": "accessgrants",
    "WeightStore": "weightstores",
    "AuditStatement": "auditstatements",
}
"""The kinds that are guarded, and their plurals."""


@asynccontextmanager
async def registered(
    client: Client, url: str, ca_pem: bytes, only: Collection[str] = ()
) -> AsyncIterator[None]:
    """Have kube-apiserver ask the gate at `url` while the context lasts.

    `only` names the webhooks that are registered; without it all are.

    On entry it has been seen to ask every webhook, on exit to ask none any more: it follows
    changes of a registration with a delay. Whatever the gate answers is right here.
    """
    await client.create_namespace(_NAMESPACE)
    await serve_guarded(client)
    await client.apply(grant(_NAMESPACE, rule(["*"], "*", "*"), user(_NAMESPACE)))
    items = configurations(url, ca_pem)
    for item in items if only else ():
        item["webhooks"] = [each for each in item["webhooks"] if each["name"] in only]
    names = {webhook["name"] for item in items for webhook in item["webhooks"]}
    await client.apply(items)
    try:
        await _wait_until_called(client, names)
        yield
    finally:
        for item in items:
            await client.delete(item)
        await _wait_until_called(client, set())


@asynccontextmanager
async def unregistered(client: Client, url: str, ca_pem: bytes) -> AsyncIterator[None]:
    """Have kube-apiserver ask nobody while the context lasts, and then the gate at `url` again."""
    items = configurations(url, ca_pem)
    for item in items:
        await client.delete(item)
    await _wait_until_called(client, set())
    try:
        yield
    finally:
        await client.apply(items)
        names = {webhook["name"] for item in items for webhook in item["webhooks"]}
        await _wait_until_called(client, names)


async def serve_guarded(client: Client) -> None:
    """Have the kinds served that are guarded: a webhook for a kind that is not is never called."""
    for kind, plural in _GUARDED.items():
        await client.apply(read_objects(CRDS / f"{plural}.yaml"))
        await client.wait_for_kind("sallyport.dev/v1alpha1", kind)


async def _wait_until_called(client: Client, names: set[str]) -> None:
    """Ask for an object of each, until exactly the webhooks of these names are called."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    while (called := await _called(client)) != names:
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"kube-apiserver calls {sorted(called)} and not {sorted(names)} "
                f"{SETTLE_TIMEOUT_S:g} s after their registration changed",
            )
        await asyncio.sleep(_POLL_S)


async def _called(client: Client) -> set[str]:
    """Return the webhooks that kube-apiserver called for one object of each."""
    before = await _call_counts(client)
    namespace: Json = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": f"{_NAMESPACE}-2"},
    }
    template = RESTRICTED.pod()
    template["metadata"] = {"labels": {"app": "probe"}}
    deployment: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "probe"},
        "spec": {"selector": {"matchLabels": {"app": "probe"}}, "template": template},
    }
    claim: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "probe"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    labels = {"app": "probe"}
    controller: Json = {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "probe"},
        "spec": {
            "replicas": 0,
            "selector": labels,
            "template": {"metadata": {"labels": labels}, "spec": RESTRICTED.pod()["spec"]},
        },
    }
    exception: Json = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "PolicyException",
        "metadata": {"name": "probe"},
        "spec": {
            "workloads": [{"apiVersion": "v1", "kind": "Pod", "name": "probe"}],
            "excuses": [{"privilege": "host/network"}],
            "reason": "probe",
            "expiresAt": "2099-01-01T00:00:00Z",
        },
    }
    policy: Json = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "probe"},
        "spec": {"podSelector": {}, "egress": [{}]},
    }
    for path, body in (
        (f"/apis/networking.k8s.io/v1/namespaces/{_NAMESPACE}/networkpolicies", policy),
        (f"/apis/sallyport.dev/v1alpha1/namespaces/{_NAMESPACE}/policyexceptions", exception),
        (f"/apis/apps/v1/namespaces/{_NAMESPACE}/deployments", deployment),
        (f"/api/v1/namespaces/{_NAMESPACE}/persistentvolumeclaims", claim),
        (f"/api/v1/namespaces/{_NAMESPACE}/replicationcontrollers", controller),
        (f"/api/v1/namespaces/{_NAMESPACE}/pods", RESTRICTED.pod()),
        ("/api/v1/namespaces", namespace),
        (f"/api/v1/namespaces/{_NAMESPACE}/bindings", _BINDING),
    ):
        await client.request("POST", path, body, parameters={"dryRun": "All"})
    # Connections know no dry run; there is no such Pod.
    await client.request("POST", f"/api/v1/namespaces/{_NAMESPACE}/pods/none/exec?command=true")
    # Members of system:masters are left out where rights are judged.
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    await client.as_user(_NAMESPACE).request(
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        {**role, "metadata": {"name": "probe"}, "rules": []},
        parameters={"dryRun": "All"},
    )
    after = await _call_counts(client)
    return {name for name, count in after.items() if count > before.get(name, 0)}


async def _call_counts(client: Client) -> dict[str, float]:
    """Return how often each webhook was called, whatever came of it, from /metrics."""
    _, answer = await client.request("GET", "/metrics")
    counts: dict[str, float] = {}
    for name, count in _CALLS.findall(answer["message"]):
        counts[name] = counts.get(name, 0) + float(count)
    return counts
