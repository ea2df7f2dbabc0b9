"""What must run in a sandbox is found out, is put there, and is refused where it cannot be."""

import pytest

from core.decision.decision import Verdict
from core.decision.document import DecisionSource, build_document
from core.decision.namespaces import Namespace
from core.sandbox.decision import Feature, SandboxDecision, SandboxMode
from policies.engine.embedded_engine import EmbeddedEngine
from sandbox.runtime_choice import SandboxSettings
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.sandbox.sandbox_cluster import (
    LABEL,
    NETWORK,
    NOTEBOOK,
    POINTS,
    SET,
    Saying,
    final,
    judge,
    labelled,
    mutated,
    namespace,
    pod,
    profiled,
    runtime_class,
)
from tests.unit.admission.world import Folder, request, rules


async def test_without_a_wish_nothing_is_different(engine: EmbeddedEngine, folder: Folder) -> None:
    """No profile, no namespace, no author asks: no isolation, no patch, whatever the signals."""
    profiled(folder, "wide", None)
    by = judge(folder.cluster(), Saying(engine, (NOTEBOOK,), (NETWORK,)))
    decision = await final(by, request(pod()))
    assert (decision.verdict, decision.sandbox) == (Verdict.ALLOW, None)
    assert (await mutated(by, request(pod()))).filled == []


@pytest.mark.parametrize(
    ("of_namespace", "of_profile", "asks", "signals", "reason"),
    [
        ("required", None, False, False, "required"),
        (None, "required", False, False, "required"),
        ("by-risk", "required", False, False, "required"),
        ("required", "by-risk", False, False, "required"),
        ("by-risk", None, False, True, "risk"),
        (None, "by-risk", False, True, "risk"),
        (None, None, True, False, "asked"),
        ("by-risk", None, True, False, "asked"),
        ("unheard-of", None, False, False, "required"),
        ("", None, False, False, "required"),
        ("never", None, False, False, "required"),
        ("by-risk", None, False, False, ""),
        (None, "by-risk", False, False, ""),
    ],
)
async def test_the_stricter_mode_counts(  # noqa: PLR0913, PLR0917  Each has a say.
    engine: EmbeddedEngine,
    folder: Folder,
    of_namespace: str | None,
    of_profile: str | None,
    asks: bool,  # noqa: FBT001
    signals: bool,  # noqa: FBT001
    reason: str,
) -> None:
    """Of profile and namespace; an author can add, and a word unknown requires."""
    runtime_class(profiled(namespace(folder, of_namespace), "wide", of_profile))
    by = judge(folder.cluster(), Saying(engine, (NOTEBOOK,) if signals else ()))
    made = labelled("required") if asks else pod()
    decision = await mutated(by, request(made))
    assert decision.sandbox is not None
    assert decision.sandbox.reason == reason
    assert decision.filled == (SET if reason else [])


@pytest.mark.parametrize("word", ["required", "by-risk", "never", "", "no"])
async def test_an_author_asks_in_and_never_out(
    engine: EmbeddedEngine, folder: Folder, word: str
) -> None:
    """Whatever the label on a Pod says, its presence asks."""
    runtime_class(profiled(namespace(folder, None), "wide", None))
    decision = await mutated(judge(folder.cluster(), engine), request(labelled(word)))
    assert decision.filled == SET


