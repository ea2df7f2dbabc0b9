"""Volumes that say one place and show another: what can hide a store counts as hiding it."""

from typing import Any

import msgspec
import pytest

from core.base.errors import InvalidObjectError
from core.kubernetes.blob_volumes import MOST_ATTRIBUTES
from core.kubernetes.persistent_volumes import PersistentVolume, parse_persistent_volume
from core.weights.access_paths import WeightStoreSet
from core.weights.pod_mounts import volume_mounts
from tests.unit.core.weights.test_access_paths import store
from tests.unit.core.weights.test_pod_mounts import csi, inline, none, places, pod, volume

CLIENT = "99999999-2222-3333-4444-555555555555"
STORES = WeightStoreSet([store()])
HERE = {"storageAccount": "llamaweights", "containerName": "scratch"}
THERE = {"storageAccount": "others", "containerName": "prod"}


def reached(found: PersistentVolume) -> bool:
    """Return whether a volume is one of the store's."""
    return bool(list(STORES.mounting(found.mounts)))


def test_another_container_of_the_account_is_none() -> None:
    """What stands below is told from this."""
    assert not reached(volume(csi(**HERE)))
    assert not reached(volume(csi(**THERE)))


@pytest.mark.parametrize(
    "options",
    [
        ["-o allow_other", "--container-name=prod"],
        ["-o ro --Container-Name prod"],
        ["--config-file=/mnt/other.yaml"],
    ],
)
def test_mount_options_name_the_container_before_attributes_do(options: list[str]) -> None:
    """The driver leaves out its own word where a mount option has one; kubelets join both."""
    assert reached(volume(csi(**HERE), mountOptions=options))
    whole = {
        "metadata": {
            "name": "pv",
            "annotations": {"volume.beta.kubernetes.io/mount-options": ",".join(options)},
        },
        "spec": csi(**HERE),
    }
    assert reached(parse_persistent_volume(msgspec.json.encode(whole)))
    written = pod(inline(**HERE, MountOptions=",".join(options)))
    assert list(STORES.mounting(volume_mounts(written, none)))


def test_ordinary_mount_options_hide_nothing() -> None:
    """Nearly every volume has some."""
    options = ["-o allow_other", "--file-cache-timeout-in-seconds=120"]
    assert not reached(volume(csi(**HERE), mountOptions=options))


@pytest.mark.parametrize("name", ["scratch --container-name=prod", "scratch\t--x", "größe"])
def test_what_can_be_no_container_hides_it(name: str) -> None:
    """The driver splits its command line at blanks."""
    assert reached(volume(csi(storageAccount="llamaweights", containerName=name)))


def test_the_second_region_has_the_same_weights() -> None:
    """`ACCOUNT-secondary` reads the copy; and what can be no account may be any."""
    for name in ("llamaweights-secondary", "LlamaWeights.privatelink", "x/../llamaweights"):
        assert reached(volume(csi(storageAccount=name, containerName="prod"))), name


@pytest.mark.parametrize(
    "more",
    [
        {"server": "weights.example"},
        {"server": "others.blob.evil.example"},
        {"server": "203.0.113.9"},
        {"storageEndpointSuffix": "core.evil.example"},
    ],
)
def test_a_server_that_is_not_azures_may_lead_to_any_account(more: dict[str, str]) -> None:
    """A name in anybody's DNS can be one for the store's; the token is good for all."""
    assert reached(volume(csi(**THERE, **more)))


@pytest.mark.parametrize(
    "more",
    [
        {"server": "others.blob.core.windows.net"},
        {"server": "others.privatelink.blob.core.windows.net"},
        {"storageEndpointSuffix": "core.windows.net"},
    ],
)
def test_a_server_of_azures_is_of_the_account_that_it_names(more: dict[str, str]) -> None:
    """Private endpoints of other accounts are ordinary."""
    assert not reached(volume(csi(**THERE, **more)))


def spelled(name: str, count: int) -> dict[str, str]:
    """Return an attribute in many spellings, each with a value of its own."""
    return {f"{' ' * each}{name}": f"{name.lower()}{each:03d}" for each in range(count)}


def test_an_attribute_in_many_spellings_is_not_multiplied_out() -> None:
    """Four with 100 spellings each would be a hundred million volumes: it hides all instead."""
    names = ("storageAccount", "containerName", "server", "clientID")
    attributes = {key: text for name in names for key, text in spelled(name, 100).items()}
    found = volume(csi(**attributes))
    assert len(found.mounts) <= 64
    assert reached(found)
    shares = {**spelled("server", 100), **spelled("share", 100), **spelled("subDir", 100)}
    driven: dict[str, Any] = {"driver": "nfs.csi.k8s.io", "volumeAttributes": shares}
    assert places(volume_mounts(pod({"name": "w", "csi": driven}), none)) == ["/"]


@pytest.mark.parametrize(
    "attributes",
    [
        {"share": "/", "subDir": "llamaweights/prod"},
        {"share": "/llamaweights", "subDir": "/prod"},
        {"share": "/x/../llamaweights/prod"},
    ],
)
def test_a_share_of_nfs_is_its_whole_path(attributes: dict[str, str]) -> None:
    """NFS' driver puts `subDir` after the share; a path may go up and down."""
    driven = {"driver": "nfs.csi.k8s.io", "volumeAttributes": {"server": "10.9.9.9", **attributes}}
    assert places(volume_mounts(pod({"name": "w", "csi": driven}), none)) == ["llamaweights/prod"]


MSI = {"azureStorageAuthType": "MSI"}


@pytest.mark.parametrize(
    "signs",
    [
        MSI,
        {"AzureStorageAuthType": "msi", "secretName": "mine", "secretNamespace": "train"},
        {"azureStorageAuthType": "SPN", "azureStorageSPNClientID": CLIENT},
        {"azureStorageIdentityObjectID": CLIENT},
    ],
)
def test_a_secret_may_name_another_account_for_an_identity(signs: dict[str, str]) -> None:
    """A namespace's own Secret sends the node's identity to the store; no key is asked for."""
    assert reached(volume(csi(**THERE, **signs)))
    referred = csi(**THERE, **signs)
    referred["csi"]["nodeStageSecretRef"] = {"name": "mine", "namespace": "train"}
    assert reached(volume(referred))


@pytest.mark.parametrize(
    "more",
    [
        {"containerName": "scratch"},
        {"protocol": "nfs"},
        {"clientID": CLIENT},
        {"keyVaultURL": "https://vault.example"},
    ],
)
def test_where_no_secret_is_asked_or_the_container_is_none_it_names_no_other(
    more: dict[str, str],
) -> None:
    """The driver takes only the account from a Secret, never the container."""
    assert not reached(volume(csi(**THERE | MSI | more)))


@pytest.mark.parametrize("driver", ["blob.csi.azure.com", "nfs.csi.k8s.io", "other.example.org"])
def test_volume_of_too_many_attributes_is_an_error_that_names_them(driver: str) -> None:
    """Each may name a store: none is left unread."""
    many = {f"a{number}": "b" for number in range(MOST_ATTRIBUTES + 1)}
    made = {
        "metadata": {"name": "v"},
        "spec": {"csi": {"driver": driver, "volumeAttributes": many}},
    }
    with pytest.raises(InvalidObjectError, match=r"csi\.volumeAttributes: holds 1,001; more than"):
        parse_persistent_volume(msgspec.json.encode(made))
