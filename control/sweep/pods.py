"""Reads of a listed Pod what the sweep must know before it is judged, and asks for judgement."""

from typing import Final

import msgspec

from core.base.errors import ClusterError
from core.decision.request import Kind, Operation, Request
from core.people.subject import service_account_subject
from kube.resources.paths import PODS_PATH

"""All Pods of all namespaces, in the order of their keys: namespace by namespace."""

_POD: Final = Kind("Pod", "v1")
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_HASH_LABEL: Final = "pod-template-hash"
"""The Deployment controller's, whose value ends the ReplicaSet's name (kubernetes,
pkg/controller/deployment/sync.go)."""
_MOST_WORKLOAD: Final = 512
"""Characters; a name has at most 253."""


class _Owner(msgspec.Struct, frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str
    uid: str
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] | None = None
    labels: dict[str, str] | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    service_account_name: str | None = None
    runtime_class_name: str | None = None


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str | None = None


class _Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


_DECODER: Final = msgspec.json.Decoder(_Pod)


class ListedPod(msgspec.Struct, frozen=True):
    """A Pod as it was listed."""

    namespace: str
    name: str
    uid: str
    account: str
    """Of its service account; the default one where it names none."""
    owner: str
    """The controller that made it, `Job/pretrain`; empty without one."""
    passed_over: str
    """Why it is not judged: `finished`, `deleting`; empty where it is."""
    raw: msgspec.Raw
    workload: str = ""
    """As `owner`, but a ReplicaSet that a Deployment made counts as that: `Deployment/web`."""
    runtime: str = ""
    """Its RuntimeClass; empty without one."""


def read_listed_pod(raw: msgspec.Raw) -> ListedPod:
    """Read an item of a list of Pods. Pure.

    Raises:
        ClusterError: it is no Pod, which kube-apiserver never says.
    """
    try:
        pod = _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ClusterError(f"GET {PODS_PATH}: an item is no Pod: {error}") from None
    metadata = pod.metadata
    if metadata.deletion_timestamp is not None:
        passed_over = "deleting"
    else:
        passed_over = "finished" if pod.status.phase in _FINISHED else ""
    owner = next((each for each in metadata.owner_references or () if each.controller), None)
    return ListedPod(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        pod.spec.service_account_name or "default",
        f"{owner.kind}/{owner.name}" if owner else "",
        passed_over,
        raw,
        _workload(owner, (metadata.labels or {}).get(_HASH_LABEL)) if owner else "",
        pod.spec.runtime_class_name or "",
    )


def _workload(owner: _Owner, template_hash: str | None) -> str:
    kind, name = owner.kind, owner.name
    if kind == "ReplicaSet" and template_hash and name.endswith(f"-{template_hash}"):
        kind, name = "Deployment", name.removesuffix(f"-{template_hash}")
    return f"{kind}/{name}"[:_MOST_WORKLOAD]


def request_for(pod: ListedPod) -> Request:
    """Ask what would become of the Pod if it came now. Pure."""
    return Request(
        uid="",
        kind=_POD,
        operation=Operation.CREATE,
        subject=service_account_subject(pod.namespace, pod.account),
        namespace=pod.namespace,
        name=pod.name,
        submitted=pod.raw,
        running=True,
    )
