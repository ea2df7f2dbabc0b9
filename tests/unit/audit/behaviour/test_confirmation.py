"""Nothing is learnt of a decision that kube-apiserver itself does not confirm."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from audit.behaviour.learner import BehaviourLearner
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from core.base.ids import stable_id, uuid7_unix_ms
from core.base.times import milli_text
from core.risk.model import identity_key
from core.weights.documents.pod_life import FORMAT, LifeEvent, PodLife, encode_life
from tests.unit.audit.behaviour.acts_of_people import WHO, document
from tests.unit.audit.behaviour.learner import (
    LEARNT,
    MORNING,
    OTHER,
    Clock,
    ask,
    confirmed,
    elsewhere,
    event,
    event_frame,
    frame,
    learning_from,
    ledger_in,
    ordinary,
    tell,
    words,
)

UID = "7f0c2a54-1111-4222-8333-444455556666"
DIGEST = f"sha256:{'5' * 64}"
ENTERING = {"operation": "CONNECT", "kind": "PodExecOptions", "subresource": "exec"}
REFUSED = {"verdict": "deny", "allowed": False}
KEY = identity_key(WHO).hex()


def execs(number: int = 20) -> list[dict[str, Any]]:
    """Return decisions on entering Pods, one a second."""
    return [document(MORNING + each, request=dict(ENTERING)) for each in range(number)]


def refusals(number: int = 18) -> list[dict[str, Any]]:
    """Return refusals, each of another rule."""
    said = {"action": "deny", "path": "spec", "message": "no", "remedy": ""}
    return [
        document(MORNING + each, **REFUSED, findings=[{"rule": f"a/{each}", **said}])
        for each in range(number)
    ]


def bare_pod(at: float = MORNING, **changes: Any) -> dict[str, Any]:
    """Return the decision on a Pod that somebody creates in a namespace that is new to them."""
    asked = {"kind": "Pod", "namespace": "team-b", "objectUid": UID, "digest": DIGEST}
    return document(at, request=asked | changes.pop("request", {}), **changes)


def life(made: float = MORNING, **changes: Any) -> Frame:
    """Return what `control` saw of a Pod when it was created."""
    ms = int(made * 1000)
    seen = PodLife(
        format=FORMAT,
        id=stable_id(ms, "pod-life", "prod-1", UID, "seen"),
        time=milli_text(ms),
        cluster="prod-1",
        event=LifeEvent.SEEN,
        uid=UID,
        namespace="team-b",
        name="debug",
        service_account="default",
        began=milli_text(ms),
        requester=WHO,
        digest=DIGEST,
    )
    seen = msgspec.structs.replace(seen, **changes)
    return Frame(FrameKind.POD_LIFE, decision_frame_id(seen.id), encode_life(seen))


async def known(ledger: Store, learning: BehaviourLearner) -> None:
    """Let six ordinary weeks be known, the last 30 days as kube-apiserver saw them."""
    assert learning.clusters["prod-1"].learnt == LEARNT
    del ledger


@pytest.mark.parametrize(
    ("made", "word"), [(execs, "exec-burst"), (refusals, "denials")], ids=["execs", "refusals"]
)
async def test_made_up_acts_teach_nothing_and_those_of_the_audit_log_do(
    tmp_path: Path, made: Callable[[], list[dict[str, Any]]], word: str
) -> None:
    """20 execs and 18 refusals under somebody's object id do not make them an attacker."""
    clock = Clock(MORNING + 60)
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            await known(ledger, learning)
            acts = made()
            await tell(ledger, learning, *map(frame, acts))
            assert words(await ask(learning)) == {}
            assert learning.clusters["prod-1"].learnt == LEARNT
            await tell(ledger, learning, *[event_frame(event(each)) for each in acts])
            assert words(await ask(learning)) == {KEY: {word}}


async def test_the_event_may_come_before_the_decision(tmp_path: Path) -> None:
    """A gate ships late: the event waits for it, and teaches once."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            decided, seen = elsewhere(MORNING)
            await tell(ledger, learning, seen)
            assert words(await ask(learning)) == {}
            clock.now += 60
            await tell(ledger, learning, decided)
            assert words(await ask(learning)) == {KEY: {"new-namespace"}}
            assert learning.clusters["prod-1"].learnt == LEARNT + 1
            clock.now += 3600
            await learning.follow()
            assert learning.clusters["prod-1"].learnt == LEARNT + 1


@pytest.mark.parametrize(
    "otherwise",
    [
        {"principal": OTHER},
        {"succeeded": False},
        {"operation": "delete jobs"},
        {"operation": "create jobs/status"},
        {"operation": "create pods"},
        {"resource": "team-b/another"},
        {"cluster": "prod-2"},
    ],
)
async def test_an_event_that_says_otherwise_confirms_nothing(
    tmp_path: Path, otherwise: dict[str, Any]
) -> None:
    """A gate that is taken over names another user, or another request, than kube-apiserver."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            made = document(MORNING, request={"namespace": "team-b", "name": "finetune"})
            seen = event(made, **{"resource": "team-b/finetune", **otherwise})
            await ledger.deliver(otherwise.get("cluster", "prod-1"), [event_frame(seen)])
            await tell(ledger, learning, frame(made))
            assert words(await ask(learning)) == {}
            assert learning.clusters["prod-1"].learnt == LEARNT
            assert learning.confirmed.results["differs"] == ("cluster" not in otherwise)


