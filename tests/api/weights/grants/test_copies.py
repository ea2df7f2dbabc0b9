"""Claims of weights are neither cloned nor snapshotted, as a real kube-apiserver takes both."""

from functools import partial
from typing import Final

import pytest

from tests.api.weights.grants.conftest import (
    CAROL,
    DAVE,
    approve,
    asked_for,
    human,
    place,
    refused,
    soon,
)
from tests.api.weights.grants.test_stores import claim, claiming, volume
from tests.harness.programs.client import ApiStatusError, Client, Json

_GROUP: Final = "snapshot.storage.k8s.io"
_SNAPSHOTS: Final[Json] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": f"volumesnapshots.{_GROUP}",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    },
    "spec": {
        "group": _GROUP,
        "scope": "Namespaced",
        "names": {
            "kind": "VolumeSnapshot",
            "listKind": "VolumeSnapshotList",
            "plural": "volumesnapshots",
            "singular": "volumesnapshot",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def kept(namespace: str, name: str) -> Json:
    """Return the claim that a volume is kept for."""
    return {"namespace": namespace, "name": name}


def copied(namespace: str, name: str, of: str, kind: str = "PersistentVolumeClaim") -> Json:
    """Return a claim that a class provisions from another one, or from a snapshot."""
    made = claim(namespace, name)
    source = {"kind": kind, "name": of}
    source |= {"apiGroup": _GROUP} if kind == "VolumeSnapshot" else {}
    made["spec"] |= {"dataSource": source, "storageClassName": "blob"}
    return made


def snapshot(namespace: str, name: str, of: str) -> Json:
    """Return a snapshot of a claim."""
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"source": {"persistentVolumeClaimName": of}},
    }


def disk(name: str, claimed: Json) -> Json:
    """Return a volume of no weights."""
    made = volume(name, claimed)
    made["spec"]["csi"] = {"driver": "disk.csi.azure.com", "volumeHandle": name}
    return made


async def until_known(admin: Client, namespace: str, of: str) -> None:
    """Wait until the gate knows the volume of a claim of weights."""
    probe = copied(namespace, "probe", of)
    await refused(partial(human(admin, DAVE).create, probe), "shows the weights of llama")


async def test_a_claim_on_weights_is_not_copied(admin: Client) -> None:
    """Not by whoever was given them either: nobody was given what the copy lies in."""
    await admin.apply([_SNAPSHOTS])
    await admin.wait_for_kind(f"{_GROUP}/v1", "VolumeSnapshot")
    namespace = await place(admin, "copies")
    carol = human(admin, CAROL)
    await admin.create(volume("copies-w", kept(namespace, "w")))
    await admin.create(disk("copies-d", kept(namespace, "d")))
    for name in ("w", "d"):
        await carol.create(claim(namespace, name))
    written = await human(admin, DAVE).create(asked_for(namespace, serviceAccounts=["default"]))
    await approve(admin, written)
    await soon(partial(carol.create, claiming(namespace, "granted", "w")))
    await until_known(admin, namespace, "w")
    message = "copies claim w, which shows the weights of llama"
    referred = copied(namespace, "referred", "w")
    referred["spec"]["dataSourceRef"] = referred["spec"].pop("dataSource")
    for made in (copied(namespace, "clone", "w"), referred, snapshot(namespace, "shot", "w")):
        with pytest.raises(ApiStatusError, match=message):
            await carol.create(made)
    with pytest.raises(ApiStatusError, match="may be of weights of llama"):
        await carol.create(copied(namespace, "restored", "old", "VolumeSnapshot"))
    with pytest.raises(ApiStatusError, match="no volume that is known yet"):
        await carol.create(copied(namespace, "early", "later"))
    await soon(partial(carol.create, copied(namespace, "of-disk", "d")))
    await carol.create(snapshot(namespace, "of-disk", "d"))
    elsewhere = await place(admin, "copies-elsewhere")
    await carol.create(copied(elsewhere, "restored", "old", "VolumeSnapshot"))