async def test_every_signal_that_counted_is_in_the_record(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """With its points, its place and its reason; below the threshold, too."""
    runtime_class(profiled(namespace(folder, "by-risk"), "wide", None))
    said = Saying(engine, (NOTEBOOK,))
    high = judge(folder.cluster(), said, SandboxSettings(threshold=POINTS + 1))
    decision = await final(high, request(pod()))
    assert decision.sandbox is not None
    assert (decision.sandbox.runtime, decision.sandbox.score) == ("", POINTS)
    decision = await mutated(judge(folder.cluster(), said), request(pod()))
    source: DecisionSource = "mutate"
    document = build_document(
        source, request(pod()), decision, cluster="c", seconds=0.1, name_subject=lambda s: s.label
    )
    assert document.sandbox == "gvisor"
    assert document.isolation is not None
    assert (document.isolation.mode, document.isolation.score) == ("by-risk", POINTS)
    assert [(each.rule, each.points, each.reason) for each in document.isolation.signals] == [
        (NOTEBOOK.rule, POINTS, "runs a notebook: jupyter")
    ]


@pytest.mark.parametrize("named", [None, "", "other"])
async def test_a_final_pod_without_its_class_is_refused(
    engine: EmbeddedEngine, folder: Folder, named: str | None
) -> None:
    """Absent, empty, another: the same rule, at the field, whoever did it."""
    runtime_class(runtime_class(profiled(namespace(folder, "required"), "wide", None)), "other")
    made = pod() if named is None else pod(runtimeClassName=named)
    decision = await final(judge(folder.cluster(), engine), request(made))
    assert [(each.rule, each.path) for each in decision.findings] == [
        ("sandbox/required", "spec.runtimeClassName")
    ]
    assert "gvisor" in decision.message
    assert "The namespace train requires a sandbox." in decision.message
    fine = await final(judge(folder.cluster(), engine), request(pod(runtimeClassName="gvisor")))
    assert (fine.verdict, fine.findings) == (Verdict.ALLOW, [])


@pytest.mark.parametrize("mode", ["warn", "audit"])
async def test_where_nothing_is_enforced_nothing_is_set(
    engine: EmbeddedEngine, folder: Folder, mode: str
) -> None:
    """No patch, and no warning of a class that enforcement would set."""
    runtime_class(profiled(namespace(folder, "required", mode), "wide", None))
    by = judge(folder.cluster(), engine)
    assert (await mutated(by, request(pod()))).filled == []
    assert (await final(by, request(pod()))).verdict is Verdict.ALLOW


async def test_what_cannot_run_there_is_refused_with_the_feature(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Its field and its container, why, and what to do instead; nothing is patched."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), Saying(engine, (), (NETWORK,)))
    assert (await mutated(by, request(pod()))).filled == []
    (found,) = (await final(by, request(pod(runtimeClassName="gvisor")))).findings
    assert (found.rule, found.path) == ("sandbox/incompatible", "spec.hostNetwork")
    assert "host-network" in found.message
    assert found.remedy.startswith("Leave out hostNetwork")


async def test_the_second_serves_what_the_first_cannot(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A block volume runs in a virtual machine."""
    block = Feature("block-volume", "spec.containers[0].volumeDevices[0]", "trainer")
    runtime_class(runtime_class(namespace(folder, "required")), "kata-vm-isolation", "kata")
    profiled(folder, "wide", None)
    site = SandboxSettings(("gvisor", "kata-vm-isolation"))
    by = judge(folder.cluster(), Saying(engine, (), (block,)), site)
    (patch,) = (await mutated(by, request(pod()))).filled
    assert patch["value"] == "kata-vm-isolation"


async def test_a_class_that_is_missing_is_a_refusal_for_operators(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A denial, since what is wrong is known; one that is not synced is an error."""
    profiled(namespace(folder, "required"), "wide", None)
    decision = await final(judge(folder.cluster(), engine), request(pod()))
    assert rules(decision) == [("sandbox/runtime", None)]
    assert "operators must create it" in decision.message
    lost = Watched(folder.cluster(), lost="runtime-classes")
    unknown = await final(judge(lost, engine), request(pod()))
    assert (unknown.verdict, unknown.error_kind) == (Verdict.ERROR, "not-synced")


async def test_who_needs_no_sandbox_needs_no_classes(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A watch that is down stops only what must run in a sandbox."""
    profiled(namespace(folder, "by-risk"), "wide", "by-risk")
    lost = Watched(folder.cluster(), lost="runtime-classes")
    assert (await final(judge(lost, engine), request(pod()))).verdict is Verdict.ALLOW


async def test_a_pod_that_runs_without_is_reported(engine: EmbeddedEngine, folder: Folder) -> None:
    """The sweep finds it; a file that is reviewed will have its class set."""
    runtime_class(profiled(namespace(folder, "required"), "wide", None))
    by = judge(folder.cluster(), engine)
    running = await by.validate(request(pod(), running=True), budget=10)
    assert rules(running) == [("sandbox/required", None)]
    file = await by.validate(request(pod()), budget=10)
    assert file.verdict is Verdict.ALLOW
    assert file.sandbox is not None
    assert file.sandbox.runtime == "gvisor"


def test_modes_of_labels() -> None:
    """Nothing is never, and every word but by-risk requires."""
    found = {
        value: Namespace("n", {} if value is None else {LABEL: value}).sandbox
        for value in (None, "by-risk", "required", "never", "")
    }
    assert found == {
        None: SandboxMode.NEVER,
        "by-risk": SandboxMode.BY_RISK,
        "required": SandboxMode.REQUIRED,
        "never": SandboxMode.REQUIRED,
        "": SandboxMode.REQUIRED,
    }
    assert SandboxDecision(mode=SandboxMode.REQUIRED).reason == ""
