"""What is not judged is admitted without asking anything of the cluster."""

import pytest

from core.decision.decision import Decision, Verdict, WhenUnrecorded
from core.decision.request import Kind, Operation
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    ALICE,
    BOB,
    ID,
    NAMESPACE,
    POD,
    Folder,
    decide,
    pod,
    request,
    rules,
    without_evidence,
)

NODE = Subject("system:node:n0", groups=["system:nodes", "system:authenticated"])
BAD = pod(hostNetwork=True, hostPID=True)
MIRROR = pod(hostNetwork=True, annotations={"kubernetes.io/config.mirror": "f00"})


def admitted(engine: EmbeddedEngine, cluster: Watched) -> Decision:
    """Return the whole decision on what is left alone."""
    return Decision(
        id=ID,
        verdict=Verdict.ALLOW,
        allowed=True,
        policy_revision=engine.revision,
        profiles_revision=cluster.profiles().revision,
        when_unrecorded=WhenUnrecorded.ADMIT,
    )


@pytest.mark.parametrize(
    "kind",
    [
        Kind("ConfigMap", "v1"),
        Kind("Eviction", "v1", "policy"),
        Kind("HorizontalPodAutoscaler", "v2", "autoscaling"),
        Kind("ContainerProfile", "v1alpha1", "sallyport.dev"),
    ],
)
@pytest.mark.parametrize("operation", Operation)
async def test_other_kinds_are_admitted(
    engine: EmbeddedEngine, folder: Folder, kind: Kind, operation: Operation
) -> None:
    """Kubernetes' own that carry no Pods, and Sallyport's; whatever stands in them."""
    cluster = Watched(folder.cluster())
    asked = request(BAD, BOB, operation=operation, kind=kind)
    decision = await decide(cluster, engine, asked)
    assert without_evidence(decision) == admitted(engine, cluster)
    assert decision.evidence.left_alone
    assert cluster.asked == []


@pytest.mark.parametrize("kind", [POD, NAMESPACE])
@pytest.mark.parametrize("operation", [Operation.DELETE, Operation.CONNECT])
@pytest.mark.parametrize("made", [BAD, None, b"["])
async def test_deleting_and_connecting_are_admitted(
    engine: EmbeddedEngine, folder: Folder, kind: Kind, operation: Operation, made: object
) -> None:
    """A bad Pod can be taken away; the object is not even read."""
    cluster = Watched(folder.cluster())
    asked = request(made, BOB, old=BAD, operation=operation, kind=kind)
    decision = await decide(cluster, engine, asked)
    assert without_evidence(decision) == admitted(engine, cluster)
    assert decision.evidence.left_alone
    assert cluster.asked == []


async def test_pod_of_an_unknown_namespace_can_be_deleted(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """What is not judged needs no mode."""
    cluster = Watched(folder.cluster(), lost="namespaces")
    asked = request(None, BOB, old=BAD, operation=Operation.DELETE)
    assert (await decide(cluster, engine, asked)).verdict is Verdict.ALLOW


async def test_mirror_pod_of_a_node_is_admitted(engine: EmbeddedEngine, folder: Folder) -> None:
    """The kubelet runs it already; the object only shows it."""
    cluster = Watched(folder.cluster())
    decision = await decide(cluster, engine, request(MIRROR, NODE))
    assert without_evidence(decision) == admitted(engine, cluster)
    assert decision.evidence.left_alone


@pytest.mark.parametrize(("made", "subject"), [(MIRROR, ALICE), (BAD, NODE)])
async def test_pretended_mirror_pod_is_judged(
    engine: EmbeddedEngine, folder: Folder, made: object, subject: Subject
) -> None:
    """A person with the annotation, a node without it."""
    decision = await decide(folder.cluster(), engine, request(made, subject))
    assert decision.verdict is Verdict.DENY
    assert ("privileges/host/network", "host/network") in rules(decision)
