"""The projection of Pods."""

import enum
import re
from functools import lru_cache
from typing import Final

import msgspec

from core.kubernetes import pod as k8s
from core.kubernetes.pod import Pod
from policies.projection.containers import project_containers
from policies.projection.hints import project_hints
from policies.projection.limits import bound, check_length
from policies.projection.model import HostAlias, Projection, Toleration
from policies.projection.resources import special_resources
from policies.projection.volumes import ClaimLookup, no_claims, project_volumes

APPARMOR_ANNOTATIONS: Final = "container.apparmor.security.beta.kubernetes.io/"
"""Prefix of the annotations that older kubelets honour (k8s.io/api/core/v1)."""

_READ: Final = (
    APPARMOR_ANNOTATIONS,
    "seccomp.security.alpha.kubernetes.io/",
    "container.seccomp.security.alpha.kubernetes.io/",
    "security.alpha.kubernetes.io/",
    "scheduler.alpha.kubernetes.io/critical-pod",
)
"""Annotations that older kubelets honour; their values are read."""

_RUNTIME: Final = (
    "azure.workload.identity/inject-proxy-sidecar",
    "dev.gvisor.",
    "io.katacontainers.",
    "io.kubernetes.cri",
    "io.microsoft.",
    "microsoft.com/hostprocess",
    "io.containers.trace-syscall",
    "run.oci.",
    "org.systemd.property.",
    "org.criu.config",
    "module.wasm.image/",
    "io.containerd.",
    "com.github.containers.virtcontainers.",
)
_RUNTIME_WITHIN: Final = re.compile(
    r"(?:^|\.)(?:crio\.io|cri-o\.io|nri\.io|nri\.containerd\.io|noderesource\.dev|cdi\.k8s\.io|devices\.gke\.io)(?:[./]|$)"
)
"""Annotations that runtimes, their plugins and Entra's webhook act on; that they are there says
enough."""

_MOST_REMEMBERED: Final = 4096

_OF_EVERY_POD: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Tolerations that the admission plugin DefaultTolerationSeconds adds to every Pod."""


def project(
    pod: k8s.Pod,
    claimed: ClaimLookup = no_claims,
    *,
    placed: bool = False,
    weighed: bool = True,
) -> Projection:
    """Return the projection of a Pod. Pure.

    `claimed` gives the volumes that a claim of the Pod's namespace amounts to.
    A Pod that is `placed` may have its node from the scheduler: who set it is not known. What
    makes it risky is read only where that is `weighed`.

    Raises:
        InvalidObjectError: a volume has the wrong shape, or there is more of something than any
            real Pod has; names the field.
    """
    spec = pod.spec
    if spec.security_context and spec.security_context.sysctls:
        bound(len(spec.security_context.sysctls), "spec.securityContext.sysctls")
    containers = list(project_containers(spec, weighed=weighed))
    return Projection(
        containers=containers,
        os=spec.os.name if spec.os else "",
        host_network=bool(spec.host_network),
        host_pid=bool(spec.host_pid),
        host_ipc=bool(spec.host_ipc),
        host_users=spec.host_users,
        automount=spec.automount_service_account_token,
        node_name="" if placed else spec.node_name or "",
        tolerations=_tolerations(spec.tolerations) if spec.tolerations else [],
        priority_class=spec.priority_class_name or "",
        share_process_namespace=bool(spec.share_process_namespace),
        dns_policy=spec.dns_policy or "",
        nameservers=_nameservers(spec.dns_config) if spec.dns_config else [],
        host_aliases=_host_aliases(spec.host_aliases) if spec.host_aliases else [],
        security_context=spec.security_context,
        annotations=project_annotations(pod.metadata.annotations)
        if pod.metadata.annotations
        else {},
        volumes=list(project_volumes(pod, claimed)) if spec.volumes else [],
        weighed=weighed,
        hints=project_hints(containers, pod.metadata) if weighed else (),
        resources=special_resources(spec.resources.limits, "spec")
        if weighed and spec.resources and spec.resources.limits
        else (),
        resource_claims=weighed and bool(spec.resource_claims),
    )


def project_annotations(annotations: dict[str, str]) -> dict[str, str]:
    """Return those annotations of a Pod that kubelets and runtimes act on.

    Raises:
        InvalidObjectError: there are more than any real Pod has, or one has a longer name.
    """
    found = {}
    for key, value in annotations.items():
        check_length(key, "metadata.annotations")
        if part := _part_of(key):
            found[key] = value if part is _Part.VALUE else ""
    bound(len(found), "metadata.annotations")
    return found


class _Part(enum.Enum):
    """What of an annotation is read."""

    VALUE = "value"
    NAME = "name"


@lru_cache(_MOST_REMEMBERED)
def _part_of(key: str) -> _Part | None:
    """Say what is read of an annotation; the same few keys come with every Pod."""
    if key.startswith(_READ):
        return _Part.VALUE
    return _Part.NAME if key.startswith(_RUNTIME) or _RUNTIME_WITHIN.search(key) else None


def _tolerations(tolerations: list[k8s.Toleration]) -> list[Toleration]:
    bound(len(tolerations), "spec.tolerations")
    return [
        Toleration(f"spec.tolerations[{index}]", each.key, each.operator)
        for index, each in enumerate(tolerations)
        if each.effect != "NoExecute" or each.key not in _OF_EVERY_POD
    ]


def _nameservers(config: k8s.DNSConfig) -> list[str]:
    found = config.nameservers or []
    bound(len(found), "spec.dnsConfig.nameservers")
    return found


def _host_aliases(aliases: list[k8s.HostAlias]) -> list[HostAlias]:
    bound(sum(len(alias.hostnames or ()) for alias in aliases), "spec.hostAliases")
    return [
        HostAlias(f"spec.hostAliases[{index}]", alias.hostnames or [])
        for index, alias in enumerate(aliases)
    ]


def mark_added(projection: Projection, before: Pod) -> Projection:
    """Mark the ephemeral containers of a Pod that it did not have before. Pure."""
    old = {each.name for each in before.spec.ephemeral_containers or ()}
    return msgspec.structs.replace(
        projection,
        containers=[
            msgspec.structs.replace(each, added=True)
            if each.kind == "ephemeral" and each.name not in old
            else each
            for each in projection.containers
        ],
    )
