"""The auditor as a process: what it learnt survives SIGKILL, and control hears of it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from audit.behaviour.protocol import BehaviourAnswer
from audit.clients.auditor import AuditorClient
from audit.clients.behaviour import BehaviourClient
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from core.base.errors import LedgerError
from core.risk.model import identity_key
from tests.harness.programs.recorded_gate import CLUSTER, Recorded
from tests.unit.audit.behaviour.acts_of_people import DAY, HOUR, WHO, document
from tests.unit.webhooks.connection import until

NEW = "user:0123456789abcdef"


def frame(at: float, requester: str = WHO, namespace: str = "team-a") -> Frame:
    """Return the frame of a workload that somebody submitted."""
    made = document(at, requester=requester, request={"namespace": namespace})
    made["cluster"] = CLUSTER
    return Frame(FrameKind.DECISION, decision_frame_id(made["id"]), msgspec.json.encode(made))


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Processes that may be started."""
    return Recorded(tmp_path)


@asynccontextmanager
async def asking(recorded: Recorded, name: str = "control") -> AsyncIterator[BehaviourClient]:
    """Yield who asks with a pair's certificate."""
    channel = recorded.certificates.channel(recorded.auditor_port, name)
    try:
        yield BehaviourClient(channel, CLUSTER)
    finally:
        await channel.close()


async def deliver(recorded: Recorded, *frames: Frame) -> None:
    """Have the auditor keep frames, as the gate does."""
    folder = recorded.certificates.folder
    pair = (folder / "client.crt", folder / "client.key")
    url = f"https://localhost:{recorded.auditor_port}"
    client = AuditorClient(url, recorded.certificates.ca, *pair)
    try:
        await client.deliver(CLUSTER, frames)
    finally:
        await client.close()


async def told(client: BehaviourClient) -> dict[str, set[str]]:
    """Return the words by key, once the auditor has learnt."""
    answer: BehaviourAnswer = await client.ask("")
    deadline = time.monotonic() + 60
    while answer.learning:
        assert time.monotonic() < deadline, answer.learning
        answer = await client.ask("")
    return {each.key: set(each.until) for each in answer.unusual}


async def test_what_was_learnt_outlives_the_process(recorded: Recorded) -> None:
    """From the ledger where nothing was saved, from the file afterwards; each after SIGKILL."""
    now = time.time()
    try:
        recorded.start_auditor()
        start = now - 25 * DAY
        await deliver(recorded, *[frame(start + n * 6 * HOUR) for n in range(90)])
        recorded.kill("auditor")
        recorded.start_auditor()
        async with asking(recorded) as client:
            assert await told(client) == {}
            saved = recorded.database.with_name("ledger.db.behaviour")
            await until(saved.exists)
            await deliver(recorded, frame(now, namespace="team-b"), frame(now, NEW))
            found = {
                identity_key(WHO).hex(): {"new-namespace"},
                identity_key(NEW).hex(): {"new-cluster"},
            }
            assert await told(client) == found
        recorded.kill("auditor")
        recorded.start_auditor()
        async with asking(recorded) as client:
            assert await told(client) == {}  # The last minute was not saved yet.
            await deliver(recorded, frame(now + 1, namespace="team-c"))
            assert await told(client) == {identity_key(WHO).hex(): {"new-namespace"}}
    finally:
        recorded.stop()


async def test_a_gate_may_not_ask(recorded: Recorded) -> None:
    """Whoever takes over a gate learns nothing of what people do."""
    try:
        recorded.start_auditor()
        async with asking(recorded, "client") as client:
            with pytest.raises(LedgerError, match="403"):
                await client.ask("")
    finally:
        recorded.stop()
