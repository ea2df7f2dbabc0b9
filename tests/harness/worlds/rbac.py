"""Roles, their bindings and subjects, as Kubernetes takes them."""

from tests.harness.programs.client import Json

GROUP = "rbac.authorization.k8s.io"


def user(name: str) -> Json:
    """Return the subject that a user is."""
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def group(name: str) -> Json:
    """Return the subject that a group is."""
    return {"kind": "Group", "apiGroup": GROUP, "name": name}


def service_account(name: str, namespace: str) -> Json:
    """Return the subject that a service account is."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def rule(groups: list[str], resources: str, verbs: str, *names: str) -> Json:
    """Return a rule; `resources` and `verbs` are words in a row.

    `names` limit it to some objects.
    """
    limits = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": groups, "resources": resources.split(), "verbs": verbs.split(), **limits}


def use_of(profile: str) -> Json:
    """Return the rule that lets its holders use one profile."""
    return rule(["sallyport.dev"], "containerprofiles", "use", profile)


def role(name: str, rule: Json, namespace: str | None = None) -> Json:
    """Return a Role of one rule; without a namespace, a ClusterRole."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": _metadata(name, namespace),
        "rules": [rule],
    }


def binding(
    to: str, *subjects: Json, namespace: str | None = None, name: str | None = None
) -> Json:
    """Return the binding of subjects to a role of its own scope and.

    But for `name`, its own name.
    """
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": _metadata(name or to, namespace),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": to},
        "subjects": list(subjects),
    }


def grant(
    name: str, rule: Json, *subjects: Json, namespace: str | None = None
) -> tuple[Json, Json]:
    """Return a role of one rule and its binding, in a namespace or for the whole cluster."""
    return role(name, rule, namespace), binding(name, *subjects, namespace=namespace)


def _metadata(name: str, namespace: str | None) -> Json:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}
