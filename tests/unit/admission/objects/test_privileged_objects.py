"""Objects that carry privileges are judged for their authors, by the same privileges."""

from pathlib import Path
from typing import Any

import pytest

from core.decision.decision import Decision, Verdict
from core.decision.namespaces import Mode
from core.decision.request import Kind, Operation, Request
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import ALICE, Folder, decide, pod, request, rules

BINDER = Subject("system:serviceaccount:kube-system:persistent-volume-binder")
CLAIM_CONTROLLER = Subject("system:serviceaccount:kube-system:resource-claim-controller")

DEVICES = {"requests": [{"name": "gpu", "exactly": {"adminAccess": True}}]}
OPAQUE = {"config": [{"opaque": {"driver": "gpu.nvidia.com", "parameters": {}}}]}
TOLERATING = {
    "requests": [
        {"name": "a", "exactly": {"tolerations": [{"key": "reserved", "operator": "Exists"}]}},
        {"name": "b", "firstAvailable": [{}, {"tolerations": [{"key": "ill"}]}]},
        {"name": "c", "tolerations": [{"operator": "Exists"}]},
    ]
}
OBJECTS: dict[str, tuple[Kind, dict[str, Any], set[str]]] = {
    "runtime class": (
        Kind("RuntimeClass", "v1", "node.k8s.io"),
        {"handler": "runc"},
        {"runtime-class/x/runc"},
    ),
    "storage class": (
        Kind("StorageClass", "v1", "storage.k8s.io"),
        {"provisioner": "disk.csi.azure.com"},
        {"storage-class/disk.csi.azure.com"},
    ),
    "csi driver": (
        Kind("CSIDriver", "v1", "storage.k8s.io"),
        {"spec": {"tokenRequests": [{"audience": "vault"}, {"audience": ""}]}},
        {"csi-driver/x", "token/audience/vault", "token/audience/%00"},
    ),
    "priority class": (
        Kind("PriorityClass", "v1", "scheduling.k8s.io"),
        {"value": 1, "globalDefault": True},
        {"scheduling/priority/x", "scheduling/priority-default"},
    ),
    "admin claim": (
        Kind("ResourceClaim", "v1", "resource.k8s.io"),
        {"spec": {"devices": DEVICES}},
        {"device/admin-access"},
    ),
    "admin claim of v1beta1": (
        Kind("ResourceClaim", "v1beta1", "resource.k8s.io"),
        {"spec": {"devices": {"requests": [{"adminAccess": True}]}}},
        {"device/admin-access"},
    ),
    "template of a configured claim": (
        Kind("ResourceClaimTemplate", "v1", "resource.k8s.io"),
        {"spec": {"spec": {"devices": OPAQUE}}},
        {"device/config/gpu.nvidia.com"},
    ),
    "device class": (
        Kind("DeviceClass", "v1", "resource.k8s.io"),
        {"spec": OPAQUE},
        {"device/config/gpu.nvidia.com"},
    ),
    "class of a resource": (
        Kind("DeviceClass", "v1", "resource.k8s.io"),
        {"spec": {"extendedResourceName": "nvidia.com/gpu"}},
        {"device/extended-resource/nvidia.com%2Fgpu"},
    ),
    "claim that tolerates": (
        Kind("ResourceClaim", "v1", "resource.k8s.io"),
        {"spec": {"devices": TOLERATING}},
        {"device/tolerate/reserved", "device/tolerate/ill", "device/tolerate/everything"},
    ),
    "hostPath volume": (
        Kind("PersistentVolume", "v1"),
        {"spec": {"hostPath": {"path": "/var/lib"}}},
        {"volume/hostPath:rw/var/lib"},
    ),
    "local volume": (
        Kind("PersistentVolume", "v1"),
        {"spec": {"local": {"path": "/dev/sda"}, "accessModes": ["ReadOnlyMany"]}},
        {"volume/hostPath:rw/dev/sda"},
    ),
    "nfs volume": (
        Kind("PersistentVolume", "v1"),
        {"spec": {"nfs": {"server": "s", "path": "/"}}},
        {"volume/nfs"},
    ),
    "csi volume": (
        Kind("PersistentVolume", "v1"),
        {"spec": {"csi": {"driver": "blob.csi.azure.com"}}},
        {"volume/csi/blob.csi.azure.com"},
    ),
}