async def test_an_event_of_another_hour_or_namespace_confirms_nothing(tmp_path: Path) -> None:
    """Nor one whose annotation is no decision's id."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            made = document(MORNING, request={"namespace": "team-b"})
            facts = event(made).facts
            late = milli_text(uuid7_unix_ms(made["id"]) + 90_000)
            wrong = [
                event(made, facts=facts | {"namespace": "team-a"}),
                event(made, time=late),
                event(made, facts={"decision": "not-an-id"}),
                event(made, facts={"decision": 7, "decisions": "x"}),
            ]
            for number, each in enumerate(wrong):
                other = stable_id(uuid7_unix_ms(made["id"]), "activity", str(number))
                seen = msgspec.structs.replace(each, id=other)
                await tell(ledger, learning, event_frame(seen))
            await tell(ledger, learning, frame(made))
            assert learning.clusters["prod-1"].learnt == LEARNT


async def test_a_pod_that_lives_confirms_its_creation(tmp_path: Path) -> None:
    """By UID, digest and the requester noted on it, within seconds."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            await tell(ledger, learning, frame(bare_pod()))
            assert words(await ask(learning)) == {}
            await tell(ledger, learning, life())
            assert words(await ask(learning)) == {KEY: {"new-namespace"}}
            assert learning.confirmed.results["object"] == 1


@pytest.mark.parametrize(
    ("decided", "seen"),
    [
        ({}, {"requester": OTHER}),
        ({}, {"requester": ""}),
        ({}, {"digest": f"sha256:{'6' * 64}"}),
        ({}, {"digest": ""}),
        ({"request": {"digest": ""}}, {}),
        ({}, {"namespace": "team-a"}),
        ({}, {"event": LifeEvent.ADDRESSED}),
        ({"request": {"operation": "UPDATE"}}, {}),
        (REFUSED, {}),
        ({"at": MORNING + 40}, {}),
        ({"at": MORNING - 10}, {}),
    ],
)
async def test_a_copied_uid_confirms_nothing(
    tmp_path: Path, decided: dict[str, Any], seen: dict[str, Any]
) -> None:
    """Whoever may read a Pod knows its UID, and can name it in a request that is made up."""
    clock = Clock(MORNING + 60)
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            await tell(ledger, learning, frame(bare_pod(**decided)), life(**seen))
            assert words(await ask(learning)) == {}
            assert learning.clusters["prod-1"].learnt == LEARNT


async def test_one_object_confirms_one_decision(tmp_path: Path) -> None:
    """A copy of a request that took place teaches nothing more."""
    clock = Clock(MORNING + 60)
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            copies = [frame(bare_pod(MORNING + each)) for each in range(25)]
            await tell(ledger, learning, *copies, life())
            assert learning.clusters["prod-1"].learnt == LEARNT + 1


async def test_without_an_audit_log_it_says_that_it_is_off(tmp_path: Path) -> None:
    """Whatever gates record; once an event comes it is on, and off again when none comes."""
    clock = Clock()
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary(seen=False))
        async with learning_from(ledger, clock) as learning:
            assert (await ask(learning)).learning.startswith("off: no audit source: ")
            await tell(ledger, learning, *confirmed(document(MORNING)))
            assert (await ask(learning)).learning.startswith("nothing is unusual before")
            clock.now += 4 * 86_400
            said = (await ask(learning)).learning
            assert said.startswith("off: no audit source: ")
            assert "since 2025-02-10T10:00:00" in said


async def test_a_stranger_takes_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many decisions are made up, what waits is what kube-apiserver saw."""
    monkeypatch.setattr("audit.behaviour.confirmed_acts.MOST_WAITING", 3)
    clock = Clock(MORNING + 60)
    async with ledger_in(tmp_path, clock) as ledger:
        await ledger.deliver("prod-1", ordinary())
        async with learning_from(ledger, clock) as learning:
            decided, seen = elsewhere(MORNING)
            await tell(ledger, learning, seen)
            await tell(ledger, learning, *map(frame, execs(200)))
            clock.now += 10
            await tell(ledger, learning, decided)
            assert words(await ask(learning)) == {KEY: {"new-namespace"}}
            assert learning.confirmed.results["unrecorded"] == 0
            await tell(ledger, learning, *[event_frame(event(document(MORNING))) for _ in range(9)])
            assert learning.confirmed.results["unrecorded"] == 6
