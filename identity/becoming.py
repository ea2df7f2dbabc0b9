"""By which rights one holder becomes another, so that all that the other may is its own.

Sources: k8s.io/apiserver pkg/endpoints/filters/impersonation/mode.go (1.36, with constrained
impersonation, KEP-5284); k8s.io/kubernetes pkg/registry/core/serviceaccount/storage/token.go and
pkg/controller/serviceaccount/tokens_controller.go.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from identity.grants import EVERY, Grants, Held, both
from identity.holders import AUTHENTICATED, EVERY_ACCOUNT, UNAUTHENTICATED, Holder, accounts_of
from kube.rbac import MASTERS, Question

_AUTHENTICATION: Final = "authentication.k8s.io"
_USER_INFO: Final = "impersonate:user-info"

_WORKLOADS: Final = (
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "cronjobs"),
    ("batch", "jobs"),
    ("", "replicationcontrollers"),
)
"""Kubernetes' own kinds whose controllers make Pods of any service account of the namespace."""


@dataclass(frozen=True)
class Way:
    """One who becomes another."""

    holder: Holder
    means: str
    """Completes a sentence that begins with the holder: `impersonates group researchers`."""
    by: str
    """What gives the right: `ClusterRoleBinding operators`."""


def ways_to_become(target: Holder, grants: Grants) -> Iterator[Way]:
    """Yield who becomes `target` in one step, and how. Everyone is in some groups anyway."""
    if target in {AUTHENTICATED, UNAUTHENTICATED}:
        return
    if target.kind == "User":
        yield from _user(target, grants)
    elif target.kind == "ServiceAccount":
        yield from _account(target.namespace, target.name, str(target), grants)
    else:
        yield from _group(target, grants)


def _user(target: Holder, grants: Grants) -> Iterator[Way]:
    for asked in (
        Question("impersonate", "", "users", target.name),
        Question(_USER_INFO, _AUTHENTICATION, "users", target.name),
    ):
        yield from _ways(grants.who(asked), f"impersonates {target}")


def _group(target: Holder, grants: Grants) -> Iterator[Way]:
    """Yield who impersonates a group, for which it must impersonate some user too."""
    means = f"impersonates {target}"
    some_one = grants.who(Question("impersonate", "", "users"), any_name=True)
    some_one |= grants.who_anywhere(Question("impersonate", "", "serviceaccounts"))
    legacy = grants.who(Question("impersonate", "", "groups", target.name))
    yield from _ways(both(legacy, some_one), means)
    if target.name != MASTERS:
        users = grants.who(Question(_USER_INFO, _AUTHENTICATION, "users"), any_name=True)
        asked = Question(_USER_INFO, _AUTHENTICATION, "groups", target.name)
        yield from _ways(both(grants.who(asked), users), means)
    if namespace := accounts_of(target):
        yield from _account(namespace, None, f"a service account of {namespace}", grants)
    if target == EVERY_ACCOUNT:
        for place in (EVERY, *grants.namespaces):
            yield from _account(place, None, "a service account", grants)


def _account(namespace: str, name: str | None, who: str, grants: Grants) -> Iterator[Way]:
    """Yield who becomes a service account, or with None any one of the namespace."""
    some, known = name is None, name or ""
    for verb, group, subresource, means in (
        ("impersonate", "", "", f"impersonates {who}"),
        ("impersonate:serviceaccount", _AUTHENTICATION, "", f"impersonates {who}"),
        ("create", "", "token", f"creates tokens of {who}"),
    ):
        asked = Question(verb, group, "serviceaccounts", known, namespace, subresource)
        yield from _ways(grants.who(asked, any_name=some), means)
    yield from _ways(_by_secrets(namespace, grants), f"makes Secrets with tokens of {who}")
    pods = grants.who(Question("create", "", "pods", "", namespace))
    yield from _ways(pods, f"creates Pods that run as {who}")
    yield from _ways(_by_workloads(namespace, grants), f"creates workloads that run as {who}")


def _by_secrets(namespace: str, grants: Grants) -> Held:
    """Give who may make a Secret that the token controller fills, and read it."""
    makes = grants.who(Question("create", "", "secrets", "", namespace))
    reads: Held = {}
    for verb in ("get", "list", "watch"):
        reads |= grants.who(Question(verb, "", "secrets", "", namespace), any_name=True)
    return both(makes, reads)


def _by_workloads(namespace: str, grants: Grants) -> Held:
    found: Held = {}
    for group, resource in _WORKLOADS:
        for verb in ("create", "update", "patch"):
            asked = Question(verb, group, resource, "", namespace)
            found |= grants.who(asked, any_name=verb != "create")
    return found


def _ways(held: Held, means: str) -> Iterator[Way]:
    for holder, by in held.items():
        yield Way(holder, means, by)
