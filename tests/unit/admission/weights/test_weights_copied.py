"""Copies of claims that show weights: clones and snapshots, however a claim names them."""

from typing import Any

import pytest

from admission.weights.volumes import copy_findings
from core.base.errors import NotSyncedError
from core.decision.decision import Verdict
from core.decision.request import Kind, Operation, Request
from core.kubernetes.persistent_volumes import PersistentVolume, parse_persistent_volume
from core.weights.access_paths import WeightStoreSet
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.weights.weights_cluster import (
    STORE,
    Object,
    approved,
    decide,
    grant,
    rules,
    volume,
    world,
)
from tests.unit.admission.world import ALICE, Folder, raw, request

COPY = {"weights/copy"}
PVC = Kind("PersistentVolumeClaim", "v1")
SNAPSHOT = Kind("VolumeSnapshot", "v1", "snapshot.storage.k8s.io")
WEIGHTS = {"kind": "PersistentVolumeClaim", "name": "weights"}
GROUP = Kind("VolumeGroupSnapshot", "v1beta2", "groupsnapshot.storage.k8s.io")
RESTORED = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "old"}


def claim(**spec: Any) -> Object:
    """Return a claim that is to be provisioned."""
    metadata = {"name": "copy", "namespace": "train"}
    return {"apiVersion": "v1", "kind": PVC.kind, "metadata": metadata, "spec": spec}


def snapshot(of: str) -> Object:
    """Return a snapshot of a claim."""
    metadata = {"name": "copy", "namespace": "train"}
    spec = {"source": {"persistentVolumeClaimName": of}}
    return {"metadata": metadata, "spec": spec} | {"kind": SNAPSHOT.kind}


def group(**source: Any) -> Object:
    """Return a snapshot of all claims that a selector chooses."""
    return {"metadata": {"name": "copy"}, "kind": GROUP.kind, "spec": {"source": source}}


def asks(made: Object, namespace: str = "train", **more: Any) -> Request:
    """Return the request that makes it."""
    kind = {SNAPSHOT.kind: SNAPSHOT, GROUP.kind: GROUP}.get(made["kind"], PVC)
    return request(made, ALICE, namespace=namespace, kind=kind, name="copy", **more)


def plain(claim_: str) -> Object:
    """Return a volume of a disk."""
    made = volume(claim_, name=claim_.replace("/", "-"))
    made["spec"]["csi"] = {"driver": "disk.csi.azure.com", "volumeHandle": claim_}
    return made


def copying(folder: Folder, *items: Object, store: Object | None = STORE) -> Folder:
    """Return a world with a claim of weights and one of a disk in train; a disk elsewhere."""
    disks = (plain("train/disk"), plain("other/disk"))
    return world(folder, volume(), *disks, *items, store=store)


@pytest.mark.parametrize(
    ("made", "namespace"),
    [
        (claim(dataSource=WEIGHTS), "train"),
        (claim(dataSource=WEIGHTS | {"apiGroup": ""}), "train"),
        (claim(dataSourceRef=WEIGHTS), "train"),
        (claim(dataSource=None, dataSourceRef=WEIGHTS | {"namespace": "train"}), "other"),
        (snapshot("weights"), "train"),
    ],
)
async def test_no_claim_of_weights_is_copied(
    engine: EmbeddedEngine, folder: Folder, made: Object, namespace: str
) -> None:
    """Whoever asks, with a grant too: what it is copied into is of no store."""
    cluster = copying(folder, *approved(grant())).cluster()
    decision = await decide(cluster, engine, asks(made, namespace))
    assert (rules(decision), decision.verdict) == (COPY, Verdict.DENY)
    assert "shows the weights of llama" in decision.message


@pytest.mark.parametrize(
    ("source", "namespace", "refused"),
    [
        (RESTORED, "train", True),
        ({"apiGroup": "populators.example", "kind": "Image", "name": "x"}, "train", True),
        ({"apiGroup": "x.example", "kind": "PersistentVolumeClaim", "name": "disk"}, "train", True),
        (RESTORED, "other", False),
        (RESTORED | {"namespace": "train"}, "other", True),
    ],
)
async def test_what_nobody_knows_may_be_of_the_namespaces_weights(
    engine: EmbeddedEngine, folder: Folder, source: Object, namespace: str, *, refused: bool
) -> None:
    """A snapshot does not say of which claim it is; where no claim shows weights it is of none."""
    cluster = copying(folder).cluster()
    decision = await decide(cluster, engine, asks(claim(dataSourceRef=source), namespace))
    assert rules(decision) == (COPY if refused else set())
    assert decision.allowed is not refused


