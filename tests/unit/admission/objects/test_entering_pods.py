"""Entering what runs: one profile of the visitor's own must cover the way in and the Pod."""

from typing import Any

import pytest

from core.decision.decision import Verdict
from core.decision.namespaces import Mode
from core.decision.request import Kind, Operation, Request
from core.people.subject import Subject
from core.profiles.container_profiles import CATALOGUE
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import ALICE, BOB, Folder, decide, pod, request

EXEC = {"stdin": True, "tty": True, "container": "trainer", "command": ["bash"]}
SHELL = {"exec/interactive", "exec/command/bash"}


def connect(kind: str, options: dict[str, Any], subject: Subject = ALICE, **more: Any) -> Request:
    """Return a CONNECT of one kind of options to the Pod llama-0, or to what `more` names."""
    return request(
        {"kind": kind, "apiVersion": "v1", **options},
        subject,
        operation=Operation.CONNECT,
        kind=Kind(kind, "v1"),
        **more,
    )


def shell(subject: Subject = ALICE, **more: Any) -> Request:
    """Return `kubectl exec -it llama-0 -- bash`."""
    return connect("PodExecOptions", EXEC, subject, subresource="exec", **more)


@pytest.fixture
def train(folder: Folder) -> Folder:
    """A Pod that needs nothing, and one that is privileged; Alice may enter the first."""
    folder.documents.clear()
    folder.add_pod(pod())
    privileged = pod(hostNetwork=True)
    privileged["metadata"]["name"] = "agent-0"
    folder.add_pod(privileged)
    folder.profile("visitor", 10, *SHELL, catalogue=CATALOGUE)
    folder.profile(
        "agents", 20, "host/network", "run-as/host-users", "exec/**", catalogue=CATALOGUE
    )
    return folder.grant("User:alice@example.com", "visitor", namespace="train")


async def test_own_pods_may_be_entered(train: Folder, engine: EmbeddedEngine) -> None:
    """One profile covers the session and the Pod."""
    decision = await decide(train.cluster(), engine, shell())
    assert decision.verdict is Verdict.ALLOW
    assert decision.profile == "visitor"


async def test_a_pod_that_needs_more_is_closed(train: Folder, engine: EmbeddedEngine) -> None:
    """The right to a session is not the right to the node's network; the words say so."""
    decision = await decide(train.cluster(), engine, shell(name="agent-0"))
    assert decision.verdict is Verdict.DENY
    needs = {finding.privilege: finding for finding in decision.findings}
    assert set(needs) == {"host/network"}
    assert needs["host/network"].path == "spec.hostNetwork of Pod agent-0"
    assert "Enter Pods that a profile of yours covers" in needs["host/network"].remedy
    assert decision.message.startswith("Exec into Pod train/agent-0: It needs 1 privilege")
    assert "Entering a Pod takes one profile of your own" in decision.message


async def test_two_profiles_do_not_add_up(train: Folder, engine: EmbeddedEngine) -> None:
    """One that covers the Pod and one that covers the session: neither covers both."""
    train.profile("host", 30, "host/network", "run-as/host-users", catalogue=CATALOGUE)
    train.grant("User:alice@example.com", "host", namespace="train")
    decision = await decide(train.cluster(), engine, shell(name="agent-0"))
    assert decision.verdict is Verdict.DENY


async def test_the_pods_own_profile_opens_nothing(train: Folder, engine: EmbeddedEngine) -> None:
    """What the Pod was admitted under, and what its service account may use, count for nothing."""
    noted = pod(annotations={"sallyport.dev/profile": "agents"}, hostNetwork=True)
    noted["metadata"]["name"] = "noted-0"
    train.add_pod(noted)
    train.grant("ServiceAccount:train/default", "agents", namespace="train")
    decision = await decide(train.cluster(), engine, shell(name="noted-0"))
    assert decision.verdict is Verdict.DENY
    train.grant("User:bob@example.com", "agents", namespace="train")
    decision = await decide(train.cluster(), engine, shell(BOB, name="noted-0"))
    assert decision.verdict is Verdict.ALLOW


async def test_the_pods_own_profile_closes_nothing(train: Folder, engine: EmbeddedEngine) -> None:
    """A Pod noted under a profile without sessions is entered by whoever has a wider one."""
    train.profile("closed", 5, catalogue=CATALOGUE)
    noted = pod(annotations={"sallyport.dev/profile": "closed"})
    noted["metadata"]["name"] = "noted-0"
    train.add_pod(noted)
    decision = await decide(train.cluster(), engine, shell(name="noted-0"))
    assert decision.verdict is Verdict.ALLOW


async def test_the_ceiling_holds(train: Folder, engine: EmbeddedEngine) -> None:
    """No right exceeds the namespace's ceiling, also on the way in."""
    train.namespace("train", ceiling="closed")
    decision = await decide(train.cluster(), engine, shell())
    assert decision.verdict is Verdict.DENY


@pytest.mark.parametrize(("mode", "warns"), [(Mode.WARN, True), (Mode.AUDIT, False)])
async def test_modes_hold(
    train: Folder, engine: EmbeddedEngine, mode: Mode, *, warns: bool
) -> None:
    """A namespace that warns or records lets in."""
    decision = await decide(train.cluster(), engine, shell(name="agent-0"), mode=mode)
    assert decision.allowed
    assert bool(decision.warnings) is warns


async def test_no_pod_is_left_to_kube_apiserver(train: Folder, engine: EmbeddedEngine) -> None:
    """Its 404 says it best."""
    decision = await decide(train.cluster(), engine, shell(name="gone-0"))
    assert decision.verdict is Verdict.ALLOW
    assert "no such Pod" in decision.evidence.left_alone


