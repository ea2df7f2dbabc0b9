"""Which volumes are file systems that other workloads mount too, and that believe a Pod's IDs.

Such a server, or the node that mounts for it, compares numbers: of the user, of the groups. A Pod
that says that it is user 0, or in a group that files of others belong to, is believed.
"""

from collections.abc import Collection
from typing import Final

SHARED_TYPES: Final = frozenset(
    {"azureFile", "cephfs", "flexVolume", "glusterfs", "nfs", "portworxVolume", "quobyte"}
)
"""Sources of volumes that are such file systems, or may be (k8s.io/api/core/v1 types.go)."""

SHARED_DRIVERS: Final = frozenset(
    {
        "azurelustre.csi.azure.com",
        "beegfs.csi.netapp.com",
        "blob.csi.azure.com",
        "cephfs.csi.ceph.com",
        "csi.juicefs.com",
        "csi.weka.io",
        "efs.csi.aws.com",
        "file.csi.azure.com",
        "filestore.csi.storage.gke.io",
        "fsx.csi.aws.com",
        "gcsfuse.csi.storage.gke.io",
        "lustre.csi.storage.gke.io",
        "nfs.csi.k8s.io",
        "s3.csi.aws.com",
        "smb.csi.k8s.io",
        "spectrumscale.csi.ibm.com",
    }
)
"""CSI drivers of such file systems, whatever access modes a volume of theirs lists."""

_OF_MANY: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})


def is_shared_source(source: str, driver: str = "") -> bool:
    """Return whether a volume's source is such a file system; `driver` is that of a csi one."""
    return source in SHARED_TYPES or (source == "csi" and driver in SHARED_DRIVERS)


def is_shared_volume(
    sources: Collection[str], driver: str, access_modes: Collection[str], volume_mode: str
) -> bool:
    """Return whether a PersistentVolume is such a file system.

    One of a driver that is not known is taken for one where several nodes may mount it as a file
    system: a disk can be mounted by one.
    """
    if any(is_shared_source(each, driver) for each in sources):
        return True
    return "csi" in sources and volume_mode != "Block" and not _OF_MANY.isdisjoint(access_modes)
