"""The changes to a published manifest that the pages of the profiles speak of, by their names."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.harness.published.public_manifests import Pod

_DIGEST: Final = "@sha256:" + 64 * "0"


def apply(name: str, pod: Pod) -> None:
    """Make a change in a Pod, in place.

    Raises:
        KeyError: no change has that name.
        StopIteration: the Pod has no such volume.
    """
    change, _, volume = name.partition(" `")
    if volume:
        _OF_VOLUMES[change](pod, volume.removesuffix("`"))
    else:
        _CHANGES[name](pod)


def _containers(pod: Pod) -> Iterator[dict[str, Any]]:
    for field in ("initContainers", "containers"):
        yield from pod["spec"].get(field, ())


def _contexts(pod: Pod) -> Iterator[dict[str, Any]]:
    for container in _containers(pod):
        yield container.setdefault("securityContext", {})


def _pod_context(pod: Pod) -> dict[str, Any]:
    context: dict[str, Any] = pod["spec"].setdefault("securityContext", {})
    return context


def _pin(pod: Pod) -> None:
    for container in _containers(pod):
        if "@" not in container["image"]:
            # `<your_project>` is how one publisher spells a name that is yours to fill in.
            named = container["image"].replace("<your_project>", "your-project")
            container["image"] = named + _DIGEST


def _limit_memory(pod: Pod) -> None:
    for container in _containers(pod):
        limits = container.setdefault("resources", {}).setdefault("limits", {})
        limits.setdefault("memory", "1Gi")


def _leave_root(pod: Pod) -> None:
    _pod_context(pod)["runAsNonRoot"] = True
    for context in _contexts(pod):
        context.pop("runAsNonRoot", None)
        if context.get("runAsUser") == 0:
            context["runAsUser"] = 1000


def _drop_capabilities(pod: Pod) -> None:
    for context in _contexts(pod):
        context.setdefault("capabilities", {})["drop"] = ["ALL"]


def _add_no_capabilities(pod: Pod) -> None:
    for context in _contexts(pod):
        context.get("capabilities", {}).pop("add", None)


def _unprivileged(pod: Pod) -> None:
    for context in _contexts(pod):
        context.pop("privileged", None)


def _forbid_escalation(pod: Pod) -> None:
    for context in _contexts(pod):
        context["allowPrivilegeEscalation"] = False


def _filter_calls(pod: Pod) -> None:
    _pod_context(pod)["seccompProfile"] = {"type": "RuntimeDefault"}


def _protect_root(pod: Pod) -> None:
    for context in _contexts(pod):
        context["readOnlyRootFilesystem"] = True


def _keep_token(pod: Pod) -> None:
    pod["spec"]["automountServiceAccountToken"] = False


def _close_host_ports(pod: Pod) -> None:
    for container in _containers(pod):
        for port in container.get("ports", ()):
            port.pop("hostPort", None)


def _leave_host(pod: Pod) -> None:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        pod["spec"].pop(field, None)


def _leave_host_processes(pod: Pod) -> None:
    pod["spec"].pop("hostPID", None)


def _drop_annotation(pod: Pod) -> None:
    annotations = pod["metadata"].get("annotations", {})
    annotations.pop("scheduler.alpha.kubernetes.io/critical-pod", None)


def _only_read(pod: Pod, volume: str) -> None:
    found = next(each for each in pod["spec"]["volumes"] if each["name"] == volume)
    if found["hostPath"].get("type", "").endswith("OrCreate"):
        found["hostPath"]["type"] = found["hostPath"]["type"].removesuffix("OrCreate")
    for container in _containers(pod):
        for mount in container.get("volumeMounts", ()):
            if mount["name"] == volume:
                mount["readOnly"] = True


def _drop_volume(pod: Pod, volume: str) -> None:
    pod["spec"]["volumes"].remove(next(v for v in pod["spec"]["volumes"] if v["name"] == volume))
    for container in _containers(pod):
        mounts = container.get("volumeMounts", ())
        container["volumeMounts"] = [mount for mount in mounts if mount["name"] != volume]


def _drop_container(pod: Pod, name: str) -> None:
    for field in ("initContainers", "containers"):
        kept = [each for each in pod["spec"].get(field, ()) if each["name"] != name]
        pod["spec"][field] = kept


_CHANGES: Final[dict[str, Callable[[Pod], None]]] = {
    "digest": _pin,
    "memory limit": _limit_memory,
    "not root": _leave_root,
    "drop ALL": _drop_capabilities,
    "add no capability": _add_no_capabilities,
    "not privileged": _unprivileged,
    "no escalation": _forbid_escalation,
    "seccomp": _filter_calls,
    "read-only root": _protect_root,
    "no token": _keep_token,
    "no host port": _close_host_ports,
    "no host namespaces": _leave_host,
    "no host processes": _leave_host_processes,
    "no critical-pod": _drop_annotation,
}
"""Named as in docs/profiles/index.md."""

_OF_VOLUMES: Final[dict[str, Callable[[Pod, str], None]]] = {
    "only read": _only_read,
    "without": _drop_volume,
    "without container": _drop_container,
}

NAMES: Final = frozenset(_CHANGES) | frozenset(_OF_VOLUMES)
