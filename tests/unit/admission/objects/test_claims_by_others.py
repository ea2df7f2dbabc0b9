"""Claims and bindings that Kubernetes makes for others: whose right counts, of which volumes."""

from pathlib import Path
from typing import Any

import pytest

from core.decision.decision import Decision, Verdict
from core.decision.request import Kind, Operation
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ALICE, Folder, decide, pod, request

CLAIM = Kind("PersistentVolumeClaim", "v1")
VOLUME = Kind("PersistentVolume", "v1")
CSI = {"csi": {"driver": "host.example.com"}}
WRITES = "volume/hostPath:rw/var/lib"
ATTACHES = "volume/csi/host.example.com"


@pytest.fixture
def bare(tmp_path: Path) -> Folder:
    """A cluster in which nobody may use anything that covers a volume."""
    folder = Folder(tmp_path / "bare").profile("bare", 5)
    return folder.grant("User:alice@example.com", "bare")


def controller(name: str) -> Subject:
    """Return one of Kubernetes' controllers."""
    return Subject(f"system:serviceaccount:kube-system:{name}")


def volume(name: str, source: dict[str, Any], claim: str = "") -> dict[str, Any]:
    """Return a PersistentVolume; `claim` is one of `train` that it is kept for."""
    kept = {"claimRef": {"namespace": "train", "name": claim}} if claim else {}
    spec = {**source, **kept}
    metadata = {"name": name}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def host_path(path: str = "/var/lib", **more: str) -> dict[str, Any]:
    """Return the source of a volume."""
    return {"hostPath": {"path": path, **more}}


def found(decision: Decision) -> list[tuple[str, str]]:
    """Return where volumes were found, and the privileges."""
    privileges = [(finding.path, finding.privilege or "") for finding in decision.findings]
    return [each for each in privileges if each[1].startswith("volume/")]


def mounting(source: dict[str, Any], *, read_only: bool = False) -> dict[str, Any]:
    """Return a Pod that mounts one volume."""
    made = pod(volumes=[{"name": "d", **source}])
    mount = {"name": "d", "mountPath": "/d", "readOnly": read_only}
    made["spec"]["containers"][0]["volumeMounts"] = [mount]
    return made


@pytest.mark.parametrize(("source", "privilege"), [(host_path(), WRITES), (CSI, ATTACHES)])
async def test_an_ephemeral_volume_that_names_a_volume_takes_it(
    source: dict[str, Any], privilege: str, bare: Folder, engine: EmbeddedEngine
) -> None:
    """The Pod's author needs what a claim by that name would need; the claim then needs nothing."""
    bare.documents.append(volume("x", source))
    template = {"spec": {"volumeName": "x"}}
    made = mounting({"ephemeral": {"volumeClaimTemplate": template}})
    decision = await decide(bare.cluster(), engine, request(made))
    assert found(decision) == [("spec.volumes[0].ephemeral.volumeClaimTemplate", privilege)]
    asked = request(template, controller("ephemeral-volume-controller"), kind=CLAIM, name="p-d")
    assert (await decide(bare.cluster(), engine, asked)).verdict is Verdict.ALLOW


