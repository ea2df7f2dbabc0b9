"""Words for a right that is missing: where it is asked, whose it is, what gives it. Pure."""

import shlex

import msgspec

from core.base import names
from core.decision.document import DecisionDocument
from core.people.subject import SERVICE_ACCOUNT_PREFIX


def asked_in(document: DecisionDocument) -> str:
    """Give where the rights were asked, which is the same of all; empty for all namespaces."""
    asked = (answer.namespace for answer in document.access_reviews)
    return next(asked, document.request.namespace)


def place_in_words(namespace: str) -> str:
    """Name the place of a right; none is all namespaces."""
    return f"in namespace {namespace}" if namespace else "in all namespaces"


def place_of(document: DecisionDocument) -> str:
    """Say where the rights count, to who asked."""
    namespace = asked_in(document)
    return (
        "here"
        if namespace and namespace == document.request.namespace
        else place_in_words(namespace)
    )


def commands_of(profile: str, namespace: str, label: str) -> list[str]:
    """Give what an administrator would type. A person's label is no name: USER stands for it.

    The role is written out: `kubectl create role` refuses the verb `use` for kinds that it does not
    know (k8s.io/kubectl pkg/cmd/create/create_role.go, specialVerbs).
    """
    role = shlex.quote(f"use-{profile}")
    kind = "" if namespace else "cluster"
    place = f" -n {shlex.quote(namespace)}" if namespace else ""
    if label.startswith(SERVICE_ACCOUNT_PREFIX):
        account = label.removeprefix(SERVICE_ACCOUNT_PREFIX)
        subject = f"--serviceaccount={shlex.quote(account)}"
    else:
        subject = "--user=USER"
    return [
        f"echo {shlex.quote(_role(profile, namespace))} | kubectl create -f -",
        f"kubectl create {kind}rolebinding {role}{place} --{kind}role={role} {subject}",
    ]


def _role(profile: str, namespace: str) -> str:
    place = {"namespace": namespace} if namespace else {}
    rule = {
        "apiGroups": [names.GROUP],
        "resources": [names.PROFILES_RESOURCE],
        "resourceNames": [profile],
        "verbs": [names.USE_VERB],
    }
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": {"name": f"use-{profile}", **place},
        "rules": [rule],
    }
    return msgspec.json.encode(role).decode()


def name_subject(label: str) -> str:
    """Name who lacks the right, to an administrator: a person goes by the pseudonym."""
    if label.startswith(SERVICE_ACCOUNT_PREFIX):
        return "service account " + label.removeprefix(SERVICE_ACCOUNT_PREFIX)
    return f"who asked ({label})"
