"""Ways that are hidden among others, or that come to a volume after it was judged."""

from typing import Any

import pytest

from core.decision.request import Kind, Operation
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.weights.weights_cluster import (
    STORE,
    Object,
    approved,
    claiming,
    decide,
    grant,
    mounting,
    rules,
    volume,
    world,
)
from tests.unit.admission.world import ALICE, Folder, pod, request
from tests.unit.core.kubernetes.workload_samples import wrapped

GRANT = {"weights/grant"}
JOB_SET = ("jobset.x-k8s.io", "JobSet")
PV = Kind("PersistentVolume", "v1")


def store(name: str, account: str, count: int) -> Object:
    """Return a store of many containers, open to the network."""
    held = [{"name": f"part-{each}"} for each in range(count)]
    spec = STORE["spec"] | {"account": account, "containers": held, "privateEndpoints": None}
    fields = {key: value for key, value in spec.items() if value is not None}
    return {**STORE, "metadata": {"name": name, "uid": name}, "spec": fields}


def mount(name: str, account: str, container: str) -> Object:
    """Return a volume by workload identity, of one that opens no store."""
    said = {"storageAccount": account, "containerName": container, "clientID": "x"}
    driven = {"driver": "blob.csi.azure.com", "volumeAttributes": said}
    return {"name": name, "csi": driven}


async def test_no_store_hides_behind_many_others(engine: EmbeddedEngine, folder: Folder) -> None:
    """Sixty-four granted ways of one store, and one more of another that nobody granted."""
    crowd, secret = store("crowd", "crowdweights", 64), store("secret", "secretweights", 1)
    granted = grant("crowd", store="crowd")
    world(folder, crowd, secret, *approved(granted), store=None)
    cluster = folder.cluster()
    many = [mount(f"m{each}", "crowdweights", f"part-{each}") for each in range(64)]
    made = pod(serviceAccountName="trainer", volumes=many)
    assert not rules(await decide(cluster, engine, request(made)))
    made = pod(serviceAccountName="trainer", volumes=[*many, mount("s", "secretweights", "part-0")])
    decision = await decide(cluster, engine, request(made))
    assert rules(decision) == GRANT
    assert "WeightStore secret" in decision.message


@pytest.mark.parametrize("change", [{"mountOptions": ["--container-name=prod"]}, {}])
async def test_a_volume_does_not_turn_into_one_of_weights(
    engine: EmbeddedEngine, folder: Folder, change: dict[str, Any]
) -> None:
    """Mount options can be changed while Pods that were judged before wait to mount it."""
    before = volume()
    before["spec"]["csi"]["volumeAttributes"]["containerName"] = "scratch"
    after = {**before, "spec": before["spec"] | change}
    cluster = world(folder, before).cluster()
    asked = request(after, ALICE, old=before, kind=PV, name="weights", operation=Operation.UPDATE)
    assert rules(await decide(cluster, engine, asked)) == ({"weights/volume"} if change else set())


async def test_a_volume_whose_options_name_weights_needs_a_grant(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """By its claim, and where a Pod writes the volume itself."""
    bound = volume()
    bound["spec"]["csi"]["volumeAttributes"]["containerName"] = "scratch"
    bound["spec"]["mountOptions"] = ["-o allow_other", "--container-name=prod"]
    cluster = world(folder, bound).cluster()
    assert rules(await decide(cluster, engine, request(claiming()))) == GRANT
    inline = mounting(containerName="scratch", mountOptions="--container-name=prod")
    assert rules(await decide(cluster, engine, request(inline))) == GRANT
    assert not rules(await decide(cluster, engine, request(mounting(containerName="scratch"))))


async def test_a_workload_of_ten_thousand_ways_takes_grants_of_all_stores(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """It is answered at once, and not looked at for longer than a gang of honest ones."""
    secret = store("secret", "secretweights", 1)
    world(folder, secret, *approved(grant()))
    many = [mount(f"m{each}", "llamaweights", "prod") for each in range(1000)]
    made = wrapped(JOB_SET, {"spec": pod(serviceAccountName="trainer", volumes=many)["spec"]})
    made["spec"]["replicatedJobs"] *= 11
    asked = request(made, kind=Kind(JOB_SET[1], "v1alpha2", JOB_SET[0]))
    decision = await decide(folder.cluster(), engine, asked)
    assert rules(decision) == GRANT
    assert "WeightStore secret" in decision.message
