"""Ways to gain rights by giving them, and the privilege that each takes."""

from dataclasses import dataclass
from typing import Final

from tests.api.people.rights.people import OTHERS, TEAM, account, bound, cluster_role
from tests.harness.programs.client import Json
from tests.harness.worlds.rbac import group, role, rule, service_account, user

_RBAC: Final = ["rbac.authorization.k8s.io"]
_ADMISSION: Final = ["admissionregistration.k8s.io"]
_COLLEAGUE: Final = user("colleague@example.com")
_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-view"


@dataclass(frozen=True)
class Try:
    """Something that a researcher asks for, and the privilege that is missing."""

    name: str
    item: Json
    privilege: str


def _cluster(name: str, given: Json, privilege: str) -> Try:
    return Try(name, cluster_role(given), privilege)


def _here(name: str, given: Json, privilege: str) -> Try:
    return Try(name, role("tried", given, TEAM), privilege)


_ROLES: Final = (
    _cluster("everything", rule(["*"], "*", "*"), "rights/wildcard/api-groups"),
    _here("everything here", rule(["*"], "*", "*"), "rights/wildcard/verbs"),
    _here("every verb", rule([""], "configmaps", "*"), "rights/wildcard/verbs"),
    _here("every resource", rule(["apps"], "*", "get"), "rights/wildcard/resources"),
    _cluster("every subresource", rule([""], "*/*", "get"), "rights/wildcard/resources"),
    _cluster("escalate", rule(_RBAC, "clusterroles", "escalate"), "rights/escalate/%2A"),
    _here("escalate here", rule(_RBAC, "roles", "escalate"), "rights/escalate/%2A"),
    _cluster("bind", rule(_RBAC, "clusterroles", "bind", "admin"), "rights/bind/admin"),
    _cluster("users", rule([""], "users", "impersonate"), "rights/impersonate/users/%2A"),
    _cluster(
        "masters",
        rule([""], "groups", "impersonate", "system:masters"),
        "rights/impersonate/groups/system:masters",
    ),
    _cluster(
        "object ids",
        rule(["authentication.k8s.io"], "userextras/oid", "impersonate"),
        "rights/impersonate/userextras/oid",
    ),
    _cluster(
        "constrained",
        rule(["authentication.k8s.io"], "users", "impersonate:user-info"),
        "rights/impersonate/users/%2A",
    ),
    _here(
        "accounts",
        rule([""], "serviceaccounts", "impersonate"),
        "rights/impersonate/serviceaccounts/%2A",
    ),
    _here("tokens", rule([""], "serviceaccounts/token", "create"), "rights/token/%2A"),
    _here(
        "pod certificates",
        rule(["certificates.k8s.io"], "podcertificaterequests", "create"),
        "rights/pod-certificates",
    ),
    _here("every token", rule([""], "*/token", "create"), "rights/token/%2A"),
    _cluster("secrets", rule([""], "secrets", "list"), "rights/secrets/read"),
    _cluster("keys", rule([""], "secrets", "patch", "sallyport-ca"), "rights/secrets/write"),
    _cluster(
        "the gate's webhooks",
        rule(_ADMISSION, "validatingwebhookconfigurations", "patch", "sallyport"),
        "rights/webhooks/validatingwebhookconfigurations/sallyport",
    ),
    _cluster(
        "policy bindings",
        rule(_ADMISSION, "validatingadmissionpolicybindings", "delete"),
        "rights/webhooks/validatingadmissionpolicybindings/%2A",
    ),
    _cluster(
        "mutating policies",
        rule(_ADMISSION, "mutatingadmissionpolicies", "create"),
        "rights/webhooks/mutatingadmissionpolicies/%2A",
    ),
    _cluster(
        "api services",
        rule(["apiregistration.k8s.io"], "apiservices", "create"),
        "rights/apis/apiservices/%2A",
    ),
    _here("endpoints", rule([""], "endpoints", "update"), "rights/network/endpoints"),
    _here(
        "slices",
        rule(["discovery.k8s.io"], "endpointslices", "create"),
        "rights/network/endpointslices",
    ),
    _here("addresses of Pods", rule([""], "pods/status", "patch"), "rights/network/pod-status"),
    _here("addresses", rule([""], "services/status", "patch"), "rights/network/service-status"),
    _cluster(
        "kubelets' addresses", rule([""], "nodes/status", "patch"), "rights/network/node-status"
    ),
    _cluster("kubelets", rule([""], "nodes/proxy", "get"), "rights/nodes-proxy"),
    _cluster("every proxy", rule([""], "*/proxy", "get"), "rights/nodes-proxy"),
    _cluster(
        "certificates",
        rule(["certificates.k8s.io"], "signers", "approve"),
        "rights/certificates/approve/%2A",
    ),
    _here(
        "a profile",
        rule(["sallyport.dev"], "containerprofiles", "use", "pss-privileged"),
        "rights/use/pss-privileged",
    ),
    _cluster("every profile", rule(["sallyport.dev"], "*", "use"), "rights/use/%2A"),
    _cluster("a tier", rule(["sallyport.dev"], "approvaltiers", "approve"), "rights/approve/%2A"),
    _cluster("exemption", rule(["sallyport.dev"], "namespaces", "exempt"), "rights/exempt/%2A"),
    _cluster(
        "wider profiles",
        rule(["sallyport.dev"], "containerprofiles", "update"),
        "rights/sallyport/containerprofiles",
    ),
    _cluster("workloads", rule(["apps"], "daemonsets", "create"), "rights/workloads/run"),
    _cluster("sessions", rule([""], "pods/exec", "create"), "rights/workloads/enter"),
    Try(
        "rules for view",
        cluster_role(
            rule(["example.com"], "things", "get"), metadata={"labels": {_AGGREGATE: "true"}}
        ),
        "rights/aggregate/rbac.authorization.k8s.io%2Faggregate-to-view",
    ),
    Try(
        "rules of all",
        cluster_role(aggregationRule={"clusterRoleSelectors": [{}]}),
        "rights/collect/%2A",
    ),
)

