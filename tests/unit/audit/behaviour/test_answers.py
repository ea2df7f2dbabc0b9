"""Control asks the auditor who acts unusually; Prometheus asks how much was learnt."""

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from audit.behaviour.metrics import BehaviourCollector
from audit.behaviour.protocol import PATH
from audit.clients.auditor import AuditorChannel
from audit.clients.behaviour import BehaviourClient
from audit.ledger.server.service import BadQuestionError, Question
from core.base.errors import LedgerError
from core.risk.model import identity_key
from tests.unit.audit.behaviour.acts_of_people import WHO, document
from tests.unit.audit.behaviour.learner import (
    LEARNT,
    MORNING,
    Clock,
    ask,
    confirmed,
    elsewhere,
    learning_from,
    ledger_in,
    ordinary,
    tell,
    words,
)
from tests.unit.audit.loopback_auditor import Memory, running_auditor


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"since": "x"}, "since: must be the cursor"),
        ({"since": "0" * 16 + ".-1"}, "since: must be the cursor"),
        ({"until": "1"}, "only the parameter since"),
    ],
)
async def test_a_bad_question_names_the_parameter(
    tmp_path: Path, parameters: dict[str, str], says: str
) -> None:
    """400 with what to do."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger, learning_from(ledger, clock) as learning:
        with pytest.raises(BadQuestionError, match=says):
            await learning.answer(Question("prod-1", parameters))


async def test_answers_are_capped_and_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever follows the cursor gets all of them, each once."""
    monkeypatch.setattr("audit.behaviour.learner.MOST_ACTING", 10)
    clock = Clock(MORNING + 60)
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            for n in range(35):
                made = document(MORNING + n, requester=f"user:{n:016x}", verdict="allow")
                await ledger.deliver("prod-1", confirmed(made))
            await learning.follow()
            seen: list[str] = []
            answer = await ask(learning)
            seen += [each.key for each in answer.unusual]
            while answer.more:
                answer = await ask(learning, answer.cursor)
                assert len(answer.unusual) <= 10
                seen += [each.key for each in answer.unusual]
            assert len(seen) == len(set(seen)) == 35


async def test_control_asks_over_mutual_tls(tmp_path: Path) -> None:
    """With its own certificate, and about its own cluster alone."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", [*ordinary(), *elsewhere(MORNING)])
    async with (
        ledger_in(tmp_path, clock) as ledger,
        learning_from(ledger, clock) as learning,
        running_auditor(tmp_path, ledger, questions={PATH: learning.answer}) as auditor,
    ):
        pair = auditor.authority.issue_client("control", "sallyport://prod-1/control")
        channel = AuditorChannel(
            auditor.url, auditor.authority.certificate_path, pair.certificate, pair.key
        )
        try:
            answer = await BehaviourClient(channel, "prod-1").ask("")
            assert words(answer) == {identity_key(WHO).hex(): {"new-namespace"}}
            with pytest.raises(LedgerError, match="403"):
                await BehaviourClient(channel, "prod-2").ask("")
            again = await BehaviourClient(channel, "prod-1").ask(answer.cursor)
            assert again.unusual == []
        finally:
            await channel.close()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"[]", "cannot be read"),
        (b"{", "cannot be read"),
        (b'{"format":1,"cursor":"\xff"}', "cannot be read"),
        (
            b'{"format":3,"cursor":"","learning":"","more":false,"unusual":[]}',
            "answers in format 3",
        ),
    ],
)
async def test_an_answer_that_is_none_is_refused(tmp_path: Path, body: bytes, says: str) -> None:
    """Nothing of it is taken."""

    async def lie(question: Question) -> bytes:
        del question
        return body

    async with running_auditor(tmp_path, Memory(), questions={PATH: lie}) as auditor:
        pair = auditor.authority.issue_client("control", "sallyport://prod-1/control")
        channel = AuditorChannel(
            auditor.url, auditor.authority.certificate_path, pair.certificate, pair.key
        )
        try:
            with pytest.raises(LedgerError, match=says):
                await BehaviourClient(channel, "prod-1").ask("")
        finally:
            await channel.close()


async def test_metrics_count_and_name_nobody(tmp_path: Path) -> None:
    """Identities, unusual ones, acts and answers; no id of anybody is in them."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            await tell(ledger, learning, *elsewhere(MORNING))
            registry = CollectorRegistry()
            found = learning.confirmed.results
            registry.register(
                BehaviourCollector(lambda: learning.clusters, lambda: found, lambda: {200: 3})
            )
            text = generate_latest(registry).decode()
    assert "sallyport_behaviour_identities 1.0" in text
    assert "sallyport_behaviour_unusual 1.0" in text
    assert f'sallyport_behaviour_acts_total{{result="learnt"}} {LEARNT + 1}.0' in text
    assert f'sallyport_behaviour_confirmations_total{{result="audit"}} {LEARNT + 1}.0' in text
    assert 'sallyport_behaviour_confirmations_total{result="differs"} 0.0' in text
    assert 'sallyport_questions_total{status="200"} 3.0' in text
    assert identity_key(WHO).hex() not in text
    assert WHO.removeprefix("oid:") not in text
