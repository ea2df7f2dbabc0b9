"""Each decision is recorded before it is answered; what cannot be recorded has its stated rule."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import NotRecordedError, OverShareError
from core.decision.decision import Decision, WhenUnrecorded
from core.decision.document import DecisionSource
from core.decision.request import Request
from tests.unit.webhooks.gate import Gate, running_gate
from tests.unit.webhooks.judge import PrivilegedJudge
from tests.unit.webhooks.reviews import encode, review
from webhooks.limits import AppSettings
from webhooks.passed_on import PassedReviews

GOOD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}
BAD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "privileged"}, "spec": {}}


@dataclass
class Records:
    """Keeps what it is given, unless it is full."""

    full: bool = False
    over_share: bool = False
    kept: list[tuple[DecisionSource, str, list[Mapping[str, Any]]]] = field(default_factory=list)

    def record(
        self,
        source: DecisionSource,
        request: Request,
        decision: Decision,
        patches: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> None:
        """Keep it."""
        assert seconds > 0
        assert request.uid
        if self.full:
            raise NotRecordedError("the disk is full")
        if self.over_share:
            raise OverShareError("this requester has its share")
        self.kept.append((source, decision.verdict.value, list(patches)))

    def check(self) -> None:
        """Look whether it could be kept."""
        if self.full:
            raise NotRecordedError("the disk is full")


async def answered(gate: Gate, path: str, made: Any, **more: Any) -> Any:
    """Return the response to a review."""
    answer = await gate.post(path, encode(review(object=made, **more)))
    return json.loads(answer.body)["response"]


async def test_admissions_refusals_and_patches_are_recorded(tmp_path: Path) -> None:
    """Of `/mutate` only what changes an object: the final state is judged by `/validate`."""
    records = Records()
    async with running_gate(tmp_path, recorder=records) as gate:
        for path, made in (("/validate", GOOD), ("/validate", BAD), ("/mutate", GOOD)):
            assert (await gate.post(path, encode(review(object=made)))).status == 200
        assert (await gate.post("/mutate", encode(review(object=BAD)))).status == 200
    patch = {"op": "add", "path": "/metadata/annotations"}
    patch |= {"value": {"sallyport.dev/profile": "restricted"}}  # type: ignore[dict-item]
    assert records.kept == [
        ("validate", "allow", []),
        ("validate", "deny", []),
        ("mutate", "allow", [patch]),
    ]


@pytest.mark.parametrize("full", [True, False])
async def test_what_the_mutating_pass_refuses_is_recorded(tmp_path: Path, *, full: bool) -> None:
    """Nothing else will be asked of it; and it stays refused where it cannot be recorded."""
    records = Records(full=full)
    async with running_gate(tmp_path, PrivilegedJudge(early=True), recorder=records) as gate:
        response = await answered(gate, "/mutate", BAD)
        metrics = await gate.scrape()
    assert (response["allowed"], response["status"]["code"]) == (False, 403)
    assert "patch" not in response
    assert records.kept == ([] if full else [("mutate", "deny", [])])
    assert ('sallyport_unrecorded_decisions_total{outcome="refused"} 1.0' in metrics) is full
    assert ("sallyport_unrecorded_last_timestamp_seconds 0.0" not in metrics) is full


async def test_dry_runs_are_not_recorded(tmp_path: Path) -> None:
    """They have no side effects; the log has them."""
    records = Records()
    async with running_gate(tmp_path, recorder=records) as gate:
        assert (await answered(gate, "/validate", GOOD, dryRun=True))["allowed"] is True
        assert [line["dry_run"] for line in gate.lines() if line["event"] == "decision"] == [True]
    assert records.kept == []


async def test_a_dry_run_is_answered_as_what_it_tries(tmp_path: Path) -> None:
    """Where nothing can be recorded it is an error too: else `sallyport verify` finds all well."""
    async with running_gate(tmp_path, recorder=Records(full=True)) as gate:
        admitted = await answered(gate, "/validate", GOOD, dryRun=True)
        refused = await answered(gate, "/validate", BAD, dryRun=True)
        noted = await answered(gate, "/mutate", GOOD, dryRun=True)
        metrics = await gate.scrape()
    assert (admitted["allowed"], admitted["status"]["code"]) == (False, 500)
    assert "the disk is full" in admitted["status"]["message"]
    assert (refused["allowed"], refused["status"]["code"]) == (False, 403)
    assert noted["allowed"] is True
    assert 'sallyport_unrecorded_decisions_total{outcome="refused"} 0.0' in metrics


async def test_a_dry_run_is_admitted_unrecorded_where_the_namespace_says_so(tmp_path: Path) -> None:
    """As what it tries would be."""
    judge = PrivilegedJudge(when_unrecorded=WhenUnrecorded.ADMIT)
    async with running_gate(tmp_path, judge, recorder=Records(full=True)) as gate:
        assert (await answered(gate, "/validate", GOOD, dryRun=True))["allowed"] is True


async def test_what_cannot_be_recorded_is_refused_as_an_error(tmp_path: Path) -> None:
    """Code 500, never 403: nobody denied it; and it is counted."""
    async with running_gate(tmp_path, recorder=Records(full=True)) as gate:
        response = await answered(gate, "/validate", GOOD)
        metrics = await gate.scrape()
    assert response["allowed"] is False
    assert response["status"]["code"] == 500
    assert "This is an error, not a denial." in response["status"]["message"]
    assert "the disk is full" in response["status"]["message"]
    assert response["auditAnnotations"]["verdict"] == "error"
    assert 'sallyport_unrecorded_decisions_total{outcome="refused"} 1.0' in metrics
    assert 'sallyport_errors_total{kind="not-recorded"} 1.0' in metrics


@pytest.mark.parametrize("rule", WhenUnrecorded)
@pytest.mark.parametrize("dry", [True, False])
async def test_another_gate_is_asked_before_the_rule_decides(
    tmp_path: Path, rule: WhenUnrecorded, *, dry: bool
) -> None:
    """Once for each review, on another connection; nothing is counted before it is answered."""
    judge = PrivilegedJudge(when_unrecorded=rule)
    several = AppSettings(has_other_gates=True)
    records = Records(full=True)
    async with running_gate(tmp_path, judge, app_settings=several, recorder=records) as gate:
        made = encode(review(object=GOOD, dryRun=dry))
        first = await gate.post("/validate", made)
        assert (first.status, first.headers["retry-after"]) == (503, "0")
        assert first.headers["connection"] == "close"
        assert json.loads(first.body) == {
            "error": "not recorded by this gate: the disk is full; another may"
        }
        assert "sallyport_admissions_total{" not in await gate.scrape()
        second = json.loads((await gate.post("/validate", made)).body)["response"]
        assert second["allowed"] is (rule is WhenUnrecorded.ADMIT)
        other = encode(review(object=GOOD, uid="another", dryRun=dry))
        assert (await gate.post("/validate", other)).status == 503
        records.full = False
        assert (await answered(gate, "/validate", GOOD, uid="third"))["allowed"] is True


@pytest.mark.parametrize("rule", WhenUnrecorded)
async def test_what_is_beyond_a_share_is_not_passed_on(
    tmp_path: Path, rule: WhenUnrecorded
) -> None:
    """A flood is judged by one gate, once, and takes nobody's room among the passed reviews."""
    judge = PrivilegedJudge(when_unrecorded=rule)
    several = AppSettings(has_other_gates=True)
    records = Records(over_share=True)
    async with running_gate(tmp_path, judge, app_settings=several, recorder=records) as gate:
        response = await answered(gate, "/validate", GOOD)
        metrics = await gate.scrape()
    assert response["allowed"] is (rule is WhenUnrecorded.ADMIT)
    outcome = "admitted" if rule is WhenUnrecorded.ADMIT else "refused"
    assert f'sallyport_unrecorded_decisions_total{{outcome="{outcome}"}} 1.0' in metrics


