"""PersistentVolumes that many workloads mount are told from disks.

Manifests: the static examples of csi-driver-nfs, azurelustre-csi-driver, blob-csi-driver and
azurefile-csi-driver, and Kubernetes' documentation of volumes, shortened.
"""

from typing import Any

import msgspec
import pytest

from core.kubernetes.persistent_volumes import parse_persistent_volume

MANY = ["ReadWriteMany"]
ONE = ["ReadWriteOnce"]


def is_shared(spec: dict[str, Any]) -> bool:
    """Return what is kept of a PersistentVolume."""
    made = {"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "10Gi"}, **spec}}
    return parse_persistent_volume(msgspec.json.encode(made)).shared


@pytest.mark.parametrize(
    "spec",
    [
        {"accessModes": MANY, "nfs": {"server": "172.17.0.2", "path": "/share"}},
        {"accessModes": ONE, "nfs": {"server": "172.17.0.2", "path": "/share"}},
        {"accessModes": MANY, "csi": {"driver": "nfs.csi.k8s.io", "volumeHandle": "h"}},
        {"accessModes": ONE, "csi": {"driver": "azurelustre.csi.azure.com", "volumeHandle": "h"}},
        {"accessModes": MANY, "csi": {"driver": "blob.csi.azure.com", "volumeHandle": "h"}},
        {"accessModes": MANY, "csi": {"driver": "file.csi.azure.com", "volumeHandle": "h"}},
        {"accessModes": MANY, "csi": {"driver": "files.example", "volumeHandle": "h"}},
        {"accessModes": ["ReadOnlyMany"], "csi": {"driver": "files.example"}},
        {"accessModes": MANY, "flexVolume": {"driver": "azure/blobfuse"}},
        {"accessModes": MANY, "azureFile": {"shareName": "s"}},
    ],
)
def test_what_many_mount_is_shared(spec: dict[str, Any]) -> None:
    """By its type or driver; of one that nobody listed by its access modes."""
    assert is_shared(spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"accessModes": ONE, "csi": {"driver": "disk.csi.azure.com", "volumeHandle": "h"}},
        {"accessModes": ["ReadWriteOncePod"], "csi": {"driver": "files.example"}},
        {"accessModes": MANY, "volumeMode": "Block", "csi": {"driver": "disk.csi.azure.com"}},
        {"accessModes": ONE, "azureDisk": {"diskName": "d"}},
        {"accessModes": ONE, "local": {"path": "/mnt/disk"}},
        {"csi": {"driver": "files.example"}},
        {"nfs": None, "hostPath": {"path": "/data"}},
    ],
)
def test_disks_and_node_paths_are_not_shared_volumes(spec: dict[str, Any]) -> None:
    """Nor are paths of a node: they are privileges of their own."""
    assert not is_shared(spec)
