"""Roles and bindings in the shape of those that well-known operators install."""

from collections.abc import Iterator
from typing import Final

from tests.api.people.rights.asking import OPERATED, cluster_role
from tests.harness.programs.client import Json
from tests.harness.worlds.rbac import binding, role, rule, service_account

_CERTIFICATES: Final = "cert-manager.io"
_QUEUES: Final = "kueue.x-k8s.io"
_MONITORING: Final = "monitoring.coreos.com"
_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-{}"


def _given(name: str, *rules: Json) -> Iterator[Json]:
    yield cluster_role(*rules, name=name)
    yield binding(name, service_account(name, OPERATED))


def certificates() -> Iterator[Json]:
    """An issuer of certificates: reads Secrets everywhere, approves, renews CAs in webhooks."""
    yield from _given(
        "certificates",
        rule([_CERTIFICATES], "issuers certificates certificates/status", "get list watch update"),
        rule([""], "secrets", "get list watch create update delete"),
        rule([""], "events", "create patch"),
        rule(["certificates.k8s.io"], "signers", "approve", f"issuers.{_CERTIFICATES}/*"),
    )
    yield from _given(
        "certificates-injector",
        rule(
            ["admissionregistration.k8s.io"],
            "validatingwebhookconfigurations mutatingwebhookconfigurations",
            "get list watch update patch",
        ),
        rule(["apiregistration.k8s.io"], "apiservices", "get list watch update patch"),
        rule(["apiextensions.k8s.io"], "customresourcedefinitions", "get list watch update patch"),
    )
    for to in ("view", "edit", "admin"):
        read = rule([_CERTIFICATES], "certificates issuers", "get list watch")
        labels = {_AGGREGATE.format(to): "true"}
        yield cluster_role(read, name=f"certificates-{to}", metadata={"labels": labels})
    token = rule([""], "serviceaccounts/token", "create", "certificates")
    yield role("certificates-token", token, OPERATED)
    accounts = service_account("certificates", OPERATED)
    yield binding("certificates-token", accounts, namespace=OPERATED)


def queues() -> Iterator[Json]:
    """A queue of jobs: starts and stops workloads everywhere."""
    yield from _given(
        "queues",
        rule([_QUEUES], "workloads clusterqueues localqueues", "get list watch create update"),
        rule(["batch"], "jobs jobs/status", "get list watch update patch"),
        rule([""], "pods", "get list watch delete patch update"),
        rule([""], "secrets", "get list watch update"),
        rule(
            ["admissionregistration.k8s.io"],
            "mutatingwebhookconfigurations",
            "get list watch update",
        ),
    )
    leases = rule(["coordination.k8s.io"], "leases", "get list watch create update patch delete")
    yield role("queues-leader", leases, OPERATED)
    yield binding("queues-leader", service_account("queues", OPERATED), namespace=OPERATED)


def monitoring() -> Iterator[Json]:
    """Monitoring: every verb on its own kinds, metrics of nodes."""
    yield from _given(
        "monitoring",
        rule([_MONITORING], "prometheuses alertmanagers servicemonitors", "*"),
        rule(["apps"], "statefulsets", "*"),
        rule([""], "configmaps secrets", "*"),
        rule([""], "nodes nodes/metrics services endpoints pods", "get list watch"),
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    )


OPERATORS: Final = {
    "certificates": certificates,
    "queues": queues,
    "monitoring": monitoring,
}
