"""Reads of a listed Pod what the sweep must know before it is judged, and asks for judgement."""

from typing import Final

import msgspec

from core.errors import ClusterError
from core.request import Kind, Operation, Request
from core.subject import service_account

PATH: Final = "/api/v1/pods"
"""All Pods of all namespaces, in the order of their keys: namespace by namespace."""

_POD: Final = Kind("Pod", "v1")
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


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


class _Spec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    service_account_name: str | None = None


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


def read_pod(raw: msgspec.Raw) -> ListedPod:
    """Read an item of a list of Pods. Pure.

    Raises:
        ClusterError: it is no Pod, which kube-apiserver never says.
    """
    try:
        pod = _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ClusterError(f"GET {PATH}: an item is no Pod: {error}") from None
    metadata = pod.metadata
    if metadata.deletion_timestamp is not None:
        passed_over = "deleting"
    else:
        passed_over = "finished" if pod.status.phase in _FINISHED else ""
    return ListedPod(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        pod.spec.service_account_name or "default",
        next((f"{o.kind}/{o.name}" for o in metadata.owner_references or () if o.controller), ""),
        passed_over,
        raw,
    )


def request_for(pod: ListedPod) -> Request:
    """Ask what would become of the Pod if it came now. Pure."""
    return Request(
        uid="",
        kind=_POD,
        operation=Operation.CREATE,
        subject=service_account(pod.namespace, pod.account),
        namespace=pod.namespace,
        name=pod.name,
        submitted=pod.raw,
        running=True,
    )