async def test_a_pod_that_cannot_be_got_is_an_error(train: Folder, engine: EmbeddedEngine) -> None:
    """Refused, and told apart from a denial."""
    decision = await decide(Watched(train.cluster(), lost="pods"), engine, shell())
    assert decision.verdict is Verdict.ERROR
    assert decision.error_kind == "pod"
    assert not decision.allowed


@pytest.mark.parametrize(
    ("asked", "privileges"),
    [
        (connect("PodExecOptions", {"command": ["nvidia-smi"]}, BOB), {"exec/command/nvidia-smi"}),
        (connect("PodExecOptions", {"command": ["/usr/bin/id"]}, BOB), {"exec/command/id"}),
        (
            connect("PodExecOptions", {"command": ["/usr/bin/../../tmp/id"]}, BOB),
            {"exec/command/%2Fusr%2Fbin%2F..%2F..%2Ftmp%2Fid"},
        ),
        (connect("PodExecOptions", {"command": ["./id"]}, BOB), {"exec/command/.%2Fid"}),
        (connect("PodExecOptions", {"command": ["*"]}, BOB), {"exec/command/%2A"}),
        (connect("PodExecOptions", {"command": [".."]}, BOB), {"exec/command/%2E%2E"}),
        (connect("PodExecOptions", {}, BOB), {"exec/command/%00"}),
        (
            connect("PodExecOptions", {"command": ["sh", "-c", "nvidia-smi"]}, BOB),
            {"exec/code/sh", "exec/command/sh"},
        ),
        (
            connect("PodExecOptions", {"command": ["/opt/conda/bin/python3.12", "-c", "1"]}, BOB),
            {"exec/code/python", "exec/command/%2Fopt%2Fconda%2Fbin%2Fpython3.12"},
        ),
        (
            connect(
                "PodExecOptions", {"command": ["tar", "cf", "-", "/weights"], "stdin": False}, BOB
            ),
            {"exec/code/tar", "exec/command/tar"},
        ),
        (connect("PodAttachOptions", {"stdin": True}, BOB), {"attach/interactive"}),
        (connect("PodAttachOptions", {"stdout": True}, BOB), {"attach/output"}),
        (connect("PodPortForwardOptions", {"ports": [8888]}, BOB), {"port-forward/any"}),
        (connect("PodProxyOptions", {"path": "/"}, BOB, name="llama-0:8888"), {"proxy/pod/8888"}),
        (connect("PodProxyOptions", {}, BOB, name="https:llama-0:"), {"proxy/pod/%00"}),
        (connect("ServiceProxyOptions", {}, BOB, name="web:http"), {"proxy/service/http"}),
        (
            connect(
                "NodeProxyOptions", {"path": "/metrics/cadvisor"}, BOB, name="gpu-7", namespace=""
            ),
            {"proxy/node/kubelet/metrics"},
        ),
        (
            connect(
                "NodeProxyOptions",
                {"path": "/metrics/../exec/train/llama-0/trainer"},
                BOB,
                name="gpu-7",
                namespace="",
            ),
            {"proxy/node/kubelet/exec"},
        ),
        (
            connect(
                "NodeProxyOptions",
                {"path": "//run//x"},
                BOB,
                name="https:gpu-7:10250",
                namespace="",
            ),
            {"proxy/node/10250/run"},
        ),
    ],
)
async def test_each_way_in_has_its_privileges(
    train: Folder,
    engine: EmbeddedEngine,
    asked: Request,
    privileges: set[str],
) -> None:
    """Whoever has no profile is told exactly what the way in takes, beside the Pod's own need."""
    decision = await decide(train.cluster(), engine, asked)
    assert decision.verdict is Verdict.DENY
    found = {need.privilege for need in decision.evidence.needs}
    assert {each for each in found if not each.startswith("image/")} == privileges


@pytest.mark.parametrize("name", ["a:b:c:d", ":8080", "ftp:llama-0:21", ""])
async def test_a_name_that_kube_apiserver_refuses_is_an_error(
    train: Folder, engine: EmbeddedEngine, name: str
) -> None:
    """It is none of the three forms, so nobody knows whom it reaches."""
    decision = await decide(train.cluster(), engine, connect("PodProxyOptions", {}, name=name))
    assert decision.verdict is Verdict.ERROR


async def test_unreadable_options_are_an_error(train: Folder, engine: EmbeddedEngine) -> None:
    """A command that is no list is never a command that needs nothing."""
    asked = connect("PodExecOptions", {"command": "bash"})
    assert (await decide(train.cluster(), engine, asked)).verdict is Verdict.ERROR


@pytest.mark.parametrize("broken", ["old", "new"])
async def test_an_unreadable_approval_is_an_error(
    train: Folder, engine: EmbeddedEngine, broken: str
) -> None:
    """Conditions that are no list never pass for an approval that was there before."""
    sound: dict[str, Any] = {"spec": {"signerName": "example.com/a"}, "status": {}}
    unreadable = {**sound, "status": {"conditions": "Approved"}}
    asked = request(
        unreadable if broken == "new" else sound,
        BOB,
        old=unreadable if broken == "old" else sound,
        operation=Operation.UPDATE,
        kind=Kind("CertificateSigningRequest", "v1", "certificates.k8s.io"),
        subresource="approval",
        namespace="",
    )
    decision = await decide(train.cluster(), engine, asked)
    assert (decision.verdict, decision.field) == (Verdict.ERROR, "status.conditions")
