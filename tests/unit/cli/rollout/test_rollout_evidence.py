"""What `sallyport rollout` stands on, read from a real ledger: also what is missing of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from audit.ledger.store.store import Store
from cli.rollout.evidence import Evidence, EvidenceReader, Period
from cli.rollout.plan import plan_of
from cli.rollout.verdicts import Standing, Status, Verdict, exit_code, standing_of, workloads_of
from core.decision.decision import Running
from core.decision.decision import Verdict as Decided
from core.decision.document import DecisionDocument, Revisions
from core.decision.namespaces import Mode
from core.decision.sweep_document import SweepDocument
from tests.unit.audit.ledger.store.documents import (
    CLUSTER,
    NOW_MS,
    document,
    frame,
    sweep,
    sweep_frame,
)

HOUR: Final = 3_600_000
BEFORE: Final = NOW_MS - 20 * HOUR
PERIOD: Final = Period(NOW_MS - 10 * HOUR, NOW_MS, 3 * HOUR)
FIRST: Final = document(BEFORE, name="first")


def mild(at_ms: int, **changes: Any) -> DecisionDocument:
    """Return the gate's decision on what would be refused, in the mode audit."""
    fields = {"mode": "audit", "if_enforced": "refused", **changes}
    return document(at_ms, Decided.WARN, **fields)  # type: ignore[no-any-return]


def runs(name: str, at_ms: int = NOW_MS, workload: str = "Job/fit", **more: Any) -> Any:
    """Return the sweep's decision on a Pod that would be refused."""
    fields = {"source": "sweep", "name": name, "object_uid": f"uid-{name}", **more}
    return mild(at_ms, running=Running(workload), **fields)


async def read(
    folder: Path,
    documents: Sequence[DecisionDocument],
    sweeps: Sequence[SweepDocument] = (),
    period: Period = PERIOD,
) -> Evidence:
    """Return what a ledger with these says of the namespace train."""
    async with Store(f"sqlite:///{folder / 'ledger.db'}", lambda: NOW_MS / 1000) as store:
        await store.deliver(CLUSTER, [frame(each) for each in documents])
        await store.deliver(CLUSTER, [sweep_frame(each) for each in sweeps])
        reader = EvidenceReader(store, CLUSTER, period, lambda _: None)
        return await reader.read(frozenset({"train"}))


def finished(**verdicts: int) -> SweepDocument:
    """Return the sweep of now."""
    return sweep(NOW_MS, verdicts=verdicts, pods={"train": 7})


async def test_good_evidence_has_no_problems(tmp_path: Path) -> None:
    """Both halves are there: what runs, and what was asked for."""
    asked = mild(NOW_MS - HOUR, name="web", kind="Deployment", group="apps")
    found = await read(tmp_path, [FIRST, asked, runs("fit-0")], [finished(warn=1, allow=6)])
    assert found.problems == []
    rows = workloads_of(found.swept["train"], found.asked["train"])
    assert [(row.workload, row.pods, row.asked) for row in rows] == [
        ("Job/fit", 1, 0),
        ("Deployment/web", 0, 1),
    ]


@pytest.mark.parametrize(
    ("documents", "sweeps", "problem"),
    [
        ([FIRST], [], "no finished sweep"),
        ([FIRST], [sweep(NOW_MS - 9 * HOUR, finished="2026-11-21T03:00:00.000Z")], "is too old"),
        ([FIRST], [finished(warn=2)], "2 of the last sweep's findings are not in the ledger"),
        ([runs("a")], [finished(warn=1)], "the gate has recorded nothing"),
        ([mild(NOW_MS - HOUR)], [finished(allow=1)], "the ledger begins at 2026-11-21T11:00:00Z"),
        ([FIRST], [sweep(NOW_MS, finished="2027-11-21T12:00:00.000Z")], "a clock is or was off"),
        ([FIRST], [finished(allow=1)], "the gate has recorded nothing in the period"),
    ],
    ids=["no-sweep", "old", "lost", "silent", "young", "future", "not-asked-any-more"],
)
async def test_what_is_missing_is_said(
    tmp_path: Path, documents: list[Any], sweeps: list[Any], problem: str
) -> None:
    """None of it looks like readiness."""
    found = await read(tmp_path, documents, sweeps)
    assert any(problem in said for said in found.problems), found.problems
    standing = standing_of("train", Mode.AUDIT, [], found.problems, decided_by="default")
    assert standing.verdict is Verdict.UNKNOWN
    assert exit_code([standing]) == 2