_BINDINGS: Final = (
    Try(
        "cluster-admin", bound("cluster-admin", _COLLEAGUE, namespace=None), "rights/wildcard/verbs"
    ),
    Try("cluster-admin here", bound("cluster-admin", _COLLEAGUE), "rights/escalate/%2A"),
    Try("admin", bound("admin", _COLLEAGUE), "rights/impersonate/serviceaccounts/%2A"),
    Try("edit", bound("edit", _COLLEAGUE), "rights/token/%2A"),
    Try("edit everywhere", bound("edit", _COLLEAGUE, namespace=None), "rights/workloads/enter"),
    Try("nodes", bound("system:node", _COLLEAGUE, namespace=None), "rights/secrets/read"),
    Try("strangers", bound("view", user("system:anonymous")), "rights/subject/system:anonymous"),
    Try(
        "all strangers",
        bound("view", group("system:unauthenticated"), namespace=None),
        "rights/subject/system:unauthenticated",
    ),
    Try(
        "everyone",
        bound("view", group("system:authenticated")),
        "rights/subject/system:authenticated",
    ),
    Try(
        "all accounts",
        bound("view", group("system:serviceaccounts")),
        "rights/subject/system:serviceaccounts",
    ),
    Try("every Pod", bound("view", service_account("default", TEAM)), "rights/subject/default"),
    Try("a role to come", bound("to-come", _COLLEAGUE, kind="Role"), "rights/unknown-role"),
    Try("a cluster role to come", bound("to-come", _COLLEAGUE), "rights/unknown-role"),
    Try(
        "secrets for another namespace",
        bound("reader", service_account("trainer", OTHERS), kind="Role"),
        "rights/secrets/read",
    ),
    Try(
        "the same by user name",
        bound("reader", user(f"system:serviceaccount:{OTHERS}:trainer"), kind="Role"),
        "rights/secrets/read",
    ),
    Try(
        "the same by group",
        bound("reader", group(f"system:serviceaccounts:{OTHERS}"), kind="Role"),
        "rights/secrets/read",
    ),
)

_CLIENT: Final = "00000000-0000-0000-0000-00000000000a"

_ACCOUNTS: Final = (
    Try(
        "an identity in Azure",
        account(annotations={"azure.workload.identity/client-id": _CLIENT}),
        f"identity/azure/{_CLIENT}",
    ),
    Try(
        "another tenant",
        account(annotations={"azure.workload.identity/tenant-id": _CLIENT}),
        f"identity/azure-setting/tenant-id/{_CLIENT}",
    ),
    Try(
        "a sidecar that signs in",
        account(annotations={"azure.workload.identity/inject-proxy-sidecar": "true"}),
        "identity/azure-setting/inject-proxy-sidecar/true",
    ),
    Try(
        "a longer token",
        account(annotations={"azure.workload.identity/service-account-token-expiration": "86400"}),
        "identity/azure-setting/service-account-token-expiration/86400",
    ),
    Try(
        "a label",
        account(labels={"azure.workload.identity/use": "true"}),
        "identity/azure-setting/use/true",
    ),
    Try(
        "a role in AWS",
        account(annotations={"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/a"}),
        "identity/aws/arn:aws:iam::1:role%2Fa",
    ),
    Try(
        "an account in Google Cloud",
        account(annotations={"iam.gke.io/gcp-service-account": "a@b.example"}),
        "identity/gcp/a%40b.example",
    ),
)

TRIES: Final = (*_ROLES, *_BINDINGS, *_ACCOUNTS)

READER: Final = role("reader", rule([""], "secrets", "get"), TEAM)
"""A Role that gives nothing away as long as its namespace's own are bound to it."""