async def test_an_ephemeral_volume_gets_what_is_kept_for_its_claim(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """The claim is named after Pod and volume; of another Pod it is another claim."""
    made = mounting({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
    made["metadata"]["name"] = "trainer"
    folder.documents.append(volume("x", host_path(), "trainer-d"))
    decision = await decide(folder.cluster(), engine, request(made))
    assert found(decision) == [("spec.volumes[0].ephemeral.volumeClaimTemplate", WRITES)]
    made["metadata"]["name"] = "other"
    assert (await decide(folder.cluster(), engine, request(made))).verdict is Verdict.ALLOW


@pytest.mark.parametrize("name", ["statefulset-controller", "job-controller"])
async def test_a_workloads_claim_needs_the_right_of_the_default_account(
    name: str, bare: Folder, engine: EmbeddedEngine
) -> None:
    """The controller's own rights never count, not even to provision."""
    bare.documents.append(volume("x", CSI))
    bare.profile("provisioner", 1, ATTACHES)
    bare.grant(f"ServiceAccount:kube-system/{name}", "provisioner")
    asked = request({"spec": {"volumeName": "x"}}, controller(name), kind=CLAIM, name="d-0")
    decision = await decide(bare.cluster(), engine, asked)
    assert found(decision) == [("spec.volumeName", ATTACHES)]
    assert decision.subjects == ["system:serviceaccount:train:default"]
    bare.grant("ServiceAccount:train/default", "provisioner", namespace="train")
    assert (await decide(bare.cluster(), engine, asked)).verdict is Verdict.ALLOW


async def test_a_manager_under_its_own_name_is_no_way_around(
    bare: Folder, engine: EmbeddedEngine
) -> None:
    """Where all controllers share one name, a claim that it makes may be a workload's."""
    bare.documents.append(volume("x", CSI))
    manager = Subject("system:kube-controller-manager")
    made: dict[str, Any] = {"spec": {"volumeName": "x"}}
    asked = request(made, manager, kind=CLAIM, name="d-0")
    assert (await decide(bare.cluster(), engine, asked)).verdict is Verdict.DENY
    bound = request(
        made, manager, old={"spec": {}}, operation=Operation.UPDATE, kind=CLAIM, name="d-0"
    )
    assert (await decide(bare.cluster(), engine, bound)).verdict is Verdict.ALLOW


@pytest.mark.parametrize(("source", "allowed"), [(CSI, True), (host_path(), False)])
async def test_the_scheduler_binds_as_the_binder_does(
    source: dict[str, Any], bare: Folder, engine: EmbeddedEngine, *, allowed: bool
) -> None:
    """Where a class waits for a Pod it is the scheduler that hands the volume out."""
    asked = request(
        volume("x", source, "data"),
        Subject("system:kube-scheduler"),
        old=volume("x", source),
        operation=Operation.UPDATE,
        kind=VOLUME,
        namespace="",
        name="x",
    )
    decision = await decide(bare.cluster(), engine, asked)
    assert decision.allowed is allowed
    assert decision.subjects in ([], ["system:serviceaccount:train:default"])


@pytest.mark.parametrize(("source", "privilege"), [(host_path(), WRITES), (CSI, ATTACHES)])
async def test_another_claim_of_the_same_namespace_is_another_gift(
    source: dict[str, Any], privilege: str, bare: Folder, engine: EmbeddedEngine
) -> None:
    """Whoever moves a volume from claim to claim needs the privilege."""
    asked = request(
        volume("x", source, "mine"),
        ALICE,
        old=volume("x", source, "theirs"),
        operation=Operation.UPDATE,
        kind=VOLUME,
        namespace="",
        name="x",
    )
    decision = await decide(bare.cluster(), engine, asked)
    assert [found_privilege for _, found_privilege in found(decision)] == [privilege]


async def test_all_volumes_kept_for_a_claim_are_judged(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """None hides another: which of them the claim is bound to is not known."""
    folder.documents += [volume("a", host_path("/a"), "data"), volume("b", host_path("/"), "data")]
    made = mounting({"persistentVolumeClaim": {"claimName": "data"}})
    decision = await decide(folder.cluster(), engine, request(made))
    wanted = {"volume/hostPath:rw/a", "volume/hostPath:rw/%2F"}
    assert {finding.privilege for finding in decision.findings} == wanted


@pytest.mark.parametrize(
    ("of_type", "mode"),
    [("", "ro"), ("Directory", "ro"), ("DirectoryOrCreate", "rw"), ("Socket", "rw")],
)
async def test_what_the_kubelet_makes_is_written_through_a_claim_too(
    of_type: str, mode: str, folder: Folder, engine: EmbeddedEngine
) -> None:
    """A type of path that no read-only mount makes harmless counts as in a Pod's own volume."""
    folder.documents.append(volume("x", host_path(type=of_type), "data"))
    claimed = mounting({"persistentVolumeClaim": {"claimName": "data"}}, read_only=True)
    plain = mounting(host_path(type=of_type), read_only=True)
    for made in (claimed, plain):
        decision = await decide(folder.cluster(), engine, request(made))
        assert [f.privilege for f in decision.findings] == [f"volume/hostPath:{mode}/var/lib"]