@pytest.mark.parametrize(
    ("later", "left"),
    [
        ({}, 0),
        ({"left_alone": "the update changes nothing that is judged"}, 1),
        ({"name": "other"}, 1),
        ({"subresource": "status"}, 1),
        ({"dry_run": True}, 1),
        ({"group": "apps.example"}, 1),
    ],
    ids=["admitted", "unjudged", "another", "elsewhere", "only-tried", "another-group"],
)
async def test_what_was_submitted_again_is_mended(
    tmp_path: Path, later: dict[str, Any], left: int
) -> None:
    """If the same would be admitted now; an update that nobody judged mends nothing."""
    deployment = {"kind": "Deployment", "name": "web"}
    bad = mild(NOW_MS - 2 * HOUR, **deployment)
    good = document(NOW_MS - HOUR, mode="audit", if_enforced="admitted", **{**deployment, **later})
    found = await read(tmp_path, [FIRST, bad, good], [finished(allow=1)])
    assert len(found.asked.get("train", [])) == left


async def test_what_was_only_tried_is_nobodys_work(tmp_path: Path) -> None:
    """`sallyport verify` and `kubectl apply --dry-run=server`: enforcing stops nothing of that."""
    tried = mild(NOW_MS - HOUR, name="sallyport-verify", dry_run=True)
    found = await read(tmp_path, [FIRST, tried], [finished(allow=1)])
    assert (found.asked.get("train", []), found.problems) == ([], [])


@pytest.mark.parametrize(
    ("workload", "changes", "left"),
    [("", {}, 0), ("Job/fit", {}, 1), ("", {"if_enforced": "refused"}, 1)],
    ids=["its-authors", "a-controllers", "refused"],
)
async def test_a_pod_that_nothing_made_is_its_authors(
    tmp_path: Path, workload: str, changes: dict[str, Any], left: int
) -> None:
    """What the gate said to its author counts more than what its service account may."""
    fields = {"mode": "audit", "if_enforced": "admitted", "name": "a", "object_uid": "uid-a"}
    made = document(BEFORE, **{**fields, **changes})
    found = await read(tmp_path, [made, runs("a", workload=workload)], [finished(warn=1)])
    assert len(found.swept.get("train", [])) == left


async def test_another_policy_is_another_answer(tmp_path: Path) -> None:
    """What the gate said under other profiles says nothing of now."""
    fields: dict[str, Any] = {"mode": "audit", "if_enforced": "admitted", "object_uid": "uid-a"}
    fields["revisions"] = Revisions(policy="older", profiles="older")
    made = document(BEFORE, name="a", **fields)
    found = await read(tmp_path, [made, runs("a", workload="")], [finished(warn=1)])
    assert len(found.swept["train"]) == 1


def test_no_persons_name_is_shown() -> None:
    """Where operators keep names in the ledger, they stay there."""
    rows = workloads_of([], [mild(NOW_MS, requester="alice@example.com")])
    assert rows[0].requesters == ["user:ff8d9819fc0e12bf"]


def standing(name: str, mode: Mode, refused: int, problems: list[str], pods: int) -> Standing:
    """Return what is known of a namespace."""
    asked = [mild(NOW_MS - number, name=f"w{number}") for number in range(refused)]
    rows = workloads_of([], asked)
    return standing_of(name, mode, rows, problems, decided_by="default", pods=pods)


def test_the_plan_begins_with_small_namespaces_that_are_ready() -> None:
    """Then those with little to mend; last what is not known; what enforces is not in it."""
    status = Status(
        cluster=CLUSTER,
        since="",
        sweep=None,
        namespaces=[
            standing("unknown", Mode.AUDIT, 0, ["no sweep"], 1),
            standing("much", Mode.WARN, 3, [], 2),
            standing("little", Mode.AUDIT, 1, ["no sweep"], 9),
            standing("large", Mode.AUDIT, 0, [], 50),
            standing("small", Mode.WARN, 0, [], 5),
            standing("done", Mode.ENFORCE, 1, [], 5),
        ],
        notes=[],
    )
    plan = plan_of(status)
    assert [step.namespace for step in plan.steps] == [
        "small",
        "large",
        "little",
        "much",
        "unknown",
    ]
    assert plan.done == 1
    assert plan.steps[0].command == "sallyport rollout set small --mode enforce"
    assert plan.steps[2].command == "sallyport rollout set little --mode warn --from DATE"
    assert exit_code(status.namespaces) == 2


def test_an_error_is_no_readiness_and_no_refusal() -> None:
    """What could not be judged leaves the verdict open."""
    rows = workloads_of([], [document(NOW_MS, Decided.ERROR, mode="audit", reason="too late")])
    found = standing_of("train", Mode.AUDIT, rows, [], decided_by="label")
    assert (found.verdict, found.would_refuse, found.not_judged) == (Verdict.UNKNOWN, 0, 1)
