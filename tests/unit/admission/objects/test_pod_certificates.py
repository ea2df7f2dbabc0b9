"""A PodCertificateRequest is judged unless the node that it names makes it."""

from pathlib import Path
from typing import Any

import pytest

from core.decision.decision import Verdict
from core.decision.request import Kind, Operation, Request
from core.people.subject import Subject
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ALICE, Folder, decide, request, rules

KIND = Kind("PodCertificateRequest", "v1", "certificates.k8s.io")
RULE = "privileges/certificate/pod"
SIGNER = "example.com/mesh"
NODES = ["system:nodes", "system:authenticated"]
GPU_7 = Subject("system:node:gpu-7", groups=NODES)


def asked(subject: Subject = ALICE, **spec: Any) -> Request:
    """Return the request for the certificate of the Pod `llama-0` on the node `gpu-7`."""
    named = {"podName": "llama-0", "serviceAccountName": "trainer", "nodeName": "gpu-7"}
    made = {"metadata": {"name": "x"}, "spec": {"signerName": SIGNER, **named, **spec}}
    return request(made, subject, operation=Operation.CREATE, kind=KIND, name="x")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Alice may ask for the certificate of each Pod of the trainer, of one signer."""
    made = Folder(tmp_path / "cluster")
    made.profile("trainer", 10, f"certificate/pod/trainer/*/{SIGNER}", catalogue=4)
    return made.grant(f"User:{ALICE.username}", "trainer")


async def test_pod_certificate_is_covered_by_its_account_pod_and_signer(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A profile may leave the Pod open, and holds the rest."""
    decision = await decide(folder.cluster(), engine, asked())
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "trainer")
    for spec, privilege in (
        ({"serviceAccountName": "admin"}, f"certificate/pod/admin/llama-0/{SIGNER}"),
        (
            {"signerName": "kubernetes.io/kube-apiserver-client-pod"},
            "certificate/pod/trainer/llama-0/kubernetes.io/kube-apiserver-client-pod",
        ),
        ({"podName": "", "serviceAccountName": ""}, f"certificate/pod/%00/%00/{SIGNER}"),
        ({"podName": "a/b", "signerName": ""}, "certificate/pod/trainer/a%2Fb/%00"),
    ):
        decision = await decide(folder.cluster(), engine, asked(ALICE, **spec))
        assert rules(decision) == [(RULE, privilege)]


async def test_pod_certificate_of_the_pods_node_is_left_alone(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """As the webhook's condition leaves it."""
    decision = await decide(folder.cluster(), engine, asked(GPU_7))
    assert decision.verdict is Verdict.ALLOW
    assert decision.evidence.left_alone == "the node that runs the Pod asks for its certificate"


@pytest.mark.parametrize(
    ("subject", "node"),
    [
        (GPU_7, "gpu-8"),
        (GPU_7, ""),
        (GPU_7, "gpu-7 "),
        (Subject("system:node:gpu-7", groups=["system:authenticated"]), "gpu-7"),
        (Subject("gpu-7", groups=NODES), "gpu-7"),
        (Subject("system:node:", groups=NODES), ""),
        (Subject("system:kube-controller-manager"), "gpu-7"),
    ],
)
async def test_pod_certificate_of_any_other_requester_is_judged(
    engine: EmbeddedEngine, folder: Folder, subject: Subject, node: str
) -> None:
    """Another node, a node's name without its group, the group without the name, a component."""
    decision = await decide(folder.cluster(), engine, asked(subject, nodeName=node))
    assert decision.verdict is Verdict.DENY
    assert rules(decision) == [(RULE, f"certificate/pod/trainer/llama-0/{SIGNER}")]


@pytest.mark.parametrize(
    ("subject", "spec", "field"),
    [
        (ALICE, {"podName": 7}, "spec.podName"),
        (ALICE, {"signerName": ["a"]}, "spec.signerName"),
        (GPU_7, {"nodeName": {}}, "spec.nodeName"),
    ],
)
async def test_unreadable_pod_certificate_is_an_error(
    engine: EmbeddedEngine, folder: Folder, subject: Subject, spec: dict[str, Any], field: str
) -> None:
    """Never a request that needs nothing."""
    decision = await decide(folder.cluster(), engine, asked(subject, **spec))
    assert (decision.verdict, decision.field) == (Verdict.ERROR, field)


async def test_key_of_a_pod_certificate_is_not_kept(engine: EmbeddedEngine, folder: Folder) -> None:
    """Nor what is told to the signer."""
    secret = "Y2FuYXJ5"
    told = {"a.b/c": secret}
    made = asked(ALICE, stubPKCS10Request=secret, unverifiedUserAnnotations=told)
    decision = await decide(folder.cluster(), engine, made)
    assert secret.encode() not in decision.evidence.projection
    assert secret not in repr(decision)
