"""A decision says who requires the sandbox, and all who show it say the same."""

import io
from operator import attrgetter
from typing import Any

import pytest
from rich.console import Console

from admission.explain.explanation import explain
from cli.explain.render import print_explanations
from cli.sandbox.run import unsandboxed
from cli.shared.results import Reviewed, of_decision
from core.decision.decision import Decision, Verdict
from core.decision.document import DecisionDocument, build_document
from core.decision.request import Request
from core.people.subject import service_account_subject
from core.profiles.container_profiles import CATALOGUE
from core.sandbox.decision import ModeSource, SandboxDecision, SandboxMode
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.objects.test_entering_pods import SHELL, shell
from tests.unit.admission.requester.test_noted_workloads import notes
from tests.unit.admission.requester.test_owner_chain import owner
from tests.unit.admission.sandbox.sandbox_cluster import (
    NETWORK,
    NOTEBOOK,
    Saying,
    final,
    judge,
    labelled,
    namespace,
    pod,
    profiled,
    runtime_class,
)
from tests.unit.admission.world import Folder, request

REPLICAS = service_account_subject("kube-system", "replicaset-controller")
AGENTS = ModeSource(kind="noted-profile", name="agents")
TRAIN = ModeSource(kind="namespace", name="train")
WIDE = ModeSource(kind="profile", name="wide")


def document(asked: Request, decision: Decision) -> DecisionDocument:
    """Return what is recorded of a decision."""
    return build_document(
        "validate", asked, decision, cluster="c", seconds=0.0, name_subject=attrgetter("label")
    )


@pytest.mark.parametrize(
    ("of_namespace", "of_profile", "by", "said"),
    [
        ("required", None, TRAIN, "The namespace train requires a sandbox."),
        ("required", "required", TRAIN, "The namespace train requires a sandbox."),
        ("by-risk", "required", WIDE, "The profile wide requires a sandbox."),
        (None, "required", WIDE, "The profile wide requires a sandbox."),
        ("by-risk", None, TRAIN, "Its risk is 60, and the namespace train requires a sandbox "),
        ("by-risk", "by-risk", TRAIN, "and the namespace train requires a sandbox from 50 on: "),
        (None, "by-risk", WIDE, "Its risk is 60, and the profile wide requires a sandbox from 50"),
    ],
)
async def test_a_refusal_and_its_record_name_who_set_the_mode(  # noqa: PLR0913, PLR0917
    engine: EmbeddedEngine,
    folder: Folder,
    of_namespace: str | None,
    of_profile: str | None,
    by: ModeSource,
    said: str,
) -> None:
    """The namespace where it and the profile ask for the same; else the stricter."""
    runtime_class(profiled(namespace(folder, of_namespace), "wide", of_profile))
    asked = request(pod(runtimeClassName="gvisor"))
    judging = judge(folder.cluster(), Saying(engine, (NOTEBOOK,), (NETWORK,)))
    decision = await final(judging, asked)
    assert decision.verdict is Verdict.DENY
    assert decision.sandbox is not None
    assert decision.sandbox.mode_by == by
    assert said in decision.message
    kept = document(asked, decision)
    assert kept.isolation is not None
    assert kept.isolation.mode_by == by


