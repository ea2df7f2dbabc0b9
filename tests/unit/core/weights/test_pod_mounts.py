"""What a Pod mounts of Azure Storage, in every spelling that a driver takes."""

from typing import Any

import msgspec
import pytest

from core.base.errors import InvalidObjectError
from core.kubernetes.blob_volumes import BlobMount
from core.kubernetes.persistent_volumes import PersistentVolume, parse_persistent_volume
from core.kubernetes.pod import Pod, decode_pod
from core.weights.pod_mounts import find_mounts, volume_mounts

Spec = dict[str, Any]

DRIVER = "blob.csi.azure.com"


def pod(*volumes: Spec, **spec: Any) -> Pod:
    """Return a Pod with these volumes."""
    whole = {"metadata": {"name": "llama-0"}, "spec": {"volumes": list(volumes), **spec}}
    return decode_pod(msgspec.json.encode(whole))


def inline(**attributes: str) -> Spec:
    """Return a blob volume that a Pod writes itself."""
    return {"name": "w", "csi": {"driver": DRIVER, "volumeAttributes": attributes}}


def volume(source: Spec, claim: str = "train/weights", **spec: Any) -> PersistentVolume:
    """Return a PersistentVolume."""
    namespace, _, name = claim.partition("/")
    whole = {
        "metadata": {"name": "pv"},
        "spec": {"claimRef": {"namespace": namespace, "name": name}, **source, **spec},
    }
    return parse_persistent_volume(msgspec.json.encode(whole))


def csi(handle: str = "", **attributes: str) -> Spec:
    """Return the source of a PersistentVolume."""
    return {"csi": {"driver": DRIVER, "volumeHandle": handle, "volumeAttributes": attributes}}


def none(_claim: str, _volume: str) -> tuple[PersistentVolume, ...]:
    """Know of no claim."""
    return ()


def places(found: tuple[BlobMount, ...]) -> list[str]:
    """Return what is mounted."""
    return [each.place for each in found]


@pytest.mark.parametrize(
    "attributes",
    [
        {"storageAccount": "llama", "containerName": "prod"},
        {"STORAGEACCOUNT": "Llama", "CONTAINERNAME": "PROD"},
        {"storageAccountName": "llama", "containerName": "prod"},
        {" storageaccount ": " llama ", "containername": "prod/sub"},
        {"server": "llama.privatelink.blob.core.windows.net", "containerName": "prod"},
    ],
)
def test_an_account_is_found_in_every_spelling(attributes: dict[str, str]) -> None:
    """Names of attributes in any case, as the driver reads them; a host names an account too."""
    found = volume(csi(**attributes)).mounts
    assert "llama/prod" in places(found)


def test_two_accounts_in_one_volume_both_count() -> None:
    """The driver takes either: it goes through a map in no order."""
    found = volume(csi(storageAccount="harmless", StorageAccount="llama", containerName="prod"))
    assert set(places(found.mounts)) == {"harmless/prod", "llama/prod"}


def test_two_identities_in_one_volume_both_count() -> None:
    """For the same reason; and one that is empty may be the one that the driver reads."""
    said = {"storageAccount": "llama", "containerName": "prod"}
    found = volume(csi(**said, clientID="a", CLIENTID="b")).mounts
    assert {each.client_id for each in found} == {"a", "b"}
    found = volume_mounts(pod(inline(**said, clientID="a", CLIENTID="")), none)
    assert set(places(found)) == {"llama/prod", "/prod"}


def test_a_handle_names_what_attributes_leave_out() -> None:
    """`rg#account#container#…`, as dynamic provisioning writes it."""
    assert places(volume(csi("rg#llama#prod#u#ns#sub")).mounts) == ["llama/prod"]


def test_a_volume_of_the_pods_own_may_be_of_the_account_of_its_secret() -> None:
    """The driver blanks the account that it names, unless it signs in by workload identity."""
    said = {"storageAccount": "harmless", "containerName": "prod", "secretName": "s"}
    found = volume_mounts(pod(inline(**said)), none)
    assert places(found) == ["harmless/prod", "/prod"]
    assert all(each.key for each in found)
    client = "11111111-2222-3333-4444-555555555555"
    found = volume_mounts(pod(inline(**said, clientID=client.upper())), none)
    assert places(found) == ["harmless/prod"]
    assert (found[0].client_id, found[0].key) == (client, False)


