"""Entering a Pod that must run in a sandbox and does not is refused; in its sandbox it is not."""

from typing import Any

import pytest

from core.decision.decision import Decision, Verdict
from core.decision.request import Request
from core.profiles.container_profiles import CATALOGUE
from policies.engine.embedded_engine import EmbeddedEngine
from sandbox.runtime_choice import SandboxSettings
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.objects.test_entering_pods import SHELL, connect, shell
from tests.unit.admission.requester.test_owner_chain import owner
from tests.unit.admission.sandbox.sandbox_cluster import final, judge, namespace, runtime_class
from tests.unit.admission.world import Folder, pod

RISKY = SandboxSettings(points={"sandbox/actor/entered": 50})


def train(folder: Folder, mode: str | None, **spec: Any) -> Folder:
    """Return a namespace that asks for a sandbox, with one Pod that Alice may enter."""
    folder.documents.clear()
    runtime_class(namespace(folder, mode))
    folder.profile("visitor", 10, *SHELL, "attach/**", "port-forward/**", catalogue=CATALOGUE)
    folder.grant("User:alice@example.com", "visitor", namespace="train")
    return folder.add_pod(pod(**spec))


async def _entered(
    folder: Folder,
    engine: EmbeddedEngine,
    site: SandboxSettings = RISKY,
    asked: Request | None = None,
) -> Decision:
    return await final(judge(folder.cluster(), engine, site), asked or shell())


async def test_a_risky_pod_outside_of_its_sandbox_is_closed(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """To enter adds to the risk; the words say why, and what to do."""
    decision = await _entered(train(folder, "by-risk"), engine)
    assert decision.verdict is Verdict.DENY
    found = next(each for each in decision.findings if each.rule == "sandbox/entered")
    assert found.path == "spec.runtimeClassName of Pod llama-0"
    assert "successor gets the RuntimeClass gvisor" in found.remedy
    assert "sandbox/actor/entered 50" in decision.message


@pytest.mark.parametrize(
    ("mode", "runtime", "site", "closed"),
    [
        ("by-risk", None, SandboxSettings(), False),
        ("by-risk", "gvisor", RISKY, False),
        ("by-risk", "other", RISKY, True),
        ("by-risk", "", RISKY, True),
        ("required", None, SandboxSettings(), True),
        ("required", "gvisor", SandboxSettings(), False),
        (None, None, RISKY, False),
    ],
)
async def test_only_what_lacks_its_sandbox_is_closed(  # noqa: PLR0913, PLR0917
    folder: Folder,
    engine: EmbeddedEngine,
    mode: str | None,
    runtime: str | None,
    site: SandboxSettings,
    closed: bool,  # noqa: FBT001
) -> None:
    """Below the threshold, in its sandbox, or where nobody asks, one may enter."""
    train(folder, mode, **({} if runtime is None else {"runtimeClassName": runtime}))
    decision = await _entered(folder, engine, site)
    assert (decision.verdict is Verdict.DENY) is closed


async def test_what_its_sandbox_cannot_run_is_no_reason(
    folder: Folder, engine: EmbeddedEngine
) -> None:
    """The Pod is in it all the same, and runs."""
    context = {"seLinuxOptions": {"level": "s0:c1"}}
    train(folder, "required", runtimeClassName="gvisor", securityContext=context)
    decision = await _entered(folder, engine)
    assert {each.rule for each in decision.findings}.isdisjoint(
        {"sandbox/entered", "sandbox/incompatible"}
    )


async def test_a_forwarded_port_adds_no_risk(folder: Folder, engine: EmbeddedEngine) -> None:
    """It starts nothing in the Pod."""
    asked = connect("PodPortForwardOptions", {"ports": [8888]}, subresource="portforward")
    decision = await _entered(train(folder, "by-risk"), engine, asked=asked)
    assert decision.sandbox is not None
    assert (decision.sandbox.score, decision.sandbox.runtime) == (0, "")


@pytest.mark.parametrize("of", ["itself", "its workload"])
@pytest.mark.parametrize(("noted", "closed"), [("agents", True), ("visitor", False)])
async def test_a_noted_profile_demands_of_visitors_too(
    folder: Folder,
    engine: EmbeddedEngine,
    of: str,
    noted: str,
    closed: bool,  # noqa: FBT001
) -> None:
    """A visitor with a right to another profile enters nothing that the sweep lists as outside."""
    train(folder, None)
    folder.profile("agents", 20, "**", catalogue=CATALOGUE)
    folder.documents[-1]["spec"]["sandbox"] = "required"
    running = next(each for each in folder.documents if each["kind"] == "Pod")
    notes = {"sallyport.dev/requester": "user:0", "sallyport.dev/profile": noted}
    if of == "itself":
        running["metadata"]["annotations"] = notes
    else:
        above = owner(folder, "apps/v1", "Deployment", "agent", notes=notes)
        above = owner(folder, "apps/v1", "ReplicaSet", "agent-1", above=above)
        running["metadata"]["ownerReferences"] = [above]
    decision = await _entered(folder, engine, SandboxSettings())
    assert (decision.verdict is Verdict.DENY) is closed, decision.message
    assert ["sandbox/entered"] * closed == [each.rule for each in decision.findings]


async def test_who_owns_the_pod_must_be_known(folder: Folder, engine: EmbeddedEngine) -> None:
    """Where the profile noted there might demand a sandbox, an unknown one is no yes."""
    train(folder, None)
    folder.profile("agents", 20, "**", catalogue=CATALOGUE)
    folder.documents[-1]["spec"]["sandbox"] = "required"
    running = next(each for each in folder.documents if each["kind"] == "Pod")
    running["metadata"]["ownerReferences"] = [owner(folder, "batch/v1", "Job", "agent")]
    cluster = Watched(folder.cluster(), lost="owners")
    decision = await final(judge(cluster, engine), shell())
    assert decision.verdict is Verdict.ERROR
