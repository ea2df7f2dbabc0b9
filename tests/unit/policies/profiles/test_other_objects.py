"""What the profiles say of objects that are no Pods, and of claims bound to such volumes."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from core import pod as k8s
from core.profiles import ProfileSet
from core.storage import PersistentVolume, parse_persistent_volume
from policies.engine.embedded import EmbeddedEngine
from policies.kinds import project_object, project_persistent
from policies.projection import Projection, encode, project
from tests.unit.policies.profiles.pages import RECOMMENDED
from tests.unit.policies.profiles.test_misuses import model

Lacks = Callable[[str, Projection], set[str]]

NFS = {"nfs": {"server": "192.0.2.1", "path": "/exports"}}
SERVED: list[dict[str, Any]] = [
    {"csi": {"driver": "disk.csi.azure.com", "volumeHandle": "d"}},
    {"csi": {"driver": "file.csi.azure.com", "volumeHandle": "f"}},
    {"csi": {"driver": "blob.csi.azure.com", "volumeHandle": "b"}},
]
"""Sources of volumes that the drivers of AKS make."""

OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"hostPath": {"path": "/etc"}}, "volume/hostPath:rw/etc"),
    ({"local": {"path": "/mnt/disks/0"}}, "volume/hostPath:rw/mnt/disks/0"),
    ({"iscsi": {"targetPortal": "192.0.2.1:3260", "iqn": "iqn.x", "lun": 0}}, "volume/iscsi"),
    ({"rbd": {"monitors": ["192.0.2.1"], "image": "i"}}, "volume/rbd"),
    ({"cephfs": {"monitors": ["192.0.2.1"]}}, "volume/cephfs"),
]
"""Sources that neither provisioners nor workloads get, and what each needs."""


@pytest.fixture(scope="session")
def lacks(builtin_engine: EmbeddedEngine, shipped: ProfileSet) -> Lacks:
    """What an object needs that a profile, by its name, does not cover."""

    def find(profile: str, projection: Projection) -> set[str]:
        answer = asyncio.run(builtin_engine.ask(encode(projection)))
        covers = shipped.by_name[profile].covers
        return {need.privilege for need in answer.needs if not covers(need.privilege)}

    return find


def volume(source: dict[str, Any]) -> PersistentVolume:
    """Give a PersistentVolume of a source, as the cluster holds it."""
    manifest = {"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "1Gi"}, **source}}
    return parse_persistent_volume(json.dumps(manifest).encode())


@pytest.mark.parametrize("source", [*SERVED, NFS], ids=str)
def test_a_provisioner_may_make_what_it_serves(source: dict[str, Any], lacks: Lacks) -> None:
    """Volumes of CSI drivers and of NFS."""
    assert lacks("storage-provisioner", project_persistent(volume(source), "spec")) == set()


@pytest.mark.parametrize(("source", "needed"), OTHERS, ids=str)
def test_a_provisioner_may_make_nothing_else(
    source: dict[str, Any], needed: str, lacks: Lacks
) -> None:
    """Neither folders of the node nor storage of old kinds."""
    assert lacks("storage-provisioner", project_persistent(volume(source), "spec")) == {needed}


def test_a_provisioner_may_run_nothing(lacks: Lacks) -> None:
    """The most harmless Pod has an image, and the profile covers none."""
    pod = k8s.decode_pod(json.dumps(model("restricted")).encode())
    assert any(
        needed.startswith("image/from/") for needed in lacks("storage-provisioner", project(pod))
    )


def claiming(profile: str, source: dict[str, Any]) -> Projection:
    """Give the projection of a Pod that the profile covers, with a claim bound to a volume."""
    pod = model(profile)
    pod["spec"]["volumes"] = [
        *pod["spec"].get("volumes", ()),
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    bound = volume(source)
    return project(k8s.decode_pod(json.dumps(pod).encode()), lambda _: bound)


@pytest.mark.parametrize("profile", ["isolated", "restricted", "gpu-training", "baseline"])
@pytest.mark.parametrize("source", SERVED, ids=str)
def test_workloads_mount_what_aks_serves(
    profile: str, source: dict[str, Any], lacks: Lacks
) -> None:
    """A claim on a disk, a share or a container of blobs needs nothing that is not covered."""
    assert lacks(profile, claiming(profile, source)) == set()


@pytest.mark.parametrize("profile", ["restricted", "gpu-training", "notebook", "baseline"])
@pytest.mark.parametrize(
    ("source", "needed"),
    [
        *OTHERS,
        (NFS, "volume/nfs"),
        ({"csi": {"driver": "host.example"}}, "volume/csi/host.example"),
    ],
    ids=str,
)
def test_no_claim_leads_to_more_than_the_volume_itself(
    profile: str, source: dict[str, Any], needed: str, lacks: Lacks
) -> None:
    """A claim is worth what it is bound to."""
    assert lacks(profile, claiming(profile, source)) == {needed}


ADMIN = {
    "metadata": {"name": "all-gpus"},
    "spec": {
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpus",
                        "exactly": {"deviceClassName": "gpu.nvidia.com", "adminAccess": True},
                    }
                ]
            }
        }
    },
}


@pytest.mark.parametrize("profile", RECOMMENDED)
def test_health_checks_alone_get_devices_that_others_use(profile: str, lacks: Lacks) -> None:
    """A claim with admin access sees all GPUs of a node; only gpu-health has it."""
    found = project_object("resource.k8s.io", "ResourceClaimTemplate", json.dumps(ADMIN).encode())
    assert lacks(profile, found) == (set() if profile == "gpu-health" else {"device/admin-access"})
