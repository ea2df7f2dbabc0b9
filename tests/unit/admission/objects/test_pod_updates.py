"""An update is judged when it changes what is judged, and by whoever makes it."""

import copy
from typing import Any

import pytest

from core.decision.decision import Verdict
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    BOB,
    OTHER,
    Folder,
    decide,
    pod,
    request,
    rules,
    update,
)

NET: dict[str, Any] = {"hostNetwork": True}


@pytest.fixture
def cluster(folder: Folder) -> Watched:
    """A cluster in which researchers, but not Bob, may have the network of the node."""
    folder.profile("net", 20, "host/network").grant("Group:researchers", "net")
    return Watched(folder.cluster())


def changed(**metadata: Any) -> dict[str, Any]:
    """Return a Pod with the network of the node and this metadata."""
    made = pod(**NET)
    made["metadata"] |= metadata
    return made


@pytest.mark.parametrize(
    "made",
    [
        changed(),
        changed(labels={"a": "b"}),
        changed(annotations={"a": "b"}),
        changed(finalizers=["x/y"]),
        pod(**NET, terminationGracePeriodSeconds=5),
        pod(**NET, activeDeadlineSeconds=60),
    ],
)
async def test_update_of_what_is_not_judged_is_admitted_without_asking(
    engine: EmbeddedEngine, cluster: Watched, made: dict[str, Any]
) -> None:
    """Though its maker may not have what the Pod has: a label must remain settable."""
    decision = await decide(cluster, engine, update(made, pod(**NET), BOB))
    assert (decision.verdict, decision.profile, decision.findings) == (Verdict.ALLOW, None, [])
    assert cluster.asked == []


async def test_update_of_the_image_is_judged(engine: EmbeddedEngine, cluster: Watched) -> None:
    """Other code with the same privileges: whoever brings it must be allowed them."""
    made = pod(image=OTHER, **NET)
    by_bob = await decide(cluster, engine, update(made, pod(**NET), BOB))
    assert (by_bob.verdict, rules(by_bob)) == (
        Verdict.DENY,
        [("privileges/host/network", "host/network")],
    )
    by_alice = await decide(cluster, engine, update(made, pod(**NET)))
    assert (by_alice.verdict, by_alice.profile) == (Verdict.ALLOW, "net")


@pytest.mark.parametrize(
    ("made", "privilege"),
    [
        (pod(**NET, hostPID=True), "host/pid"),
        (pod(**NET, add=["SYS_ADMIN"]), "capability/SYS_ADMIN"),
        (pod(**NET, volumes=[{"name": "v", "hostPath": {"path": "/x"}}]), "volume/hostPath:rw/x"),
    ],
)
async def test_update_that_needs_more_is_refused(
    engine: EmbeddedEngine, cluster: Watched, made: dict[str, Any], privilege: str
) -> None:
    """The new state is judged whole, as if it were created."""
    decision = await decide(cluster, engine, update(made, pod(**NET)))
    assert decision.verdict is Verdict.DENY
    assert privilege in [finding.privilege for finding in decision.findings]


async def test_ephemeral_container_is_judged(engine: EmbeddedEngine, cluster: Watched) -> None:
    """`kubectl debug` is an update of the subresource that brings a container."""
    good = copy.deepcopy(pod()["spec"]["containers"][0]) | {"name": "debug"}
    bad = good | {"securityContext": {"privileged": True}}
    fine = pod(ephemeralContainers=[good])
    more: dict[str, Any] = {"subresource": "ephemeralcontainers"}
    allowed = await decide(cluster, engine, update(fine, pod(), BOB, **more))
    assert (allowed.verdict, allowed.profile) == (Verdict.ALLOW, "pss-restricted")
    refused = await decide(cluster, engine, update(pod(ephemeralContainers=[bad]), pod(), **more))
    assert refused.verdict is Verdict.DENY
    assert {
        (finding.path.partition("]")[0], finding.container) for finding in refused.findings
    } == {("spec.ephemeralContainers[0", "debug")}


async def test_second_ephemeral_container_is_judged_with_the_first(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """What is there already still counts: nobody adds to a Pod that they may not have."""
    debug = copy.deepcopy(pod()["spec"]["containers"][0]) | {"name": "debug"}
    old = pod(ephemeralContainers=[debug], **NET)
    made = pod(ephemeralContainers=[debug, debug | {"name": "debug-2"}], **NET)
    decision = await decide(cluster, engine, update(made, old, BOB))
    assert decision.verdict is Verdict.DENY


async def test_mount_that_makes_a_host_path_writable_is_judged(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A later container may mount for writing what the others only read."""
    folder.profile("logs", 20, "volume/hostPath:ro/var/log").grant("Group:researchers", "logs")
    cluster = folder.cluster()
    old = pod(volumes=[{"name": "v", "hostPath": {"path": "/var/log"}}])
    container = old["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "v", "mountPath": "/v", "readOnly": True}]
    assert (await decide(cluster, engine, request(old))).profile == "logs"
    debug = container | {"name": "debug", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    made = copy.deepcopy(old)
    made["spec"]["ephemeralContainers"] = [debug]
    decision = await decide(cluster, engine, update(made, old))
    assert rules(decision) == [("privileges/volume/host_path", "volume/hostPath:rw/var/log")]


async def test_update_without_the_old_object_is_judged(
    engine: EmbeddedEngine, cluster: Watched
) -> None:
    """Nothing is taken to be unchanged that is not shown to be."""
    decision = await decide(cluster, engine, update(pod(**NET), None, BOB))
    assert decision.verdict is Verdict.DENY


@pytest.mark.parametrize("name", ["net", "pss-privileged"])
async def test_update_of_the_noted_profile_is_judged(
    engine: EmbeddedEngine, cluster: Watched, name: str
) -> None:
    """The note is what a later update is judged by: only who may use the profile may write it."""
    noted = changed(annotations={"sallyport.dev/profile": name})
    by_bob = await decide(cluster, engine, update(noted, pod(**NET), BOB))
    assert (by_bob.verdict, [rule for rule, _ in rules(by_bob)]) == (
        Verdict.DENY,
        ["profiles/named"],
    )
