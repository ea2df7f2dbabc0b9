"""What clusters do all day goes on: provisioning, binding, bookkeeping, deleting."""

from typing import Any

import pytest

from tests.api.objects.claims import Storage
from tests.api.objects.other_objects import MAKINGS, ORDINARY_CLAIM, Making, csi, local
from tests.api.objects.people import People
from tests.api.objects.pods import with_claim
from tests.harness.programs.client import Client, Json, Outcome

DISK = "disk.csi.azure.com"


async def test_a_volume_is_provisioned_and_mounted(
    people: People, storage: Storage, admin: Client
) -> None:
    """A provisioner of kube-system makes the volume, the real binder binds it, a Pod mounts it.

    Only the chart's grant to kube-system is needed; who mounts it has `restricted` alone.
    """
    await admin.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": storage.class_name},
            "provisioner": DISK,
        }
    )
    claim = storage.claim("data")
    created = await people.nobody().create(claim)
    volume = provisioned(storage, created)
    await people.account("csi-azuredisk-controller-sa").create(volume)
    assert await storage.bound(claim) == volume["metadata"]["name"]
    made = with_claim("data", storage.namespace)
    answer = await people.using("restricted").dry_run_create(made, storage.namespace)
    assert answer.outcome is Outcome.ALLOWED, answer.message


def provisioned(storage: Storage, claim: Json) -> Json:
    """Return the volume that an external provisioner makes for a claim."""
    metadata = claim["metadata"]
    reference = {key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion")}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": f"pvc-{metadata['uid']}",
            "annotations": {"pv.kubernetes.io/provisioned-by": DISK},
            "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"],
        },
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **reference},
            "storageClassName": storage.class_name,
            **csi(DISK, metadata["uid"]),
        },
    }


async def test_a_provisioner_cannot_hand_out_the_node(people: People, storage: Storage) -> None:
    """The same service account cannot make a volume of a path of the node."""
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"node-{storage.namespace}"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/"},
        },
    }
    answer = await people.account("csi-azuredisk-controller-sa").dry_run(volume)
    assert answer.outcome is Outcome.DENIED


async def test_an_ordinary_claim_for_a_device_needs_no_profile(people: People) -> None:
    """Whoever may make ResourceClaims makes one for a device of their own."""
    answer = await people.nobody().dry_run(ORDINARY_CLAIM)
    assert answer.outcome is Outcome.ALLOWED, answer.message


@pytest.mark.parametrize("name", ["system-cluster-critical", "system-node-critical"])
async def test_kube_apiserver_keeps_its_own_priority_classes(
    people: People, admin: Client, name: str
) -> None:
    """They are there, and the server may make them anew as it does when it starts."""
    found = await admin.get("scheduling.k8s.io/v1", "PriorityClass", name)
    server = admin.as_user("system:apiserver", ["system:masters", "system:authenticated"])
    made = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "made-by-the-server"},
        "value": 10,
    }
    assert (await server.dry_run(made)).outcome is Outcome.ALLOWED
    await server.patch(found, {"metadata": {"annotations": {"seen": "yes"}}})


@pytest.mark.parametrize(
    ("source", "spec"),
    [({"hostPath": {"path": "/"}}, {}), (local("/data"), {}), (csi("other.example.com"), {})],
    ids=["hostPath", "local", "csi"],
)
async def test_controllers_keep_the_books_of_volumes(
    people: People, storage: Storage, source: Json, spec: dict[str, Any]
) -> None:
    """Finalizers, labels, sizes and states change without a profile; the volume is deleted."""
    volume = await storage.volume(source, "kept", **spec)
    nobody = people.nobody()
    await nobody.patch(volume, {"metadata": {"labels": {"zone": "1"}, "finalizers": []}})
    await nobody.patch(volume, {"spec": {"capacity": {"storage": "2Gi"}}})
    await nobody.patch(volume, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})
    path = f"/api/v1/persistentvolumes/{volume['metadata']['name']}/status"
    binder = people.account("persistent-volume-binder")
    status, answer = await binder.request(
        "PATCH",
        path,
        {"status": {"phase": "Released"}},
        content_type="application/merge-patch+json",
    )
    assert status == 200, answer
    await nobody.delete(volume)


@pytest.mark.parametrize("making", MAKINGS, ids=lambda making: making.name)
async def test_everything_can_be_deleted(people: People, admin: Client, making: Making) -> None:
    """What an administrator made, whoever RBAC lets may delete without a profile."""
    metadata = {**making.item["metadata"], "name": f"deleted-{making.name}"}
    item = {**making.item, "metadata": metadata}
    await admin.create(item)
    await people.nobody().delete(item)


async def test_a_released_volume_is_freed_by_the_binder(people: People, storage: Storage) -> None:
    """The binder takes the claim off a volume that it keeps; nobody else does so unjudged."""
    volume = await storage.volume({"hostPath": {"path": "/data"}}, "gone")
    binder = people.account("persistent-volume-binder")
    await binder.patch(volume, {"spec": {"claimRef": None}})
    assert await storage.kept_for(volume) == ""
