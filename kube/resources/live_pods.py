"""The live Pods of a namespace: which addresses are theirs, and whom to evict. Not kept."""

import datetime as dt
import ipaddress
from collections.abc import Mapping
from typing import Final

import msgspec

from core.base.errors import ClusterError
from core.base.networks import Address
from kube.client.objects import Objects, list_objects

_LIVE: Final = "status.phase!=Succeeded,status.phase!=Failed"
_FROM_MEMORY: Final = {"resourceVersion": "0"}


class LivePod(msgspec.Struct, frozen=True, gc=False):
    """What is read of a Pod that neither succeeded nor failed."""

    name: str
    uid: str
    labels: dict[str, str]
    addresses: tuple[Address, ...]
    host_network: bool
    """Its addresses are its node's."""
    created: float
    """Unix seconds."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str = ""
    labels: dict[str, str] | None = None
    creation_timestamp: dt.datetime | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    host_network: bool | None = None


class _Ip(msgspec.Struct):
    ip: str = ""


class _Status(msgspec.Struct, frozen=True, rename={"pod_ip": "podIP", "pod_ips": "podIPs"}):
    pod_ip: str = ""
    pod_ips: list[_Ip] | None = None


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_DECODER: Final = msgspec.json.Decoder(_Pod)


async def list_live_pods(
    objects: Objects, namespace: str, selector: Mapping[str, str] | None = None, account: str = ""
) -> list[LivePod]:
    """Return the live Pods of a namespace that have all labels of `selector`.

    With `account`, only those that run as that service account.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    labels = ",".join(f"{key}={value}" for key, value in sorted((selector or {}).items()))
    fields = f"{_LIVE},spec.serviceAccountName={account}" if account else _LIVE
    parameters = {**_FROM_MEMORY, "fieldSelector": fields}
    if labels:
        parameters["labelSelector"] = labels
    path = f"/api/v1/namespaces/{namespace}/pods"
    return [read_live_pod(raw) async for raw in list_objects(objects, path, parameters=parameters)]


def read_live_pod(raw: bytes | msgspec.Raw) -> LivePod:
    """Read an item of a list of Pods.

    Raises:
        ClusterError: it is no Pod, which kube-apiserver never says.
    """
    try:
        pod = _DECODER.decode(raw)
        texts = [one.ip for one in pod.status.pod_ips or ()] or [pod.status.pod_ip]
        addresses = tuple(ipaddress.ip_address(text) for text in texts if text)
    except ValueError as error:  # of which msgspec's own are some
        raise ClusterError(f"an item of a list of Pods is none: {error}") from None
    made = pod.metadata.creation_timestamp
    return LivePod(
        pod.metadata.name,
        pod.metadata.uid,
        pod.metadata.labels or {},
        addresses,
        bool(pod.spec.host_network),
        made.timestamp() if made else 0.0,
    )
