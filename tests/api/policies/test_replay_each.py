"""Each decision that replay foretells is the one that a gate with the candidate makes over HTTP."""

import asyncio
import base64
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from admission.replay.outcomes import ReplayEnd, ReplayOutcome
from app.settings.records import LedgerSection
from app.settings.root import Settings
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.store import Store
from cli.policy.replay import run
from cli.policy.replay.counts import Tallies
from core.decision.decision import Action, Verdict
from core.decision.document import DecisionDocument, decode_document
from tests.harness.evidence import record
from tests.harness.load.reviews import post
from tests.harness.oracles.json_patch import apply_patch
from tests.harness.programs.recorded_gate import Recorded
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.recorded_reviews import reviews
from tests.harness.worlds.replay_bundles import make_bundles
from tests.harness.worlds.replayed_reviews import cluster_of

COUNT: Final = size(ci=120, proof=2000)
VARIETY: Final = size(ci=40, proof=500)
PAGE: Final = 500
LONGEST_S: Final = 120.0

ENDS: Final = {
    Verdict.ALLOW: ReplayEnd.ADMITTED,
    Verdict.WARN: ReplayEnd.WARNED,
    Verdict.DENY: ReplayEnd.REFUSED,
}


@dataclass(frozen=True)
class Anew:
    """What one gate answered, in the order in which it was asked."""

    ids: list[str]
    """Of the last decision about each review."""
    allowed: list[bool]
    documents: Mapping[str, DecisionDocument]
    """By id."""
    ledger: str


async def answer(recorded: Recorded, review: bytes, ca: bytes) -> tuple[str, bool]:
    """Ask as kube-apiserver does: workloads are noted on the way, or refused there."""
    response: dict[str, Any] = {"allowed": True}
    if b'"kind": "Deployment"' in review:
        url = recorded.url.replace("/validate", "/mutate")
        response = (await post(url, review, ca, LONGEST_S))[1]["response"]
        if response.get("patch"):
            asked = json.loads(review)
            patches = json.loads(base64.b64decode(response["patch"]))
            asked["request"]["object"] = apply_patch(asked["request"]["object"], patches)
            review = json.dumps(asked).encode()
    if response["allowed"]:
        response = (await post(recorded.url, review, ca, LONGEST_S))[1]["response"]
    return response["auditAnnotations"]["decision"], response["allowed"]


async def decisions(ledger: str) -> dict[str, DecisionDocument]:
    """Return all that is recorded, by id."""
    found: dict[str, DecisionDocument] = {}
    async with Store(ledger) as store:
        before = None
        while page := await store.find(DecisionQuery(limit=PAGE, before=before)):
            documents = [decode_document(each) for each in page]
            found |= {each.id: each for each in documents}
            before = documents[-1].id
    return found


def judge(
    folder: Path, bundle: Path, asked: Sequence[bytes], monkeypatch: pytest.MonkeyPatch
) -> Anew:
    """Have a gate with a bundle answer each review, and its auditor record that."""
    monkeypatch.setenv("SALLYPORT_BUNDLE", str(bundle))
    folder.mkdir()
    recorded = Recorded(folder, folder.parent / "cluster")
    ca = recorded.certificates.ca.read_bytes()
    try:
        recorded.start_auditor()
        recorded.start_gate()

        async def ask_all() -> list[tuple[str, bool]]:
            return [await answer(recorded, each, ca) for each in asked]

        answers = asyncio.run(ask_all())
        wanted = {each.replace("-", "") for each, _ in answers}
        end = time.monotonic() + LONGEST_S
        while wanted - recorded.stored():
            assert time.monotonic() < end
            time.sleep(0.1)
    finally:
        recorded.stop()
        monkeypatch.delenv("SALLYPORT_BUNDLE")
    ledger = f"sqlite:///{recorded.database}"
    ids, allowed = [each for each, _ in answers], [each for _, each in answers]
    return Anew(ids, allowed, asyncio.run(decisions(ledger)), ledger)


def said_by(document: DecisionDocument) -> tuple[ReplayEnd, frozenset[str], frozenset[str]]:
    """Return what a gate decided: the end, all rules that speak, those of them that refuse."""
    refusing = {each.rule for each in document.findings if each.action is Action.DENY}
    rules = frozenset(each.rule for each in document.findings)
    return ENDS[document.verdict], rules, frozenset(refusing)


def foretold(standing: ReplayOutcome) -> tuple[ReplayEnd, frozenset[str], frozenset[str]]:
    """Return the same of what replay says; where nothing is enforced, what would refuse warns."""
    refusing = standing.refusing if standing.end is ReplayEnd.REFUSED else frozenset[str]()
    return standing.end, standing.refusing | standing.warning, refusing


@pytest.mark.proof
def test_each_decision_is_as_a_gate_with_the_candidate_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its id: whether it is admitted, warned of or refused, and by which rules."""
    base, candidate = make_bundles(tmp_path)
    cluster_of(tmp_path)
    asked = list(reviews(COUNT, seed=7, variety=VARIETY))
    was = judge(tmp_path / "base", base, asked, monkeypatch)
    becomes = judge(tmp_path / "candidate", candidate, asked, monkeypatch)
    noted: dict[str, tuple[ReplayOutcome, ReplayOutcome]] = {}
    right = Tallies.compare

    def noting(
        tallies: Tallies, document: DecisionDocument, was: ReplayOutcome, becomes: ReplayOutcome
    ) -> None:
        noted[document.id] = was, becomes
        right(tallies, document, was, becomes)

    monkeypatch.setattr(Tallies, "compare", noting)
    settings = Settings(ledger=LedgerSection(url=was.ledger), cluster=tmp_path / "cluster")
    found = asyncio.run(run.replay(settings, run.ReplayRequest(candidate, base, jobs=1)))
    assert found.left == []
    beside, unlike, effects = 0, [], Counter[str]()
    for old, new, allowed in zip(was.ids, becomes.ids, becomes.allowed, strict=True):
        before, after = was.documents[old], becomes.documents[new]
        assert after.allowed is allowed
        both = noted.get(old)
        if both is None:  # About what no bundle is asked.
            beside += 1
            assert said_by(before) == said_by(after)
            continue
        if tuple(map(foretold, both)) != (said_by(before), said_by(after)):
            unlike.append((old, both, said_by(before), said_by(after)))
        effects[f"{said_by(before)[0].name} → {said_by(after)[0].name}"] += 1
    assert unlike == []
    assert beside == found.beside
    assert found.reviews == COUNT
    assert effects["ADMITTED → REFUSED"] + effects["WARNED → REFUSED"] > COUNT // 50
    assert effects["REFUSED → ADMITTED"] + effects["REFUSED → WARNED"] > 0
    if PROOF:
        record("replay-each", _page(effects, beside))


def _page(effects: Counter[str], beside: int) -> list[str]:
    shown = ", ".join(f"{name.lower()}: {count:,}" for name, count in sorted(effects.items()))
    return [
        "- Two gates with their auditors over HTTPS, `/mutate` and `/validate` as kube-apiserver "
        "asks: one with the bundle in force, one with the candidate; Pods, Deployments and "
        "Services in three namespaces, one of which only warns",
        f"- **{COUNT:,} decisions, of each of which replay says what the gate with the candidate "
        "then decided**: by the decision's id, whether it is admitted, warned of or refused, all "
        "rules that speak and those that refuse. Unlike: 0",
        f"- From the base to the candidate: {shown}; about what no bundle is asked: {beside}",
        "",
        "Made by `tests/api/policies/test_replay_each.py`.",
    ]
