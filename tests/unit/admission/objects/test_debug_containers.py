"""Debug containers: who adds one needs its image's privilege, and no more than it takes."""

from typing import Any

import pytest

from core.decision.decision import Verdict
from core.decision.request import Operation, Request
from core.people.subject import Subject
from core.profiles.container_profiles import CATALOGUE
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ALICE, BOB, Folder, decide, pod, request

DEBUGGER = {
    "name": "debugger",
    "image": f"registry.example/tools@sha256:{64 * 'c'}",
    "targetContainerName": "trainer",
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    },
}


def debug(subject: Subject = ALICE, old: dict[str, Any] | None = None, **more: Any) -> Request:
    """Return `kubectl debug llama-0`; `more` are fields of the debug container."""
    before = old or pod()
    after = pod()
    after["metadata"] = before["metadata"]
    after["spec"]["ephemeralContainers"] = [{**DEBUGGER, **more}]
    return request(
        after,
        subject,
        old=before,
        operation=Operation.UPDATE,
        subresource="ephemeralcontainers",
    )


@pytest.fixture
def train(folder: Folder) -> Folder:
    """Alice may use a profile that knows all ways in but debug containers."""
    folder.documents.clear()
    folder.profile("visitor", 10, "exec/**", "attach/**", catalogue=CATALOGUE)
    return folder.grant("User:alice@example.com", "visitor", namespace="train")


async def test_a_debug_container_takes_its_image_and_its_target(
    train: Folder, engine: EmbeddedEngine
) -> None:
    """The image's privilege is `debug/` and where it comes from; RBAC alone is not enough."""
    decision = await decide(train.cluster(), engine, debug())
    assert decision.verdict is Verdict.DENY
    assert {finding.privilege for finding in decision.findings} == {
        "debug/registry.example/tools",
        "debug/target",
    }


async def test_a_debugger_needs_the_right_alone(train: Folder, engine: EmbeddedEngine) -> None:
    """Neither the Pod's account nor the profile noted on it stands in the way."""
    train.profile("closed", 5, catalogue=CATALOGUE)
    train.profile("debuggers", 30, "debug/registry.example/*", "debug/target", catalogue=CATALOGUE)
    train.grant("User:bob@example.com", "debuggers", namespace="train")
    owned = pod(annotations={"sallyport.dev/profile": "closed"}, owner=("apps/v1", "ReplicaSet"))
    decision = await decide(train.cluster(), engine, debug(BOB, owned))
    assert decision.verdict is Verdict.ALLOW
    assert decision.profile == "debuggers"


async def test_a_debug_container_is_judged_as_any(train: Folder, engine: EmbeddedEngine) -> None:
    """The right to debug brings no capability along."""
    train.profile("debuggers", 30, "debug/**", catalogue=CATALOGUE)
    train.grant("User:bob@example.com", "debuggers", namespace="train")
    context = {"securityContext": {"capabilities": {"add": ["SYS_PTRACE"], "drop": ["ALL"]}}}
    decision = await decide(train.cluster(), engine, debug(BOB, **context))
    assert decision.verdict is Verdict.DENY
    assert "capability/SYS_PTRACE" in {finding.privilege for finding in decision.findings}


async def test_what_was_added_before_is_not_asked_again(
    train: Folder, engine: EmbeddedEngine
) -> None:
    """A second debug container takes its own image's privilege alone."""
    train.profile(
        "debuggers", 30, "debug/registry.example/other", "debug/target", catalogue=CATALOGUE
    )
    train.grant("User:bob@example.com", "debuggers", namespace="train")
    before = pod()
    before["spec"]["ephemeralContainers"] = [DEBUGGER]
    after = pod()
    second = {**DEBUGGER, "name": "second", "image": f"registry.example/other@sha256:{64 * 'd'}"}
    after["spec"]["ephemeralContainers"] = [DEBUGGER, second]
    asked = request(
        after, BOB, old=before, operation=Operation.UPDATE, subresource="ephemeralcontainers"
    )
    assert (await decide(train.cluster(), engine, asked)).verdict is Verdict.ALLOW