async def test_a_denial_and_a_mutation_are_not_passed_on(tmp_path: Path) -> None:
    """They are answered here whatever is recorded."""
    several = AppSettings(has_other_gates=True)
    async with running_gate(tmp_path, app_settings=several, recorder=Records(full=True)) as gate:
        assert (await answered(gate, "/validate", BAD))["status"]["code"] == 403
        assert (await answered(gate, "/mutate", GOOD))["allowed"] is True


def test_reviews_are_remembered_for_their_time_and_in_a_bounded_number() -> None:
    """Of more than that, none is passed on."""
    passed = PassedReviews()
    assert passed.pass_on("a", 0.0)
    assert not passed.pass_on("a", 29.0)
    assert passed.pass_on("a", 30.0)
    assert all(passed.pass_on(str(number), 31.0) for number in range(8191))
    assert not passed.pass_on("one more", 32.0)
    assert passed.pass_on("one more", 62.0)


async def test_a_namespace_may_admit_and_count(tmp_path: Path) -> None:
    """The label `when-unrecorded: admit`: it is admitted as it would have been."""
    judge = PrivilegedJudge(when_unrecorded=WhenUnrecorded.ADMIT)
    async with running_gate(tmp_path, judge, recorder=Records(full=True)) as gate:
        response = await answered(gate, "/validate", GOOD)
        metrics = await gate.scrape()
    assert response["allowed"] is True
    assert 'sallyport_unrecorded_decisions_total{outcome="admitted"} 1.0' in metrics


@pytest.mark.parametrize("rule", WhenUnrecorded)
async def test_a_denial_that_cannot_be_recorded_stays_one(
    tmp_path: Path, rule: WhenUnrecorded
) -> None:
    """It is not turned into an error, and not into an admission."""
    judge = PrivilegedJudge(when_unrecorded=rule)
    async with running_gate(tmp_path, judge, recorder=Records(full=True)) as gate:
        response = await answered(gate, "/validate", BAD)
    assert response["allowed"] is False
    assert response["status"]["code"] == 403


async def test_a_mutation_that_cannot_be_recorded_goes_on(tmp_path: Path) -> None:
    """It refuses nothing: `/validate` will."""
    async with running_gate(tmp_path, recorder=Records(full=True)) as gate:
        response = await answered(gate, "/mutate", GOOD)
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"


@pytest.mark.parametrize("full", [True, False])
async def test_what_is_not_recorded_is_in_the_log(tmp_path: Path, *, full: bool) -> None:
    """Also where the log is not to repeat what is recorded: no decision leaves no trace."""
    quiet = AppSettings(log_recorded=False)
    async with running_gate(tmp_path, app_settings=quiet, recorder=Records(full=full)) as gate:
        for path, made in (("/validate", GOOD), ("/validate", BAD), ("/mutate", BAD)):
            assert (await gate.post(path, encode(review(object=made)))).status == 200
        logged = [
            (line["webhook"], line["verdict"])
            for line in gate.lines()
            if line["event"] == "decision"
        ]
    unpatched = ("mutate", "deny")
    lost = [("validate", "error"), ("validate", "deny")] if full else []
    assert logged == [*lost, unpatched]