def test_a_name_to_be_filled_in_hides_the_container() -> None:
    """Nobody knows yet what the driver makes of it."""
    found = volume(csi(storageAccount="llama", containerName="${pvc.metadata.name}")).mounts
    assert places(found) == ["llama/"]


@pytest.mark.parametrize(
    ("server", "exported", "wanted"),
    [
        ("llama.blob.core.windows.net", "/llama/prod", [("llama/prod", True)]),
        ("10.1.0.5", "/llama/prod/x", [("llama/prod", False)]),
        (
            "LLAMA.blob.core.windows.net.",
            "/other/prod",
            [("llama/prod", True), ("other/prod", True)],
        ),
    ],
)
def test_nfs_on_blobs_is_known_by_its_path(
    server: str, exported: str, wanted: list[tuple[str, bool]]
) -> None:
    """Of a host that is no account's it is only like it: others may export the same path."""
    found = volume_mounts(pod({"name": "w", "nfs": {"server": server, "path": exported}}), none)
    assert [(each.place, each.certain) for each in found] == wanted
    driven = {"driver": "nfs.csi.k8s.io", "volumeAttributes": {"Server": server, "share": exported}}
    found = volume_mounts(pod({"name": "w", "csi": driven}), none)
    assert [(each.place, each.certain) for each in found] == wanted


def test_another_driver_that_names_a_blob_endpoint_mounts_it() -> None:
    """Whatever its attribute is called."""
    attributes = {"endpoint": "https://llama.blob.core.windows.net/", "container": "prod"}
    driven = {"driver": "s3.csi.example", "volumeAttributes": attributes}
    assert places(volume_mounts(pod({"name": "w", "csi": driven}), none)) == ["llama/prod"]
    quiet = {"driver": "disk.csi.azure.com", "volumeAttributes": {"storageAccount": "llama"}}
    assert not volume_mounts(pod({"name": "w", "csi": quiet}), none)


def test_a_flex_volume_hides_its_account() -> None:
    """Its Secret holds it."""
    flex = {"driver": "azure/blobfuse", "options": {"container": "prod"}}
    found = volume_mounts(pod({"name": "w", "flexVolume": flex}), none)
    assert places(found) == ["/prod"]


def test_claims_show_what_they_are_bound_to() -> None:
    """A claim by name, one made for an ephemeral volume, and the volume that this one will name."""
    asked: list[tuple[str, str]] = []

    def claimed(claim: str, named: str) -> tuple[PersistentVolume, ...]:
        asked.append((claim, named))
        return (volume(csi(storageAccount="llama", containerName="prod")),)

    claim = {"name": "a", "persistentVolumeClaim": {"claimName": "weights", "readOnly": True}}
    template = {"spec": {"volumeName": "pv"}}
    made = {"name": "b", "ephemeral": {"volumeClaimTemplate": template}}
    found = volume_mounts(pod(claim, made), claimed)
    assert asked == [("weights", ""), ("llama-0-b", "pv")]
    assert [(each.read_only, each.path) for each in found] == [
        (True, "spec.volumes[0].persistentVolumeClaim"),
        (False, "spec.volumes[1].ephemeral.volumeClaimTemplate"),
    ]


@pytest.mark.parametrize("place", ["containers", "initContainers", "ephemeralContainers"])
def test_a_fuse_sidecar_only_hints(place: str) -> None:
    """What a program is told it may do otherwise: it is shown, and never certain."""
    sidecar = {
        "name": "fuse",
        "image": "registry.example/fuse:1",
        "command": ["blobfuse2", "mount", "/w", "--container-name=prod"],
        "env": [{"name": "AZURE_STORAGE_ACCOUNT", "value": "Llama"}],
    }
    found = find_mounts(pod(**{place: [sidecar]}), none)
    assert [(each.place, each.certain) for each in found] == [("llama/prod", False)]


def test_other_volumes_mount_nothing() -> None:
    """Files of SMB, disks, Secrets, and a claim that nothing is known of."""
    others: list[Spec] = [
        {"name": "a", "secret": {"secretName": "s"}},
        {"name": "b", "azureFile": {"secretName": "s", "shareName": "prod"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "d", "emptyDir": {}},
    ]
    assert not find_mounts(pod(*others), none)


def test_a_volume_of_the_wrong_shape_is_refused_with_its_field() -> None:
    """An error, never nothing."""
    with pytest.raises(InvalidObjectError, match=r"spec\.volumes\[0\]\.csi"):
        volume_mounts(pod({"name": "w", "csi": {"driver": 7}}), none)
