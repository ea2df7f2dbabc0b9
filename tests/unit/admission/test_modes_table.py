"""The table of docs/operate/rollout.md, "What each mode does", row by row."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from core.decision.decision import Decision, Verdict, WhenUnrecorded
from core.risk.model import RiskLevel
from policies.engine.embedded_engine import EmbeddedEngine
from tests.harness.evidence import ROOT
from tests.unit.admission.objects import test_entering_pods
from tests.unit.admission.profiles.both_passes import bare, mutated, with_defaults
from tests.unit.admission.requester.test_noted_workloads import asked, workload
from tests.unit.admission.risk import cluster_at_risk
from tests.unit.admission.sandbox import sandbox_cluster
from tests.unit.admission.weights import weights_cluster
from tests.unit.admission.world import ALICE, Folder, decide, judge_of, pod, request

PAGE: Final = (ROOT / "docs" / "operate" / "rollout.md").read_text()
_TABLE: Final = PAGE.partition("## What each mode does\n")[2].partition("\n\n")[0]
ROWS: Final = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in _TABLE.splitlines()[2:]
]
MODES: Final = ("audit", "warn", "enforce")

Case = Callable[[EmbeddedEngine, Folder, str], Awaitable[Decision]]


async def privileges(engine: EmbeddedEngine, folder: Folder, mode: str) -> Decision:
    """Ask for the node's network, without a right to it."""
    folder.namespace("train", mode=mode)
    return await decide(folder.cluster(), engine, request(pod(hostNetwork=True)))


async def sandbox(engine: EmbeddedEngine, folder: Folder, mode: str) -> Decision:
    """Ask for a Pod that cannot run in the sandbox in which all of the namespace must run."""
    folder.documents.clear()
    sandbox_cluster.profiled(sandbox_cluster.namespace(folder, "required", mode), "all", None)
    judge = sandbox_cluster.judge(sandbox_cluster.runtime_class(folder).cluster(), engine)
    return await sandbox_cluster.final(judge, request(sandbox_cluster.pod(hostNetwork=True)))


async def risk(engine: EmbeddedEngine, folder: Folder, mode: str) -> Decision:
    """Ask as somebody at high risk."""
    high = cluster_at_risk.snapshot(cluster_at_risk.CAROL, level=RiskLevel.HIGH)
    asking = request(sandbox_cluster.pod(), cluster_at_risk.CAROL)
    return await cluster_at_risk.decide(
        cluster_at_risk.everyone(folder, mode), engine, high, asking
    )


async def reach(engine: EmbeddedEngine, folder: Folder, mode: str) -> Decision:
    """Ask for a Pod that reaches weights without a grant."""
    weights_cluster.world(folder)
    for each in folder.documents:
        if each["kind"] == "Namespace":
            each["metadata"]["labels"]["sallyport.dev/mode"] = mode
    return await weights_cluster.decide(
        folder.cluster(), engine, request(weights_cluster.signing_in())
    )


async def entering(engine: EmbeddedEngine, folder: Folder, mode: str) -> Decision:
    """Enter a Pod without a profile that lets in."""
    folder.documents.clear()
    folder.namespace("train", mode=mode).add_pod(pod())
    return await decide(folder.cluster(), engine, test_entering_pods.shell())


async def notes(engine: EmbeddedEngine, folder: Folder, mode: str) -> Decision:
    """Submit a workload that says somebody else asked for it."""
    folder.namespace("train", mode=mode)
    folder.grant("ServiceAccount:train/default", "pss-restricted")
    wrong = {"sallyport.dev/requester": "oid:other", "sallyport.dev/profile": "pss-restricted"}
    return await decide(folder.cluster(), engine, asked(workload(annotations=wrong), ALICE))


async def broken(engine: EmbeddedEngine, folder: Folder, mode: str) -> Decision:
    """Ask for what cannot be read."""
    folder.namespace("train", mode=mode)
    made = pod()
    made["spec"]["containers"] = []
    return await decide(folder.cluster(), engine, request(made))


REFUSED: Final[dict[str, Case]] = {
    "privileges, profiles, ceiling; rules that deny": privileges,
    "sandbox: what must be in one": sandbox,
    "risk of identities": risk,
    "weights: reach without a grant": reach,
    "rights (Roles, bindings) and entering Pods in it": entering,
    "requester notes": notes,
    "what could not be judged": broken,
}
"""By row: what is refused where it is enforced, told where it warns, and admitted in silence."""

OTHERS: Final = {"a profile's defaults", "decisions that cannot be recorded"}


def test_every_row_is_tried() -> None:
    """None is added that nobody holds it to."""
    assert {row[0] for row in ROWS} == REFUSED.keys() | OTHERS
    assert all(len(row) == 4 for row in ROWS)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("row", REFUSED)
async def test_what_each_mode_does(
    engine: EmbeddedEngine, folder: Folder, row: str, mode: str
) -> None:
    """Refused in `enforce`; admitted with a warning in `warn`, in silence in `audit`; recorded."""
    decision = await REFUSED[row](engine, folder, mode)
    assert decision.mode == mode
    assert decision.allowed is (mode != "enforce"), decision.message
    assert bool(decision.warnings) is (mode == "warn")
    unjudged = decision.verdict is Verdict.ERROR
    assert unjudged is (row == "what could not be judged")
    assert unjudged or decision.findings
    assert decision.when_unrecorded is (
        WhenUnrecorded.REFUSE if mode == "enforce" else WhenUnrecorded.ADMIT
    ), "the row of decisions that cannot be recorded"


@pytest.mark.parametrize("mode", MODES)
async def test_defaults_are_filled_in_where_it_is_enforced(
    engine: EmbeddedEngine, folder: Folder, mode: str
) -> None:
    """Elsewhere a Pod stays as its author wrote it."""
    folder.documents.clear()
    folder.namespace("train", mode=mode)
    with_defaults(folder, "filling", 1, "**", seccompProfile={"type": "RuntimeDefault"})
    _, patches, _ = await mutated(judge_of(folder.cluster(), engine), request(bare()))
    filled: list[Any] = [each for each in patches if "seccompProfile" in str(each)]
    assert bool(filled) is (mode == "enforce")