async def test_the_profile_noted_on_the_owner_is_named(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The Pod's own account may use another one, which requires nothing."""
    runtime_class(profiled(namespace(folder, None), "wide", None))
    folder.profile("agents", 20, "**", catalogue=CATALOGUE)
    folder.documents[-1]["spec"]["sandbox"] = "required"
    above = owner(folder, "apps/v1", "Deployment", "agent", notes=notes(profile="agents"))
    made = pod(runtimeClassName="")
    made["metadata"]["ownerReferences"] = [
        owner(folder, "apps/v1", "ReplicaSet", "agent-1", above=above)
    ]
    decision = await final(judge(folder.cluster(), engine), request(made, REPLICAS))
    assert decision.sandbox is not None
    assert decision.sandbox.mode_by == AGENTS
    assert "The profile agents noted on it or its workload requires a sandbox." in decision.message


async def test_the_profile_noted_on_a_pod_that_is_entered_is_named(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The visitor is told which, since it is none of theirs."""
    folder.documents.clear()
    runtime_class(namespace(folder, None))
    folder.profile("visitor", 10, *SHELL, catalogue=CATALOGUE)
    folder.grant("User:alice@example.com", "visitor", namespace="train")
    folder.profile("agents", 20, "**", catalogue=CATALOGUE)
    folder.documents[-1]["spec"]["sandbox"] = "required"
    running = pod()
    running["metadata"]["annotations"] = notes(profile="agents")
    decision = await final(judge(folder.add_pod(running).cluster(), engine), shell())
    assert decision.sandbox is not None
    assert decision.sandbox.mode_by == AGENTS
    assert "The profile agents noted on it or its workload requires a sandbox." in decision.message


async def test_where_nobody_requires_one_nobody_is_named(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """An author who asks has set no mode."""
    runtime_class(profiled(namespace(folder, None), "wide", None))
    decision = await final(judge(folder.cluster(), engine), request(labelled("required")))
    assert decision.sandbox is not None
    assert (decision.sandbox.mode, decision.sandbox.mode_by) == (SandboxMode.NEVER, None)


@pytest.mark.parametrize(
    ("made", "of_namespace", "why"),
    [
        (pod(), "required", "the namespace train requires a sandbox"),
        (pod(), "by-risk", "its risk is 60, and the namespace train requires a sandbox from 50 on"),
        (
            labelled("required"),
            None,
            "its label sallyport.dev/sandbox asks for a sandbox, whatever the label's value",
        ),
    ],
)
async def test_refusal_review_explain_and_report_say_the_same(
    engine: EmbeddedEngine,
    folder: Folder,
    made: dict[str, Any],
    of_namespace: str | None,
    why: str,
) -> None:
    """Word for word."""
    runtime_class(profiled(namespace(folder, of_namespace), "wide", None))
    by = judge(folder.cluster(), Saying(engine, (NOTEBOOK,), (NETWORK,)))
    asked = request(made)
    decision = await final(by, asked)
    kept = document(asked, decision)
    shown = io.StringIO()
    print_explanations([explain(kept)], Console(width=400, file=shown))
    element = Reviewed(
        file="pod.yaml", kind="Pod", namespace="train", name="p", verdict=decision.verdict
    )
    assert why[0].upper() + why[1:] in decision.message
    assert of_decision(element, decision).why_sandboxed.startswith(why)
    assert f"It must run with the RuntimeClass gvisor: {why}\n" in shown.getvalue()
    assert unsandboxed(kept, None).reason.startswith(why)


@pytest.mark.parametrize(
    ("decided", "said"),
    [
        (SandboxDecision(), "None: nobody requires a sandbox"),
        (
            SandboxDecision(mode=SandboxMode.REQUIRED, mode_by=WIDE, excused=True),
            "None: the profile wide requires a sandbox, but an exception takes that away",
        ),
        (
            SandboxDecision(mode=SandboxMode.REQUIRED, runtime="gvisor"),
            "gvisor: its namespace or profile requires a sandbox",
        ),
        (
            SandboxDecision(
                mode=SandboxMode.REQUIRED,
                mode_by=ModeSource(kind="of-a-later-release", name="x"),
                runtime="gvisor",
            ),
            "gvisor: its namespace or profile requires a sandbox",
        ),
        (
            SandboxDecision(mode=SandboxMode.BY_RISK, mode_by=WIDE, score=20, threshold=50),
            "None: its risk is 20, and the profile wide requires a sandbox from 50 on",
        ),
    ],
)
def test_explain_says_it_of_what_runs_in_none_too(decided: SandboxDecision, said: str) -> None:
    """Also of records that do not say who set the mode, or say it in a later release's words."""
    decision = Decision(id="d", verdict=Verdict.ALLOW, allowed=True, sandbox=decided)
    shown = io.StringIO()
    kept = document(request(pod()), decision)
    print_explanations([explain(kept)], Console(width=400, file=shown))
    assert f"{said}\n" in shown.getvalue()
