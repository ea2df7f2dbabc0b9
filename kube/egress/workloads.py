"""Workloads and Pods, ended ones too, as observed flows are matched with them.

Of a flow log often only a Pod's name, a workload's name or an address remains. What makes Pods says
which service account they had, also after they have gone: Deployments, ReplicaSets, StatefulSets,
DaemonSets, Jobs and CronJobs; of a JobSet its owner alone is read.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec

from core.base.errors import ClusterError, InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from core.base.networks import Address
from core.base.times import seconds_of
from core.egress.workload_names import WorkloadName
from core.kubernetes.object_meta import OwnerReference
from kube.client.objects import Objects, list_objects
from kube.manifests.reader import read_each

_DEFAULT: Final = "default"

_KINDS: Final = (
    ("Pod", "/api/v1", "pods"),
    ("Deployment", "/apis/apps/v1", "deployments"),
    ("ReplicaSet", "/apis/apps/v1", "replicasets"),
    ("StatefulSet", "/apis/apps/v1", "statefulsets"),
    ("DaemonSet", "/apis/apps/v1", "daemonsets"),
    ("Job", "/apis/batch/v1", "jobs"),
    ("CronJob", "/apis/batch/v1", "cronjobs"),
    ("JobSet", "/apis/jobset.x-k8s.io/v1alpha2", "jobsets"),
)
"""Kinds that are read, with the root of their API and their resource."""

_READ: Final = frozenset(kind for kind, _, _ in _KINDS)
_GROUPS: Final = frozenset({"", "apps", "batch", "jobset.x-k8s.io"})


class SeenPod(msgspec.Struct, frozen=True, gc=False):
    """A Pod, whether it runs or has ended."""

    namespace: str
    name: str
    service_account: str
    owner: WorkloadName | None = None
    """Its controller."""
    labels: dict[str, str] = {}
    addresses: tuple[Address, ...] = ()
    """None where it is on its node's network."""
    host_network: bool = False
    started: float | None = None
    """Unix seconds."""
    ended: float | None = None
    """Unix seconds; None for one that runs."""


class SeenWorkload(msgspec.Struct, frozen=True, gc=False):
    """What makes Pods."""

    namespace: str
    name: WorkloadName
    service_account: str = ""
    """Of its Pods; empty where it does not say."""
    owner: WorkloadName | None = None


class SeenCronJob(msgspec.Struct, frozen=True, gc=False):
    """When a CronJob makes Jobs."""

    namespace: str
    name: str
    schedule: str
    suspended: bool
    last_schedule: float | None
    """Unix seconds; None where it never ran."""


