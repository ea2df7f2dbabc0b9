"""What is kept of the life of a Pod (core/v1), as lists and watches of all Pods bring it.

Nothing else of a Pod is decoded. A list of metadata alone has none of it: not the service account,
the node, the addresses, nor what became of it.
"""

import datetime as dt
from typing import Annotated, Final

import msgspec

from core.base.json_errors import decode_json
from core.decision.requester_notes import read_notes

_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_DEFAULT: Final = "default"

_Time = Annotated[dt.datetime, msgspec.Meta(tz=True)]


class PodLifecycle(msgspec.Struct, frozen=True, gc=False):
    """A Pod as one event shows it. Times are Unix seconds, 0 where it says none."""

    uid: str
    namespace: str
    name: str
    service_account: str
    node: str
    host_network: bool
    addresses: tuple[str, ...]
    node_addresses: tuple[str, ...]
    made: float
    """`metadata.creationTimestamp`, by kube-apiserver's clock."""
    began: float
    """`status.startTime`, by the kubelet's."""
    finished: bool
    """Whether it succeeded or failed: it does not run any more, whatever else is said of it."""
    stopped: float
    """When the last of its containers stopped, by the kubelet's clock; 0 while one may run."""
    owner: str
    """UID of its controller."""
    moved: float
    """The latest time that it names: what is older than this changed nothing in it."""
    requester: str = ""
    """Noted on it by the gate, where it has no owner."""
    as_created: bool = True
    """Whether its `spec` is the one that kube-apiserver took in."""


class _Owner(msgspec.Struct):
    uid: str = ""
    controller: bool | None = None


class _Meta(msgspec.Struct, rename="camel"):
    uid: str
    name: str
    creation_timestamp: _Time
    namespace: str = _DEFAULT
    owner_references: list[_Owner] | None = None
    deletion_timestamp: _Time | None = None
    annotations: dict[str, str | None] | None = None
    generation: int = 0


class _Spec(msgspec.Struct, rename="camel"):
    service_account_name: str | None = None
    host_network: bool | None = None
    node_name: str | None = None


class _Ip(msgspec.Struct):
    ip: str = ""


class _Terminated(msgspec.Struct, rename="camel"):
    finished_at: _Time | None = None


class _ContainerState(msgspec.Struct):
    running: dict[str, str] | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(msgspec.Struct, rename="camel"):
    state: _ContainerState | None = None
    last_state: _ContainerState | None = None


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: _Time | None = None


_STATUS_NAMES: Final = {
    "pod_ip": "podIP",
    "pod_ips": "podIPs",
    "host_ip": "hostIP",
    "host_ips": "hostIPs",
    "start_time": "startTime",
    "containers": "containerStatuses",
    "init_containers": "initContainerStatuses",
    "ephemeral": "ephemeralContainerStatuses",
}


class _Status(msgspec.Struct, rename=_STATUS_NAMES):
    phase: str = ""
    pod_ip: str = ""
    pod_ips: list[_Ip] | None = None
    host_ip: str = ""
    host_ips: list[_Ip] | None = None
    start_time: _Time | None = None
    containers: list[_ContainerStatus] | None = None
    init_containers: list[_ContainerStatus] | None = None
    ephemeral: list[_ContainerStatus] | None = None
    conditions: list[_Condition] | None = None


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_POD: Final = msgspec.json.Decoder(_Pod)


def read_pod_lifecycle(raw: bytes | msgspec.Raw) -> PodLifecycle:
    """Read a Pod of a list or a watch.

    Raises:
        InvalidObjectError: it is no Pod, which kube-apiserver never says.
    """
    pod = decode_json(_POD, raw, "Pod")
    meta, spec, status = pod.metadata, pod.spec, pod.status
    made, began = meta.creation_timestamp.timestamp(), _seconds(status.start_time)
    stopped = _stopped(status)
    changed = [_seconds(each.last_transition_time) for each in status.conditions or ()]
    owners = (each.uid for each in meta.owner_references or () if each.controller)
    return PodLifecycle(
        meta.uid,
        meta.namespace,
        meta.name,
        spec.service_account_name or _DEFAULT,
        spec.node_name or "",
        bool(spec.host_network),
        _texts(status.pod_ips, status.pod_ip),
        _texts(status.host_ips, status.host_ip),
        made,
        began,
        status.phase in _FINISHED,
        stopped,
        next(owners, ""),
        max(made, began, stopped, _seconds(meta.deletion_timestamp), *changed),
        "" if meta.owner_references else read_notes(meta.annotations).requester or "",
        meta.generation <= 1 and not any(map(_is_scheduled, status.conditions or ())),
    )


def _is_scheduled(condition: _Condition) -> bool:
    """Return whether a condition says that the Pod has a node.

    Scheduling writes the node into `spec` together with this condition, and counts no generation;
    every other change of `spec` counts one (k8s.io/kubernetes, pkg/registry/core/pod: strategy.go,
    storage/storage.go).
    """
    return condition.type == "PodScheduled" and condition.status == "True"


def _stopped(status: _Status) -> float:
    """Return when the last container stopped; 0 where one may run, or nobody says."""
    last = 0.0
    for group in (status.containers, status.init_containers, status.ephemeral):
        for each in group or ():
            if each.state is None or each.state.running is not None:
                return 0.0
            for state in (each.state, each.last_state):
                if state and state.terminated and state.terminated.finished_at:
                    last = max(last, state.terminated.finished_at.timestamp())
    return last


def _texts(some: list[_Ip] | None, one: str) -> tuple[str, ...]:
    found = tuple(each.ip for each in some or () if each.ip)
    return found or ((one,) if one else ())


def _seconds(time: dt.datetime | None) -> float:
    return time.timestamp() if time else 0.0