def asking(name: str, subject: Subject = ALICE) -> Request:
    """Return the request that creates one of OBJECTS."""
    kind, fields, _ = OBJECTS[name]
    namespaced = kind.kind in {"ResourceClaim", "ResourceClaimTemplate"}
    namespace = "train" if namespaced else ""
    made = {**fields, "metadata": {"name": "x", **fields.get("metadata", {})}}
    return request(made, subject, kind=kind, namespace=namespace, name="x")


OBJECTS["volume with Secrets"] = (
    Kind("PersistentVolume", "v1"),
    {
        "spec": {
            "csi": {
                "driver": "file.csi.azure.com",
                "nodeStageSecretRef": {"name": "key", "namespace": "weights"},
                "nodePublishSecretRef": {"name": "key", "namespace": "train"},
            },
        }
    },
    {"volume/csi/file.csi.azure.com", "volume/secret/weights", "volume/secret/train"},
)
OBJECTS["volume with mount options"] = (
    Kind("PersistentVolume", "v1"),
    {
        "metadata": {"annotations": {"volume.beta.kubernetes.io/mount-options": "ro,uid=0"}},
        "spec": {
            "mountOptions": ["ro, dir_mode=0777", "nosuid"],
            "nfs": {"server": "s", "path": "/"},
        },
    },
    {"volume/nfs", "volume/mount-option/dir_mode%3D0777", "volume/mount-option/uid%3D0"},
)


def bare(tmp_path: Path) -> Folder:
    """Return a cluster in which ALICE may use a profile for images alone."""
    folder = Folder(tmp_path / "bare").profile("bare", 5, catalogue=4)
    return folder.grant("User:alice@example.com", "bare")