@pytest.mark.parametrize("made", [claim(dataSource=WEIGHTS | {"name": "later"}), snapshot("later")])
async def test_what_is_not_bound_yet_is_copied_later(
    engine: EmbeddedEngine, folder: Folder, made: Object
) -> None:
    """It could be bound to weights after this was judged."""
    decision = await decide(copying(folder).cluster(), engine, asks(made))
    assert rules(decision) == COPY
    assert "has no volume that is known yet" in decision.message


@pytest.mark.parametrize(
    "made",
    [
        claim(),
        claim(dataSource=None, dataSourceRef=None),
        claim(dataSource=WEIGHTS | {"name": "disk"}),
        snapshot("disk"),
        {"kind": SNAPSHOT.kind, "spec": {"source": {"volumeSnapshotContentName": "c"}}},
    ],
)
async def test_other_claims_are_copied_as_ever(
    engine: EmbeddedEngine, folder: Folder, made: Object
) -> None:
    """Beside a claim of weights too."""
    decision = await decide(copying(folder).cluster(), engine, asks(made))
    assert (decision.allowed, rules(decision)) == (True, set())


@pytest.mark.parametrize(
    "made", [claim(dataSource=WEIGHTS), claim(dataSource=RESTORED), snapshot("later")]
)
async def test_without_a_store_nothing_is_asked(
    engine: EmbeddedEngine, folder: Folder, made: Object
) -> None:
    """Whoever has no weights here clones and restores what they like, in any order."""
    decision = await decide(copying(folder, store=None).cluster(), engine, asks(made))
    assert (decision.allowed, rules(decision)) == (True, set())


async def test_a_claim_that_is_changed_is_no_copy(engine: EmbeddedEngine, folder: Folder) -> None:
    """Its source never changes; one from before the store was there may still grow."""
    made = claim(dataSource=WEIGHTS)
    grown = claim(dataSource=WEIGHTS, resources={"requests": {"storage": "2Ti"}})
    cluster = copying(folder).cluster()
    asked = asks(grown, old=made, operation=Operation.UPDATE)
    assert not rules(await decide(cluster, engine, asked))


def test_not_to_know_the_stores_is_an_error() -> None:
    """One that cannot be read may be what the claim shows; a disk is none's."""
    stores = WeightStoreSet(broken=["new"])

    def kept_in(_: str) -> list[PersistentVolume]:
        return [parse_persistent_volume(raw(each)) for each in (volume(), plain("train/disk"))]

    for source in (WEIGHTS, RESTORED):
        with pytest.raises(NotSyncedError, match="WeightStore new cannot be read"):
            copy_findings(asks(claim(dataSource=source)), kept_in, stores)
    of_disk = asks(claim(dataSource=WEIGHTS | {"name": "disk"}))
    assert not copy_findings(of_disk, kept_in, stores)


@pytest.mark.parametrize("source", [{"dataSource": "weights"}, {"dataSourceRef": {"name": 1}}])
async def test_what_has_not_its_shape_is_an_error(
    engine: EmbeddedEngine, folder: Folder, source: Object
) -> None:
    """It names the field."""
    decision = await decide(copying(folder).cluster(), engine, asks(claim(**source)))
    assert (decision.verdict, decision.allowed) == (Verdict.ERROR, False)
    assert decision.field.startswith("spec.dataSource")


@pytest.mark.parametrize("selector", [{}, {"matchLabels": {"app": "disk"}}])
async def test_no_group_that_may_hold_weights_is_copied(
    engine: EmbeddedEngine, folder: Folder, selector: Object
) -> None:
    """Which claims a selector chooses is not known: where none shows weights, it is no matter."""
    cluster = copying(folder, *approved(grant())).cluster()
    decision = await decide(cluster, engine, asks(group(selector=selector)))
    assert (rules(decision), decision.verdict) == (COPY, Verdict.DENY)
    assert "spec.source.selector: takes what a selector chooses, which may" in decision.message
    assert not rules(await decide(cluster, engine, asks(group(selector=selector), "other")))
    assert not rules(
        await decide(cluster, engine, asks(group(volumeGroupSnapshotContentName="kept")))
    )
