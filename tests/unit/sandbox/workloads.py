"""Workloads as clusters for AI research run them, and what the sandbox should make of each.

Judged where their namespace says `by-risk`, the threshold is 50, and a profile covers all that they
need save for what is had by an exception.
"""

from dataclasses import dataclass
from typing import Any, Final

Fields = dict[str, Any]

DIGEST: Final = "@sha256:" + 8 * "9f86d081"
OWN: Final = "registry.example/research/trainer" + DIGEST
LIMITS: Final = {"cpu": "8", "memory": "64Gi"}
RUNC: Final = "runc"
SANDBOX: Final = "sandbox"


@dataclass(frozen=True)
class Workload:
    """A Pod, the signals and points that it should have, and what should become of it."""

    name: str
    pod: Fields
    signals: str
    """Rules without `sandbox/`, and excused ones of privileges; in no order."""
    score: int
    verdict: str
    """`runc`, `sandbox`, or the features for which it is refused."""
    because: str
    excused: tuple[str, ...] = ()
    """Privileges that it has by an exception alone."""


def pod(  # noqa: PLR0913  What workloads differ in.
    image: str = OWN,
    *,
    token: bool = False,
    limits: Fields | None = LIMITS,
    wants: Fields | None = None,
    labels: Fields | None = None,
    metadata: Fields | None = None,
    spec: Fields | None = None,
    more: tuple[Fields, ...] = (),
    **container: Any,
) -> Fields:
    """Return a Pod with one container, as its author writes it; `wants` are further resources."""
    given = {**(limits or {}), **(wants or {})}
    first = {"name": "main", "image": image, "resources": {"limits": given}, **container}
    return {
        "metadata": {"name": "w", "labels": labels or {}, **(metadata or {})},
        "spec": {
            **({} if token else {"automountServiceAccountToken": False}),
            "containers": [first, *more],
            **(spec or {}),
        },
    }


def shell(text: str) -> Fields:
    """Return the command of a container that runs a shell's text."""
    return {"command": ["bash", "-c", text]}


def host_path(path: str) -> Fields:
    """Return the volumes of a Pod that mounts a path of the node."""
    return {"volumes": [{"name": "host", "hostPath": {"path": path}}]}


def mounts(*, read_only: bool = False) -> Fields:
    """Return the mount of the volume `host`."""
    return {"volumeMounts": [{"name": "host", "mountPath": "/host", "readOnly": read_only}]}


GPU: Final = {"nvidia.com/gpu": 8}
RDMA: Final = {**GPU, "rdma/hca_shared": 8}
