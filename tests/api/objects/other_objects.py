"""Objects that are no Pods and hand out what a Pod may not take by itself."""

from dataclasses import dataclass
from typing import Any, Final

from tests.api.objects.pods import TRAIN
from tests.harness.programs.client import Json

DRIVER: Final = "gpu.example.com"
_PREEMPTING: Final = 1_000_000


@dataclass(frozen=True)
class Making:
    """An object, and the privileges that making it takes."""

    name: str
    item: Json
    privileges: tuple[str, ...]


def _object(api_version: str, kind: str, namespace: str = "", **fields: Any) -> Json:
    metadata = {"name": "made", **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def persistent_volume(name: str, source: Json, claim: str = "", **spec: Any) -> Json:
    """Return a PersistentVolume of 1 GiB; `claim`, `namespace/name`, is what it is kept for."""
    namespace, _, owner = claim.partition("/")
    kept = {"claimRef": {"namespace": namespace, "name": owner}} if claim else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            **kept,
            **source,
            **spec,
        },
    }


def local(path: str) -> Json:
    """Return the source and the node of a `local` volume."""
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["gpu-node-1"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}}
    return {"local": {"path": path}, "nodeAffinity": affinity}


def csi(driver: str, handle: str = "h") -> Json:
    """Return the source of a volume of a driver."""
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def _claim(version: str, kind: str, request: Json, **devices: Any) -> Json:
    spec: Json = {"devices": {"requests": [{"name": "all", **request}], **devices}}
    if kind == "ResourceClaimTemplate":
        spec = {"spec": spec}
    return _object(f"resource.k8s.io/{version}", kind, TRAIN, spec=spec)


_ADMIN: Final = {"deviceClassName": "gpu", "adminAccess": True, "allocationMode": "All"}
_ADMIN_OF: Final[dict[str, Json]] = {
    "v1": {"exactly": _ADMIN},
    "v1beta2": {"exactly": _ADMIN},
    "v1beta1": _ADMIN,
}
"""How each version of the API asks for admin access."""

_SETTINGS: Final = [{"opaque": {"driver": DRIVER, "parameters": {"sharing": "none"}}}]
_ORDINARY: Final = {"deviceClassName": "gpu"}

ORDINARY_CLAIM: Final = _claim("v1", "ResourceClaim", {"exactly": _ORDINARY})
"""A claim for one device, as everyone makes them."""

MAKINGS: Final = (
    *(
        Making(
            f"admin-claim-{version}",
            _claim(
                version, "ResourceClaim", _ADMIN if version == "v1beta1" else {"exactly": _ADMIN}
            ),
            ("device/admin-access",),
        )
        for version, asking in _ADMIN_OF.items()
    ),
    *(
        Making(
            f"admin-claim-template-{version}",
            _claim(version, "ResourceClaimTemplate", asking),
            ("device/admin-access",),
        )
        for version, asking in _ADMIN_OF.items()
    ),
    Making(
        "device-settings",
        _claim("v1", "ResourceClaim", {"exactly": _ORDINARY}, config=_SETTINGS),
        (f"device/config/{DRIVER}",),
    ),
    Making(
        "device-settings-template",
        _claim("v1", "ResourceClaimTemplate", {"exactly": _ORDINARY}, config=_SETTINGS),
        (f"device/config/{DRIVER}",),
    ),
    Making(
        "device-settings-of-a-class",
        _object("resource.k8s.io/v1", "DeviceClass", spec={"config": _SETTINGS}),
        (f"device/config/{DRIVER}",),
    ),
    Making(
        "priority",
        _object("scheduling.k8s.io/v1", "PriorityClass", value=_PREEMPTING),
        ("scheduling/priority/made",),
    ),
    Making(
        "priority-for-all",
        _object("scheduling.k8s.io/v1", "PriorityClass", value=_PREEMPTING, globalDefault=True),
        ("scheduling/priority/made", "scheduling/priority-default"),
    ),
    Making(
        "storage-class",
        _object("storage.k8s.io/v1", "StorageClass", provisioner="host.example.com"),
        ("storage-class/host.example.com",),
    ),
    Making(
        "driver",
        _object("storage.k8s.io/v1", "CSIDriver", spec={}),
        ("csi-driver/made",),
    ),
    Making(
        "driver-that-is-sent-tokens",
        _object("storage.k8s.io/v1", "CSIDriver", spec={"tokenRequests": [{"audience": "vault"}]}),
        ("csi-driver/made", "token/audience/vault"),
    ),
    Making(
        "runtime-class",
        _object("node.k8s.io/v1", "RuntimeClass", handler="runc"),
        ("runtime-class/made/runc",),
    ),
    Making(
        "host-path-volume",
        persistent_volume("made", {"hostPath": {"path": "/data"}}),
        ("volume/hostPath:rw/data",),
    ),
    Making(
        "host-path-volume-for-a-claim",
        persistent_volume("made", {"hostPath": {"path": "/data"}}, f"{TRAIN}/data"),
        ("volume/hostPath:rw/data",),
    ),
    Making(
        "local-volume",
        persistent_volume("made", local("/data")),
        ("volume/hostPath:rw/data",),
    ),
    Making(
        "local-block-volume",
        persistent_volume("made", local("/dev/sda"), volumeMode="Block"),
        ("volume/hostPath:rw/dev/sda",),
    ),
    Making(
        "nfs-volume",
        persistent_volume("made", {"nfs": {"server": "nfs.example.com", "path": "/"}}),
        ("volume/nfs",),
    ),
    Making(
        "csi-volume",
        persistent_volume("made", csi("host.example.com")),
        ("volume/csi/host.example.com",),
    ),
)
"""Each is refused to whoever has `restricted` alone, and takes these privileges and no others."""
