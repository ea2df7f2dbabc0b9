"""When the mutating pass notes the chosen profile on a Pod; it never refuses."""

from typing import Any

import pytest

from core.decision.decision import Verdict
from core.decision.request import Operation, Request
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import (
    ALICE,
    NAMESPACE,
    OTHER,
    Folder,
    judge_of,
    pod,
    request,
    update,
)

JOB = ("batch/v1", "Job")
NAMED = {"sallyport.dev/profile": "net"}
WHO = {"sallyport.dev/requester": ALICE.label}


def notes(profile: str) -> dict[str, str]:
    """Return the notes of ALICE under a profile."""
    return WHO | {"sallyport.dev/profile": profile}


def exposed() -> dict[str, Any]:
    """Return a Pod with a port of the node: nobody here may have it, and no back-stop holds it."""
    made = pod()
    made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    return made


@pytest.fixture
def profiles(folder: Folder) -> Folder:
    """Researchers, and the Pods of train, may use net."""
    folder.profile("net", 20, "host/network").grant("Group:researchers", "net")
    return folder.grant("ServiceAccount:train/default", "net")


@pytest.mark.parametrize(
    ("asked", "noted"),
    [
        (request(pod()), "net"),
        (request(pod(hostNetwork=True)), "net"),
        (request(pod(annotations=NAMED)), "net"),
        (request(pod(annotations={"other": "x"})), "net"),
        (request(pod(owner=("v1", "ConfigMap"))), None),
        (request(pod(owner=JOB)), None),
        (update(pod(image=OTHER), pod()), None),
        (request(exposed()), None),
        (request(pod(), operation=Operation.DELETE), None),
        (request({"metadata": {"name": "a"}}, kind=NAMESPACE, name="a"), None),
        (request(b"{"), None),
    ],
)
async def test_note_is_for_a_new_pod_of_its_own(
    engine: EmbeddedEngine, profiles: Folder, asked: Request, noted: str | None
) -> None:
    """On creation, of what nothing owns, and that is admitted: who asked, and the profile."""
    profiles.documents[0]["rules"] = []
    decision = await judge_of(profiles.cluster(), engine).mutate(asked, budget=5.0)
    assert (decision.allowed, decision.warnings) == (True, [])
    assert decision.recorded == (notes(noted) if noted else {})


@pytest.mark.parametrize(("label", "due"), [("enforce", {}), ("warn", WHO), ("audit", WHO)])
async def test_no_profile_is_noted_on_what_is_not_admitted_on_its_merits(
    engine: EmbeddedEngine, profiles: Folder, label: str, due: dict[str, str]
) -> None:
    """Where it is let in with a warning there is no profile to note, only who asked."""
    profiles.namespace("train", mode=label)
    asked = request(exposed())
    decision = await judge_of(profiles.cluster(), engine).mutate(asked, budget=5.0)
    assert decision.verdict in {Verdict.DENY, Verdict.WARN}
    assert (decision.allowed, decision.recorded, decision.warnings) == (True, due, [])


async def test_namespaces_profile_needs_no_note(engine: EmbeddedEngine, profiles: Folder) -> None:
    """It is named already; the note would outlive the namespace's choice."""
    profiles.namespace("train", profile="net")
    decision = await judge_of(profiles.cluster(), engine).mutate(request(pod()), budget=5.0)
    assert (decision.verdict, decision.profile) == (Verdict.ALLOW, "net")
    assert decision.recorded == WHO


async def test_validating_pass_holds_the_note_to_the_same_rights(
    engine: EmbeddedEngine, profiles: Folder
) -> None:
    """What was noted counts as named: admitted as noted, refused where the note is forged."""
    judge = judge_of(profiles.cluster(), engine)

    async def verdict(name: str, **spec: Any) -> Verdict:
        made = pod(annotations={"sallyport.dev/profile": name}, **spec)
        return (await judge.validate(request(made, ALICE), budget=5.0)).verdict

    noted = (await judge.mutate(request(pod(hostNetwork=True)), budget=5.0)).profile
    assert noted == "net"
    assert await verdict("net", hostNetwork=True) is Verdict.ALLOW
    assert await verdict("pss-privileged", hostNetwork=True) is Verdict.DENY
    assert await verdict("net", hostNetwork=True, hostPID=True) is Verdict.DENY
