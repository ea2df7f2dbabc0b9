"""What the profiles say of objects that are no Pods, and of claims bound to such volumes."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from admission.model.facts import Facts
from admission.model.judged_object import Reading
from admission.objects.reader import ObjectReader
from core.kubernetes import pod as k8s
from core.kubernetes.persistent_volumes import parse_persistent_volume
from core.profiles.container_profiles import ProfileSet
from identity.subjects import Controllers
from kube.cluster.folder import FolderCluster
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.model import Projection, encode
from policies.projection.objects import project_object, project_persistent
from policies.projection.pods import project
from tests.unit.admission.world import request
from tests.unit.policies.profiles.pages import RECOMMENDED
from tests.unit.policies.profiles.test_misuses import model

Lacks = Callable[[str, Projection], set[str]]
Claiming = Callable[[str, dict[str, Any]], Projection]

NFS = {"nfs": {"server": "192.0.2.1", "path": "/exports"}}
SERVED: list[dict[str, Any]] = [
    {"csi": {"driver": "disk.csi.azure.com", "volumeHandle": "d"}},
    {"csi": {"driver": "file.csi.azure.com", "volumeHandle": "f"}},
    {"csi": {"driver": "blob.csi.azure.com", "volumeHandle": "b"}},
]
"""Sources of volumes that the drivers of AKS make."""

UNKNOWN = {"csi": {"driver": "host.example", "volumeHandle": "h"}}
"""Of a driver that no profile for workloads names."""

ON_NODE: list[tuple[dict[str, Any], str]] = [
    ({"hostPath": {"path": "/etc"}}, "volume/hostPath:rw/etc"),
    ({"local": {"path": "/mnt/disks/0"}}, "volume/hostPath:rw/mnt/disks/0"),
]
"""Sources that are a path of the node, and what each needs."""

OLD_KINDS: list[tuple[dict[str, Any], str]] = [
    ({"iscsi": {"targetPortal": "192.0.2.1:3260", "iqn": "iqn.x", "lun": 0}}, "volume/iscsi"),
    ({"rbd": {"monitors": ["192.0.2.1"], "image": "i"}}, "volume/rbd"),
    ({"cephfs": {"monitors": ["192.0.2.1"]}}, "volume/cephfs"),
]
"""Storage elsewhere that the provisioners' profile does not name, and what each needs."""

ELSEWHERE = [NFS, *(source for source, _ in OLD_KINDS)]
"""Sources that are neither of the node nor of CSI."""


@pytest.fixture(scope="session")
def lacks(builtin_engine: EmbeddedEngine, shipped: ProfileSet) -> Lacks:
    """What an object needs that a profile, by its name, does not cover."""

    def find(profile: str, projection: Projection) -> set[str]:
        answer = asyncio.run(builtin_engine.ask(encode(projection)))
        covers = shipped.by_name[profile].covers
        return {need.privilege for need in answer.needs if not covers(need.privilege)}

    return find


def volume(source: dict[str, Any]) -> dict[str, Any]:
    """Return a PersistentVolume of a source."""
    return {"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "1Gi"}, **source}}


def authored(source: dict[str, Any]) -> Projection:
    """Return the projection of a PersistentVolume for its author."""
    read = parse_persistent_volume(json.dumps(volume(source)).encode())
    return project_persistent(read, "spec")


@pytest.mark.parametrize("source", [*SERVED, UNKNOWN, NFS], ids=str)
def test_a_provisioner_may_make_what_it_serves(source: dict[str, Any], lacks: Lacks) -> None:
    """Volumes of CSI drivers and of NFS."""
    assert lacks("storage-provisioner", authored(source)) == set()


@pytest.mark.parametrize(("source", "needed"), [*ON_NODE, *OLD_KINDS], ids=str)
def test_a_provisioner_may_make_nothing_else(
    source: dict[str, Any], needed: str, lacks: Lacks
) -> None:
    """Neither folders of the node nor storage of old kinds."""
    assert lacks("storage-provisioner", authored(source)) == {needed}


def test_a_provisioner_may_run_nothing(lacks: Lacks) -> None:
    """The most harmless Pod has an image, and the profile covers none."""
    pod = k8s.decode_pod(json.dumps(model("restricted")).encode())
    assert any(
        needed.startswith("image/from/") for needed in lacks("storage-provisioner", project(pod))
    )


@pytest.fixture
def claiming(tmp_path: Path) -> Claiming:
    """The projection of a Pod that a profile covers, with a claim that has a volume of a source."""

    def give(profile: str, source: dict[str, Any]) -> Projection:
        kept = {"claimRef": {"namespace": "train", "name": "data"}}
        manifest = {"apiVersion": "v1", "kind": "PersistentVolume", **volume({**source, **kept})}
        (tmp_path / "volume.yaml").write_text(json.dumps(manifest))
        pod = model(profile)
        pod["spec"]["volumes"] = [
            *pod["spec"].get("volumes", ()),
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        ]
        reader = ObjectReader(FolderCluster(tmp_path), Controllers())
        asked = request(pod, namespace="train")
        reading = reader.read_pod(asked, Facts(ProfileSet("", ()), "", {}))
        assert isinstance(reading, Reading)
        return reading.parts[0].projection

    return give


@pytest.mark.parametrize("profile", ["isolated", "restricted", "gpu-training", "baseline"])
@pytest.mark.parametrize("source", [*SERVED, UNKNOWN, *ELSEWHERE], ids=str)
def test_workloads_use_claims_on_other_storage_freely(
    profile: str, source: dict[str, Any], lacks: Lacks, claiming: Claiming
) -> None:
    """A claim on a volume that is not of the node needs nothing, whatever driver serves it.

    The volume was judged for its author (docs/adr/0017).
    """
    assert lacks(profile, claiming(profile, source)) == set()


@pytest.mark.parametrize("profile", ["restricted", "gpu-training", "notebook", "baseline"])
@pytest.mark.parametrize(("source", "needed"), ON_NODE, ids=str)
def test_a_claim_on_a_path_of_the_node_is_worth_the_path(
    profile: str, source: dict[str, Any], needed: str, lacks: Lacks, claiming: Claiming
) -> None:
    """No profile of workloads covers a hostPath, also behind a claim."""
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
