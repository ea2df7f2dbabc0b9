"""Requests that none of Sallyport's accounts may make, and how to see which it may."""

from dataclasses import dataclass
from typing import Any

from tests.api.chart.conftest import ELSEWHERE
from tests.harness.programs.client import Client, Json
from tests.harness.programs.helm import NAMESPACE
from tests.harness.worlds.rbac import GROUP

OWN = f"/api/v1/namespaces/{NAMESPACE}"
OTHER = f"/api/v1/namespaces/{ELSEWHERE}"
RBAC = f"/apis/{GROUP}/v1"
OWN_RBAC = f"{RBAC}/namespaces/{NAMESPACE}"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
PROFILES = "/apis/sallyport.dev/v1alpha1/containerprofiles"
LEASES = "/apis/coordination.k8s.io/v1/namespaces"

MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class Attempt:
    """One request. A body that no object would have is enough: rights are asked first."""

    method: str
    path: str
    impersonate: str = ""

    async def make(self, client: Client) -> tuple[int, Json]:
        """Send it."""
        asker = client.as_user(self.impersonate) if self.impersonate else client
        content_type = MERGE if self.method == "PATCH" else "application/json"
        body: Json | None = None if self.method == "GET" else {}
        return await asker.request(self.method, self.path, body, content_type=content_type)


FORBIDDEN = {
    "list its namespace's Secrets": Attempt("GET", f"{OWN}/secrets"),
    "list all Secrets": Attempt("GET", "/api/v1/secrets"),
    "watch all Secrets": Attempt("GET", "/api/v1/secrets?watch=true"),
    "read another Secret": Attempt("GET", f"{OWN}/secrets/somebody-elses"),
    "read a Secret elsewhere": Attempt("GET", f"{OTHER}/secrets/sallyport-ca"),
    "write a Secret elsewhere": Attempt("POST", f"{OTHER}/secrets"),
    "delete the CA": Attempt("DELETE", f"{OWN}/secrets/sallyport-ca"),
    "list ConfigMaps": Attempt("GET", f"{OWN}/configmaps"),
    "read ConfigMaps elsewhere": Attempt("GET", f"{OTHER}/configmaps/kube-root-ca.crt"),
    "change the gate's settings": Attempt("PATCH", f"{OWN}/configmaps/sallyport-gate"),
    "create a Pod beside itself": Attempt("POST", f"{OWN}/pods"),
    "create a Pod elsewhere": Attempt("POST", f"{OTHER}/pods"),
    "delete a Pod": Attempt("DELETE", f"{OTHER}/pods/a"),
    "exec into a Pod": Attempt("POST", f"{OWN}/pods/sallyport-auditor-0/exec?command=sh"),
    "debug a Pod": Attempt("PATCH", f"{OWN}/pods/sallyport-auditor-0/ephemeralcontainers"),
    "read a Pod's log": Attempt("GET", f"{OTHER}/pods/a/log"),
    "speak to a kubelet": Attempt("GET", "/api/v1/nodes/a/proxy/pods"),
    "impersonate an admin": Attempt("GET", "/api/v1/secrets", impersonate="admin"),
    "make itself a token": Attempt("POST", f"{OWN}/serviceaccounts/sallyport-control/token"),
    "widen its own rights": Attempt("PATCH", f"{RBAC}/clusterroles/sallyport-control"),
    "widen its own role": Attempt(
        "PATCH", f"{RBAC}/namespaces/{NAMESPACE}/roles/sallyport-control"
    ),
    "bind a role": Attempt("POST", f"{RBAC}/namespaces/{NAMESPACE}/rolebindings"),
    "bind a role everywhere": Attempt("POST", f"{RBAC}/clusterrolebindings"),
    "delete a namespace": Attempt("DELETE", OTHER),
    "mark a namespace": Attempt("PATCH", OTHER),
    "change a profile": Attempt("PATCH", f"{PROFILES}/pss-restricted"),
    "create a profile": Attempt("POST", PROFILES),
    "register a webhook": Attempt("POST", f"{WEBHOOKS}/validatingwebhookconfigurations"),
    "change another webhook": Attempt("PATCH", f"{WEBHOOKS}/validatingwebhookconfigurations/other"),
    "remove the webhooks": Attempt(
        "DELETE", f"{WEBHOOKS}/validatingwebhookconfigurations/sallyport"
    ),
    "list the webhooks": Attempt("GET", f"{WEBHOOKS}/mutatingwebhookconfigurations"),
    "lift the guard": Attempt(
        "DELETE", f"{WEBHOOKS}/validatingadmissionpolicybindings/namespace-guard.sallyport.dev"
    ),
    "change the kinds": Attempt(
        "PATCH",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/containerprofiles.sallyport.dev",
    ),
    "change its own workload": Attempt(
        "PATCH", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/sallyport-gate"
    ),
    "approve a certificate": Attempt(
        "PUT", "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval"
    ),
    "take another Lease": Attempt("PUT", f"{LEASES}/kube-system/leases/kube-scheduler"),
    "take an Event away": Attempt("DELETE", f"{OWN}/events/a"),
}
"""By what the request would do."""


async def rules(client: Client, namespace: str) -> set[tuple[str, str, str, str]]:
    """Return what the asker may do in a namespace, as (verb, group, resource, name or "").

    Without what every authenticated account may: ask about itself.
    """
    review: Json = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    status, answer = await client.request("POST", path, review)
    assert status == 201
    found: list[dict[str, Any]] = answer["status"]["resourceRules"]
    return {
        (verb, group, resource, name)
        for rule in found
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or [""]
        if not resource.startswith("self")
    }
