"""What a decision records of risk, what is explained of it, and how it is judged again."""

import dataclasses
from operator import attrgetter

import pytest
from rich.console import Console

from admission.explain.explanation import explain
from cli.explain.render import print_explanations
from core.decision.decision import MOST_ASSESSED, AssessedRisk, Decision, Verdict
from core.decision.document import (
    DecisionDocument,
    build_document,
    decode_document,
    encode_document,
)
from core.decision.request import Request
from core.risk.model import Behaviour, RiskLevel
from identity.risk.table import SHIPPED
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.objects.test_entering_pods import shell
from tests.unit.admission.risk.cluster_at_risk import (
    CAROL,
    DAVE,
    EVENT,
    NOW,
    account,
    decide,
    everyone,
    judge,
    made_for,
    of_table,
    snapshot,
)
from tests.unit.admission.sandbox.sandbox_cluster import pod
from tests.unit.admission.world import Folder, request
from webhooks.review_encoder import audit_annotations

HIGH = snapshot(CAROL, level=RiskLevel.HIGH)


def document(asks: Request, decision: Decision) -> DecisionDocument:
    """Return the document as it is read back."""
    made = build_document(
        "validate",
        asks,
        decision,
        cluster="c1",
        seconds=0.001,
        name_subject=attrgetter("label"),
    )
    return decode_document(encode_document(made))


