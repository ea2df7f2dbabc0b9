"""Objects that take the gate long, though kube-apiserver itself finds nothing wrong with them."""

from typing import Any, Final

from tests.harness.programs.client import Json

_CONTAINER: Final[Json] = {
    "image": "a.example/i",
    "stdin": True,
    "securityContext": {
        "privileged": True,
        "runAsUser": 0,
        "capabilities": {"add": ["SYS_ADMIN", "NET_ADMIN"]},
    },
}
"""It needs nearly as much as one container may."""

_EVERYTHING: Final[Json] = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


def longest_to_judge(namespace: str) -> list[Json]:
    """Return objects within every bound that take the gate longest."""
    variables = [{"name": f"A{n}_VISIBLE_DEVICES", "value": "x"} for n in range(250)]
    with_variables = _deployment(namespace, 1)
    _containers(with_variables)[0]["env"] = variables
    return [
        _deployment(namespace, 128),
        _role(namespace, 250),
        with_variables,
        _deployment(namespace, 40),
    ]


def refused_for_size(namespace: str) -> list[Json]:
    """Return objects that hold more of something than is judged."""
    with_annotations = _deployment(namespace, 128)
    with_annotations["metadata"]["annotations"] = {f"a{n}": "" for n in range(9_000)}
    with_variables = _deployment(namespace, 1)
    variables = [{"name": f"A{n}", "value": "x"} for n in range(10_000)]
    _containers(with_variables)[0]["env"] = variables
    return [_deployment(namespace, 1024), with_annotations, with_variables]


def _containers(deployment: Json) -> list[Any]:
    containers: list[Any] = deployment["spec"]["template"]["spec"]["containers"]
    return containers


def _deployment(namespace: str, containers: int) -> Json:
    labels = {"app": "a"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "large", "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [_container(n) for n in range(containers)]},
            },
        },
    }


def _container(number: int) -> Json:
    ports = [{"containerPort": 1, "hostPort": number + 1}]
    return {"name": f"c{number}", **_CONTAINER, "ports": ports}


def _role(namespace: str, rules: int) -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "large", "namespace": namespace},
        "rules": [_EVERYTHING] * rules,
    }