@pytest.mark.parametrize("name", OBJECTS)
async def test_its_author_needs_what_it_gives(
    name: str, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """Without the right: refused, privilege by privilege. With it: admitted."""
    folder = bare(tmp_path)
    refused = await decide(folder.cluster(), engine, asking(name))
    wanted = OBJECTS[name][2]
    assert refused.verdict is Verdict.DENY
    assert {privilege for _, privilege in rules(refused)} == wanted
    folder.profile("wide", 1, *wanted, catalogue=4).grant("User:alice@example.com", "wide")
    decision = await decide(folder.cluster(), engine, asking(name))
    assert decision.verdict is Verdict.ALLOW
    assert decision.profile == "wide"
    assert {need.privilege for need in decision.evidence.needs} == wanted


@pytest.mark.parametrize("name", OBJECTS)
async def test_a_profile_of_one_namespace_gives_nothing_in_the_cluster(
    name: str, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """What is in no namespace needs the right in all of them."""
    folder = Folder(tmp_path / "bare").profile("wide", 1, "**")
    folder.grant("User:alice@example.com", "wide", namespace="train")
    decision = await decide(folder.cluster(), engine, asking(name))
    in_namespace = "claim" in name
    assert decision.verdict is (Verdict.ALLOW if in_namespace else Verdict.DENY)


async def test_the_default_mode_holds_where_there_is_no_namespace(
    tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """An installation that only audits refuses no PersistentVolume."""
    cluster = Folder(tmp_path / "bare").profile("wide", 1, "**").cluster()
    decision = await decide(cluster, engine, asking("hostPath volume"), mode=Mode.AUDIT)
    assert decision.allowed
    assert decision.verdict is Verdict.WARN


async def test_a_claim_that_asks_for_nothing_special_is_left_alone(
    tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """Whoever may make ResourceClaims may make ordinary ones, with no profile at all."""
    made = {"spec": {"devices": {"requests": [{"exactly": {"deviceClassName": "gpu"}}]}}}
    kind = Kind("ResourceClaim", "v1", "resource.k8s.io")
    cluster = Folder(tmp_path / "bare").cluster()
    decision = await decide(cluster, engine, request(made, kind=kind))
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.left_alone == "it needs no privilege"


async def test_claims_made_from_templates_were_judged_as_templates(
    tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """The controller has no right of its own, and needs none."""
    cluster = Folder(tmp_path / "bare").cluster()
    decision = await decide(cluster, engine, asking("admin claim", CLAIM_CONTROLLER))
    assert decision.verdict is Verdict.ALLOW
    assert "template" in decision.evidence.left_alone


async def test_a_pod_template_is_judged_as_the_pod_that_it_will_be(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """With paths from the template's root."""
    whole = pod(hostNetwork=True)
    made = {"template": {"metadata": whole["metadata"], "spec": whole["spec"]}}
    asked = request(made, kind=Kind("PodTemplate", "v1"), name="t")
    decision = await decide(folder.cluster(), engine, asked)
    assert decision.verdict is Verdict.DENY
    assert [finding.path for finding in decision.findings] == ["template.spec.hostNetwork"]


async def test_broken_objects_are_errors_that_name_the_field(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """An error is no denial."""
    for kind, made, field in (
        (Kind("RuntimeClass", "v1", "node.k8s.io"), {"handler": 5}, "handler"),
        (Kind("PersistentVolume", "v1"), {"spec": {"hostPath": {"path": 5}}}, "spec.hostPath.path"),
        (Kind("PodTemplate", "v1"), {"template": {"spec": {}}}, "template.spec.containers"),
        (Kind("PersistentVolumeClaim", "v1"), {"spec": {"volumeName": 5}}, "spec.volumeName"),
    ):
        decision = await decide(folder.cluster(), engine, request(made, kind=kind))
        assert decision.verdict is Verdict.ERROR
        assert decision.field == field


def volume(claim: str = "", **source: Any) -> dict[str, Any]:
    """Return a PersistentVolume named `x`; `claim` is `namespace/name`."""
    spec: dict[str, Any] = source or {"hostPath": {"path": "/var/lib"}}
    if claim:
        namespace, _, name = claim.partition("/")
        spec |= {"claimRef": {"namespace": namespace, "name": name}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "x"}, "spec": spec}


async def bind(folder: Folder, engine: EmbeddedEngine, subject: Subject, **source: Any) -> Decision:
    """Bind a volume that was anyone's to a claim of `train`."""
    asked = request(
        volume("train/data", **source),
        subject,
        old=volume(**source),
        operation=Operation.UPDATE,
        kind=Kind("PersistentVolume", "v1"),
        namespace="",
        name="x",
    )
    return await decide(folder.cluster(), engine, asked)


async def test_a_volume_of_a_node_is_not_bound_to_a_namespace_that_may_not_have_it(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """The binder matches claims with whatever is free: the namespace's right decides."""
    decision = await bind(folder, engine, BINDER)
    assert decision.verdict is Verdict.DENY
    assert decision.subjects == ["system:serviceaccount:train:default"]
    folder.profile("disk", 1, "volume/hostPath:rw/var/lib")
    folder.grant("ServiceAccount:train/default", "disk", namespace="train")
    assert (await bind(folder, engine, BINDER)).verdict is Verdict.ALLOW


async def test_other_volumes_are_bound_as_ever(folder: Folder, engine: EmbeddedEngine) -> None:
    """A claim for a disk of a CSI driver is what claims are for."""
    decision = await bind(folder, engine, BINDER, csi={"driver": "disk.csi.azure.com"})
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.left_alone


async def test_whoever_hands_a_volume_out_needs_the_right_as_well(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """Writing the claim's name by hand gives no more than waiting for the binder."""
    folder.profile("disk", 1, "volume/hostPath:rw/var/lib")
    folder.grant("User:alice@example.com", "disk", namespace="train")
    assert (await bind(folder, engine, ALICE)).verdict is Verdict.DENY
    folder.grant("ServiceAccount:train/default", "disk", namespace="train")
    assert (await bind(folder, engine, ALICE)).verdict is Verdict.ALLOW


async def test_an_update_that_changes_no_source_is_left_alone(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """Labels and finalizers of a volume are anybody's."""
    made = volume("train/data")
    asked = request(
        made | {"metadata": {"name": "x", "labels": {"a": "b"}}},
        old=made,
        operation=Operation.UPDATE,
        kind=Kind("PersistentVolume", "v1"),
        namespace="",
    )
    decision = await decide(folder.cluster(), engine, asked)
    assert "changes nothing" in decision.evidence.left_alone


SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "group of files": ("csi driver", {"spec": {"fsGroupPolicy": "File"}}),
    "tokens of a driver": ("csi driver", {"spec": {"serviceAccountTokenInSecrets": True}}),
    "mount options": ("storage class", {"mountOptions": ["uid=0"]}),
    "zones": ("storage class", {"allowedTopologies": [{"matchLabelExpressions": []}]}),
    "expansion": ("storage class", {"allowVolumeExpansion": True}),
    "default class": (
        "storage class",
        {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}},
    ),
    "default class as of before 1.6": (
        "storage class",
        {"metadata": {"annotations": {"storageclass.beta.kubernetes.io/is-default-class": "true"}}},
    ),
    "tolerations of a runtime": (
        "runtime class",
        {"scheduling": {"tolerations": [{"operator": "Exists"}]}},
    ),
    "devices of a class": (
        "class of a resource",
        {"spec": {"selectors": [{"cel": {"expression": "true"}}]}},
    ),
}
"""By what it changes: an object, and fields of it that an update may change
(ValidateCSIDriverUpdate, ValidateStorageClassUpdate, ValidateRuntimeClassUpdate,
ValidateDeviceClassUpdate)."""


def changing(name: str, fields: dict[str, Any]) -> Request:
    """Return the request of ALICE that updates one of OBJECTS."""
    asked = asking(name)
    before = {"metadata": {"name": "x"}, **OBJECTS[name][1]}
    after = {**before}
    for field, value in fields.items():
        is_map = isinstance(value, dict)
        after[field] = {**before.get(field, {}), **value} if is_map else value
    return request(
        after, ALICE, old=before, operation=Operation.UPDATE, kind=asked.kind, namespace=""
    )


@pytest.mark.parametrize("what", SETTINGS)
async def test_changing_a_setting_needs_what_making_it_with_the_setting_needs(
    what: str, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """Claims and Pods of all namespaces follow a class or a driver that was there before."""
    name, fields = SETTINGS[what]
    folder, asked = bare(tmp_path), changing(name, fields)
    refused = await decide(folder.cluster(), engine, asked)
    assert refused.verdict is Verdict.DENY
    assert {privilege for _, privilege in rules(refused)} == OBJECTS[name][2]
    folder.profile("wide", 1, *OBJECTS[name][2], catalogue=4).grant(
        "User:alice@example.com", "wide"
    )
    assert (await decide(folder.cluster(), engine, asked)).verdict is Verdict.ALLOW


@pytest.mark.parametrize("name", sorted({name for name, _ in SETTINGS.values()}))
async def test_labels_of_classes_and_drivers_change_freely(
    name: str, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """So do other annotations."""
    marks = {"labels": {"a": "b"}, "annotations": {"note": "c"}}
    decision = await decide(bare(tmp_path).cluster(), engine, changing(name, {"metadata": marks}))
    assert decision.verdict is Verdict.ALLOW
    assert "changes nothing" in decision.evidence.left_alone


@pytest.mark.parametrize("kept", ["train", "weights"])
async def test_a_volume_uses_the_secrets_of_its_claims_namespace_freely(
    kept: str, tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """Those of other namespaces not."""
    _, fields, _ = OBJECTS["volume with Secrets"]
    spec = {**fields["spec"], "claimRef": {"namespace": kept, "name": "data"}}
    made = {"metadata": {"name": "x"}, "spec": spec}
    asked = request(made, kind=Kind("PersistentVolume", "v1"), namespace="", name="x")
    decision = await decide(bare(tmp_path).cluster(), engine, asked)
    other = {"train": "weights", "weights": "train"}[kept]
    needed = {privilege for _, privilege in rules(decision)}
    assert needed == {"volume/csi/file.csi.azure.com", f"volume/secret/{other}"}


async def test_a_claim_that_takes_a_volume_needs_its_secret_and_options(
    tmp_path: Path, engine: EmbeddedEngine
) -> None:
    """Unless the volume was kept for it; a Pod that uses a claim needs nothing more."""
    folder = bare(tmp_path)
    secret = {"nodeStageSecretRef": {"name": "key", "namespace": "weights"}}
    made = volume(csi={"driver": "file.csi.azure.com", **secret}, mountOptions=["uid=0"])
    folder.documents.append(made)
    asked = request(
        {"spec": {"volumeName": "x"}}, kind=Kind("PersistentVolumeClaim", "v1"), name="data"
    )
    needed = {privilege for _, privilege in rules(await decide(folder.cluster(), engine, asked))}
    assert needed == {
        "volume/csi/file.csi.azure.com",
        "volume/mount-option/uid%3D0",
        "volume/secret/weights",
    }
    made["spec"]["claimRef"] = {"namespace": "train", "name": "data"}
    assert (await decide(folder.cluster(), engine, asked)).verdict is Verdict.ALLOW


async def test_a_claim_that_names_a_volume_takes_it(folder: Folder, engine: EmbeddedEngine) -> None:
    """It needs what the volume gives, unless the volume's author kept it for this claim."""
    asked = request(
        {"spec": {"volumeName": "x"}}, kind=Kind("PersistentVolumeClaim", "v1"), name="data"
    )
    folder.documents.append(volume())
    decision = await decide(folder.cluster(), engine, asked)
    assert [(f.path, f.privilege) for f in decision.findings] == [
        ("spec.volumeName", "volume/hostPath:rw/var/lib")
    ]
    folder.documents[-1] = volume("train/data")
    assert (await decide(folder.cluster(), engine, asked)).verdict is Verdict.ALLOW
    folder.documents[-1] = volume("elsewhere/data")
    assert (await decide(folder.cluster(), engine, asked)).verdict is Verdict.DENY


@pytest.mark.parametrize("mode", ["ro", "rw"])
async def test_a_claim_of_a_node_gives_a_pod_no_more_than_a_host_path(
    mode: str, folder: Folder, engine: EmbeddedEngine
) -> None:
    """The same privilege as if the Pod had mounted the path itself, at the claim's place."""
    folder.documents.append(volume("train/data"))
    made = pod(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    mount = {"name": "d", "mountPath": "/d", "readOnly": mode == "ro"}
    made["spec"]["containers"][0]["volumeMounts"] = [mount]
    decision = await decide(folder.cluster(), engine, request(made))
    assert [(f.path, f.privilege) for f in decision.findings] == [
        (
            "spec.volumes[0].persistentVolumeClaim",
            f"volume/hostPath:{mode}/var/lib",
        )
    ]
    elsewhere = request(made, namespace="other")
    assert (await decide(folder.cluster(), engine, elsewhere)).verdict is Verdict.ALLOW


async def test_claims_cannot_be_judged_while_the_volumes_are_unknown(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """An error, and no silent yes; Pods without claims go on."""
    cluster = Watched(folder.cluster(), lost="volumes")
    made = pod(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    assert (await decide(cluster, engine, request(made))).verdict is Verdict.ERROR
    assert (await decide(cluster, engine, request(pod()))).verdict is not Verdict.ERROR