@dataclass(frozen=True)
class WorkloadSnapshot:
    """What one look found."""

    pods: tuple[SeenPod, ...] = ()
    workloads: Mapping[tuple[str, WorkloadName], SeenWorkload] = field(default_factory=dict)
    """By namespace and workload."""
    cron_jobs: tuple[SeenCronJob, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Kinds that could not be listed, each with the reason; for people."""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = _DEFAULT
    labels: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    service_account_name: str | None = None
    service_account: str | None = None
    host_network: bool | None = None

    @property
    def account(self) -> str:
        return self.service_account_name or self.service_account or _DEFAULT


class _Template(msgspec.Struct, frozen=True):
    spec: _PodSpec | None = None


class _JobSpec(msgspec.Struct, frozen=True):
    template: _Template | None = None


class _JobTemplate(msgspec.Struct, frozen=True):
    spec: _JobSpec | None = None


class _Spec(_PodSpec, frozen=True, rename="camel"):
    template: _Template | None = None
    job_template: _JobTemplate | None = None
    schedule: str = ""
    suspend: bool | None = None


class _Terminated(msgspec.Struct, frozen=True, rename="camel"):
    finished_at: str | None = None


class _ContainerState(msgspec.Struct, frozen=True):
    terminated: _Terminated | None = None


class _Container(msgspec.Struct, frozen=True):
    state: _ContainerState | None = None


class _Ip(msgspec.Struct, frozen=True):
    ip: str = ""


class _Status(
    msgspec.Struct,
    frozen=True,
    rename={
        "pod_ip": "podIP",
        "pod_ips": "podIPs",
        "start_time": "startTime",
        "container_statuses": "containerStatuses",
        "last_schedule_time": "lastScheduleTime",
    },
):
    phase: str = ""
    pod_ip: str = ""
    pod_ips: list[_Ip] | None = None
    start_time: str | None = None
    container_statuses: list[_Container] | None = None
    last_schedule_time: str | None = None


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec | None = None
    status: _Status | None = None


class _Head(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


_OBJECT: Final = msgspec.json.Decoder(_Object)
_HEAD: Final = msgspec.json.Decoder(_Head)
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class _Builder:
    """What has been seen so far."""

    def __init__(self) -> None:
        self._pods: list[SeenPod] = []
        self._workloads: dict[tuple[str, WorkloadName], SeenWorkload] = {}
        self._cron_jobs: list[SeenCronJob] = []
        self._broken: dict[str, int] = {}

    def seen(self, unlisted: Iterable[str] = ()) -> WorkloadSnapshot:
        broken = (f"{kind}: {count} could not be read" for kind, count in self._broken.items())
        return WorkloadSnapshot(
            tuple(self._pods),
            self._workloads,
            tuple(self._cron_jobs),
            (*unlisted, *broken),
        )

    def take(self, kind: str, raw: bytes | msgspec.Raw) -> None:
        """Take in an object; one that is broken is counted, and takes nothing else with it."""
        try:
            if kind == "JobSet":
                self._take_workload(kind, _Object(_HEAD.decode(raw).metadata))
            elif kind == "Pod":
                self._pods.append(_pod(_OBJECT.decode(raw)))
            else:
                self._take_workload(kind, _OBJECT.decode(raw))
        except (*DECODE_ERRORS, ValueError):
            self._broken[kind] = self._broken.get(kind, 0) + 1

    def _take_workload(self, kind: str, found: _Object) -> None:
        meta, spec = found.metadata, found.spec or _Spec()
        name = WorkloadName(kind, meta.name)
        pod_spec = _pod_spec(spec)
        account = pod_spec.account if pod_spec else ""
        seen = SeenWorkload(meta.namespace, name, account, _owner(meta))
        self._workloads[meta.namespace, name] = seen
        if kind == "CronJob":
            last = (found.status or _Status()).last_schedule_time
            self._cron_jobs.append(
                SeenCronJob(
                    meta.namespace, meta.name, spec.schedule, bool(spec.suspend), _seconds(last)
                )
            )


def _pod(found: _Object) -> SeenPod:
    meta, spec, status = found.metadata, found.spec or _Spec(), found.status or _Status()
    texts = [one.ip for one in status.pod_ips or ()] or [status.pod_ip]
    host = bool(spec.host_network)
    return SeenPod(
        meta.namespace,
        meta.name,
        spec.account,
        _owner(meta),
        meta.labels or {},
        () if host else tuple(ipaddress.ip_address(text) for text in texts if text),
        host,
        _seconds(status.start_time),
        _end(status),
    )


def _end(status: _Status) -> float | None:
    """Return when a Pod ended: with its last container; of one without any, at its start."""
    if status.phase not in _FINISHED:
        return None
    states = (each.state for each in status.container_statuses or () if each.state)
    ends = [_seconds(each.terminated.finished_at) for each in states if each.terminated]
    known = [each for each in ends if each is not None]
    return max(known, default=_seconds(status.start_time) or 0.0)


def _pod_spec(spec: _Spec) -> _PodSpec | None:
    job = spec.job_template.spec if spec.job_template else None
    template = job.template if job else spec.template
    return template.spec if template else None


def _owner(meta: _Meta) -> WorkloadName | None:
    owners = (each for each in meta.owner_references or () if each.controller)
    return next((WorkloadName(each.kind, each.name) for each in owners), None)


def _seconds(text: str | None) -> float | None:
    return seconds_of(text) if text else None


def read_folder_workloads(path: Path | None) -> WorkloadSnapshot:
    """Look at a folder of YAML; None holds nothing. `kube.egress.snapshot` tells what is broken.

    Raises:
        SettingsError: it does not exist or cannot be read.
    """
    looking = _Builder()
    for manifest in read_each([path] if path else []):
        if isinstance(manifest, InvalidObjectError):
            continue
        if manifest.kind in _READ and manifest.group in _GROUPS:
            looking.take(manifest.kind, manifest.raw)
    return looking.seen()


async def read_cluster_workloads(objects: Objects) -> WorkloadSnapshot:
    """Look at all namespaces of a cluster.

    What may not be listed is told in `unlisted`: without it fewer flows have a service account.

    Raises:
        ClusterError: kube-apiserver does not answer.
    """
    looking = _Builder()
    unlisted: list[str] = []
    for kind, root, plural in _KINDS:
        try:
            async for raw in list_objects(objects, f"{root}/{plural}"):
                looking.take(kind, raw)
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                continue
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            unlisted.append(f"{kind}: {error}")
    return looking.seen(unlisted)
