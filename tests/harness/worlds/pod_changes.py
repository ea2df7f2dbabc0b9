"""Every field of a Pod itself that the Pod Security Standards name, with the values to ask about.

changes.py says where they are from.
"""

from collections.abc import Iterator
from typing import Any, Final

from tests.harness.worlds.changes import APPEND, BOOLEANS, UNSET, Change, security, set_each

_ANNOTATIONS: Final = (
    "runtime/default",
    "localhost/k8s-a",
    "localhost/",
    "unconfined",
    "",
    "Unconfined",
    "docker/default",
)
_SAFE_SYSCTLS: Final = (
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
)  # fmt: skip
_OTHER_SYSCTLS: Final = (
    "kernel.msgmax", "kernel.shmmax", "net.core.somaxconn", "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem_x", "net/ipv4/tcp_syncookies", "kernel/shm_rmid_forced", "vm.swappiness",
    "NET.IPV4.TCP_SYNCOOKIES",
)  # fmt: skip


def _sysctls() -> Iterator[Change]:
    field, path = "spec.securityContext.sysctls[*].name", ("spec", "securityContext", "sysctls")
    for name in (*_SAFE_SYSCTLS, *_OTHER_SYSCTLS):
        yield Change(field, (*path, APPEND), {"name": name, "value": "1"})
    yield Change(field, path, [])
    yield Change(field, path, None)


def _annotations() -> Iterator[Change]:
    path = ("metadata", "annotations")
    apparmor = "container.apparmor.security.beta.kubernetes.io/"
    for container in ("main", "init"):
        for value in _ANNOTATIONS:
            field = f"metadata.annotations['{apparmor}*']"
            yield Change(field, (*path, apparmor + container), value)
    for key in (
        "seccomp.security.alpha.kubernetes.io/pod",
        "container.seccomp.security.alpha.kubernetes.io/main",
    ):
        field = f"metadata.annotations['{key.replace('/main', '/*')}']"
        for value in ("unconfined", "runtime/default", "localhost/a"):
            yield Change(field, (*path, key), value)


_VOLUMES: Final[dict[str, Any]] = {
    # What the restricted level lets in:
    "configMap": {"name": "c", "optional": True},
    "csi": {"driver": "disk.csi.example.org"},
    "downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]},
    "emptyDir": {},
    "ephemeral": {
        "volumeClaimTemplate": {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    },
    "image": {"reference": "registry.example.org/data:1"},
    "persistentVolumeClaim": {"claimName": "c"},
    "projected": {"sources": [{"configMap": {"name": "c"}}]},
    "secret": {"secretName": "s"},
    # What it does not:
    "awsElasticBlockStore": {"volumeID": "v"},
    "azureDisk": {"diskName": "d", "diskURI": "https://blob.example.org/d"},
    "azureFile": {"secretName": "s", "shareName": "f"},
    "cephfs": {"monitors": ["m"]},
    "cinder": {"volumeID": "v"},
    "fc": {"targetWWNs": ["w"], "lun": 0},
    "flexVolume": {"driver": "example.org/flex"},
    "flocker": {"datasetName": "d"},
    "gcePersistentDisk": {"pdName": "p"},
    "gitRepo": {"repository": "https://git.example.org/r"},
    "glusterfs": {"endpoints": "e", "path": "p"},
    "hostPath": {"path": "/var/log"},
    "iscsi": {"targetPortal": "127.0.0.1", "iqn": "iqn.2015-02.example.org:a", "lun": 0},
    "nfs": {"server": "127.0.0.1", "path": "/"},
    "photonPersistentDisk": {"pdID": "p"},
    "portworxVolume": {"volumeID": "v"},
    "quobyte": {"registry": "r:1", "volume": "v"},
    "rbd": {"monitors": ["m"], "image": "i"},
    "scaleIO": {
        "gateway": "https://g",
        "system": "s",
        "secretRef": {"name": "s"},
        "volumeName": "v",
    },
    "storageos": {"volumeName": "v"},
    "vsphereVolume": {"volumePath": "[d] v"},
}


def _volumes() -> Iterator[Change]:
    path = ("spec", "volumes", APPEND)
    for name, source in _VOLUMES.items():
        yield Change(f"spec.volumes[*].{name}", path, {"name": name.lower(), name: source})
    for label, source in (
        ("none", {}),
        ("null", {"hostPath": None}),
        ("nulls", {"emptyDir": None, "nfs": None}),
        ("nullandother", {"hostPath": None, "secret": {"secretName": "s"}}),
        ("two", {"hostPath": {"path": "/"}, "emptyDir": {}}),
    ):
        yield Change("spec.volumes[*].hostPath", path, {"name": label, **source})
    yield Change("spec.volumes[*]", ("spec", "volumes"), None)


def _of_pod() -> Iterator[Change]:
    for field in ("hostNetwork", "hostPID", "hostIPC", "hostUsers"):
        yield from set_each(f"spec.{field}", BOOLEANS)
    yield from security("spec.securityContext.")
    yield from set_each("spec.securityContext", ({}, None, UNSET))
    yield from set_each("spec.os", ({"name": "linux"}, None))
    yield from set_each("metadata.annotations", (None, {}))
    yield from _sysctls()
    yield from _annotations()
    yield from _volumes()


POD_CHANGES: Final = tuple(_of_pod())