async def test_the_record_names_who_what_and_by_which_revisions(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Each identity by its pseudonym; the event, its type, the times; snapshot and table."""
    asks = request(pod(), CAROL)
    kept = document(asks, await decide(everyone(folder), engine, HIGH, asks))
    assert kept.risk == [
        AssessedRisk(
            role="requester",
            who=CAROL.label,
            standing="high",
            effect="deny",
            row="shipped/high",
            events=[EVENT],
            event_types=["unfamiliarFeatures"],
            age_s=10.0,
            since="2026-11-22T07:30:00Z",
        )
    ]
    assert (kept.revisions.risk, kept.revisions.risk_table) == (
        HIGH.head.version,
        SHIPPED.digest,
    )
    other = document(asks, await decide(folder, engine, of_table("warn"), asks))
    assert other.revisions.risk_table not in {"", SHIPPED.digest}


async def test_what_is_clean_is_on_record_too(engine: EmbeddedEngine, folder: Folder) -> None:
    """Who reads the record sees that somebody looked, and how old that was."""
    asks = request(pod(), DAVE)
    kept = document(asks, await decide(everyone(folder), engine, HIGH, asks))
    assert [(each.standing, each.effect, each.age_s) for each in kept.risk] == [
        ("clean", "allow", 10.0)
    ]


async def test_of_a_pod_of_many_identities_few_are_kept(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """The strictest, and how many others there were."""
    made = pod()
    ids = [f"00000000-0000-4000-8000-{number:012d}" for number in range(3900)]
    made["spec"]["containers"][0]["env"] = [{"name": "AZURE_CLIENT_ID", "value": i} for i in ids]
    asks = request(made, CAROL)
    kept = document(asks, await decide(everyone(folder), engine, HIGH, asks))
    assert 1 < len(kept.risk) <= MOST_ASSESSED
    assert kept.risk[0].who == CAROL.label


async def test_no_name_is_in_what_is_written(engine: EmbeddedEngine, folder: Folder) -> None:
    """Neither in the record, the message, nor the audit annotation; events and ids are."""
    asks = request(pod(), CAROL)
    decision = await decide(everyone(folder), engine, HIGH, asks)
    written = [encode_document(document(asks, decision)).decode(), decision.message]
    annotations = audit_annotations(decision)
    written += [*annotations.values(), *decision.warnings]
    assert not [text for text in written if "carol" in text or "example.com" in text]
    assert EVENT not in "".join(annotations.values())


async def test_a_refusal_is_explained_by_its_risk(
    engine: EmbeddedEngine, folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    """What to do comes first; then each identity, with the row that decided."""
    asks = request(pod(), CAROL)
    explained = explain(document(asks, await decide(everyone(folder), engine, HIGH, asks)))
    assert explained.headline == (
        "Refused: Pod train/llama-0: your account is at risk (level high, since 2026-11-22T07:30Z)."
    )
    assert [change.what for change in explained.changes] == [
        "end the risk, or act as another identity:"
    ]
    print_explanations([explained], Console(width=200))
    shown = capsys.readouterr().out
    assert f"who asked ({CAROL.label}): high, since 2026-11-22T07:30:00Z" in shown
    assert f"event {EVENT} (unfamiliarFeatures); deny, by the row shipped/high" in shown


async def test_a_warning_is_explained_as_such(
    engine: EmbeddedEngine, folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was admitted, whatever catalogue its profile is of."""
    known = snapshot(CAROL, level=RiskLevel.LOW, acting=Behaviour.UNUSUAL_HOUR)
    asks = request(pod(), CAROL)
    explained = explain(document(asks, await decide(everyone(folder), engine, known, asks)))
    assert explained.headline.startswith(
        "Admitted: Pod train/llama-0 under the profile all; your account is at risk (level low"
    )
    print_explanations([explained], Console(width=200))
    assert "unusual: unusual-hour" in capsys.readouterr().out


async def test_a_sandbox_for_a_risk_is_explained(
    engine: EmbeddedEngine, folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not by the score, which demanded nothing."""
    asks = request(pod(), CAROL)
    decision = await decide(everyone(folder), engine, snapshot(CAROL), asks)
    explained = explain(document(asks, decision))
    assert explained.decision.isolation is not None
    assert explained.decision.isolation.identity
    print_explanations([explained], Console(width=200))
    out = capsys.readouterr().out
    assert "RuntimeClass gvisor: the risk of an identity behind it requires a sandbox" in out


async def test_it_is_judged_again_by_the_risk_of_now(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Of who asks now; who submitted it, and what it signs in as, are those of then."""
    made = pod(serviceAccountName="robot", runtimeClassName="gvisor")
    made["metadata"]["labels"] = {"azure.workload.identity/use": "true"}
    account(everyone(folder), "robot")
    asks = request(made, CAROL)
    kept = document(asks, await decide(folder, engine, HIGH, asks))
    assert kept.verdict is Verdict.DENY
    for known, who, verdict in (
        (HIGH, DAVE, Verdict.ALLOW),
        (snapshot(), CAROL, Verdict.ALLOW),
        (HIGH, CAROL, Verdict.DENY),
        (snapshot(client=RiskLevel.HIGH), DAVE, Verdict.DENY),
        (None, CAROL, Verdict.ALLOW),
    ):
        again = judge(Watched(folder.cluster(), snapshot=known), engine)
        _, decision = await again.rejudge(kept, who, budget=5.0)
        assert decision.verdict is verdict, (known, who)


async def test_the_author_of_then_is_judged_again(engine: EmbeddedEngine, folder: Folder) -> None:
    """Whoever asks for it now."""
    asks = made_for(everyone(folder), CAROL)
    kept = document(asks, await decide(folder, engine, snapshot(), asks))
    cluster = Watched(folder.cluster(), snapshot=HIGH)
    _, decision = await judge(cluster, engine).rejudge(kept, DAVE, budget=5.0)
    assert [each.who for each in decision.evidence.risk] == [CAROL.label, DAVE.label]


async def test_equal_pods_are_judged_by_the_snapshot_of_now(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """What is remembered for a second ends with the snapshot that it is of."""
    cluster = Watched(everyone(folder).cluster(), snapshot=snapshot())
    by = judge(cluster, engine)
    for level, allowed in ((None, True), (RiskLevel.HIGH, False), (None, True)):
        cluster.snapshot = snapshot(CAROL, level=level) if level else snapshot()
        for _ in range(2):
            decision = await by.validate(shell(CAROL), budget=5)
            assert decision.allowed is allowed


async def test_what_is_remembered_ends_after_a_second(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Data grows stale while nothing comes; a clock that is set back is believed as well."""
    at = [NOW]
    cluster = Watched(everyone(folder).cluster(), snapshot=snapshot())
    by = judge(cluster, engine)
    by = dataclasses.replace(by, gatherer=dataclasses.replace(by.gatherer, clock=lambda: at[0]))
    seen = []
    for moment in (NOW, NOW + 0.5, NOW + 1.5, NOW + 9999, NOW):
        at[0] = moment
        decision = await by.validate(request(pod(), CAROL), budget=5)
        seen.append((decision.evidence.risk[0].standing, decision.evidence.risk[0].age_s))
    assert seen == [("clean", 10), ("clean", 10), ("clean", 11.5), ("stale", 10009), ("clean", 10)]
