"""The auditor as a process: what it learnt survives SIGKILL, and control hears of it."""

import asyncio
import datetime as dt
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from audit.behaviour.protocol import BehaviourAnswer
from audit.clients.auditor import AuditorChannel, AuditorClient
from audit.clients.behaviour import BehaviourClient
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from core.base.errors import LedgerError
from core.base.ids import uuid7_unix_ms
from core.base.times import milli_text
from core.risk.model import identity_key
from tests.harness.programs.recorded_gate import CLUSTER, Recorded
from tests.unit.audit.access.parsers.activity_records import kubernetes
from tests.unit.audit.behaviour.acts_of_people import DAY, HOUR, WHO, document
from tests.unit.webhooks.connection import until

NEW = "oid:00000000-aaaa-4bbb-8ccc-0123456789ab"


def decided(at: float, requester: str = WHO, namespace: str = "team-a") -> dict[str, Any]:
    """Return the decision on a workload that somebody submitted."""
    made = document(at, requester=requester, request={"namespace": namespace})
    made["cluster"] = CLUSTER
    return made


def frame(made: dict[str, Any]) -> Frame:
    """Return the frame of a decision."""
    return Frame(FrameKind.DECISION, decision_frame_id(made["id"]), msgspec.json.encode(made))


def export(logs: Path, *decisions: dict[str, Any]) -> None:
    """Write what kube-apiserver's audit log says of their requests, as AKS exports it.

    Azure/azure-monitor docs: category `kube-audit`, the event as a text in `properties.log`.
    """
    hour = dt.datetime.now(dt.UTC)
    blob = logs / "insights-logs-kube-audit" / "resourceId=" / "SUBSCRIPTIONS" / "S" / "CLUSTER"
    blob /= f"y={hour:%Y}/m={hour:%m}/d={hour:%d}/h={hour:%H}/m=00/PT1H.json"
    blob.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for made in decisions:
        time = milli_text(uuid7_unix_ms(made["id"]))
        event = kubernetes(
            "create",
            "jobs",
            username="grace@example.com",
            annotations={"workloads.sallyport.dev/decision": made["id"]},
            auditID=made["id"],
            requestReceivedTimestamp=time,
        )
        event["objectRef"]["namespace"] = made["request"]["namespace"]
        event["user"]["extra"] = {"oid": [made["requester"].removeprefix("oid:")]}
        properties = {"log": msgspec.json.encode(event).decode(), "stream": "stdout"}
        lines.append({"category": "kube-audit", "time": time, "properties": properties})
    with blob.open("ab") as file:
        file.write(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


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
    client = AuditorClient(AuditorChannel(url, recorded.certificates.ca, *pair))
    try:
        await client.deliver(CLUSTER, frames)
    finally:
        await client.close()


async def told(client: BehaviourClient, until_: set[str] | None = None) -> dict[str, set[str]]:
    """Return the words by key, once the auditor has learnt and tells of so many."""
    deadline = time.monotonic() + 60
    while True:
        answer: BehaviourAnswer = await client.ask("")
        found = {each.key: set(each.until) for each in answer.unusual}
        if not answer.learning and (until_ is None or found.keys() == until_):
            return found
        assert time.monotonic() < deadline, (answer.learning, found)
        await asyncio.sleep(0.1)


async def test_what_was_learnt_outlives_the_process(recorded: Recorded, tmp_path: Path) -> None:
    """From the ledger where nothing was saved, from the file afterwards; each after SIGKILL."""
    now, logs = time.time(), tmp_path / "logs"
    start = now - 25 * DAY
    usual = [decided(start + n * 6 * HOUR) for n in range(90)]
    who, new = identity_key(WHO).hex(), identity_key(NEW).hex()
    logs.mkdir()
    try:
        recorded.start_auditor(logs)
        await deliver(recorded, *map(frame, usual))
        export(logs, *usual)
        await until(lambda: ingested(recorded) >= len(usual))
        recorded.stop()
        recorded.database.with_name("ledger.db.behaviour").unlink(missing_ok=True)
        recorded.start_auditor(logs)
        async with asking(recorded) as client:
            assert await told(client) == {}
            saved = recorded.database.with_name("ledger.db.behaviour")
            await until(saved.exists)
            acts = [decided(now, namespace="team-b"), decided(now, NEW)]
            made_up = [decided(now, namespace=f"team-{n}") for n in range(9)]
            await deliver(recorded, *map(frame, [*acts, *made_up]))
            export(logs, *acts)
            found = {who: {"new-namespace"}, new: {"new-cluster"}}
            assert await told(client, {who, new}) == found
        recorded.kill("auditor")
        recorded.start_auditor(logs)
        async with asking(recorded) as client:
            # The last minute was not saved: it is read from the ledger again.
            assert await told(client, {who, new}) == found
    finally:
        recorded.stop()


def ingested(recorded: Recorded) -> int:
    """Return how many activities the ledger has."""
    with closing(sqlite3.connect(recorded.database)) as connection:
        return int(connection.execute("select count(*) from activities").fetchone()[0])


async def test_a_gate_may_not_ask(recorded: Recorded) -> None:
    """Whoever takes over a gate learns nothing of what people do."""
    try:
        recorded.start_auditor()
        async with asking(recorded, "client") as client:
            with pytest.raises(LedgerError, match="403"):
                await client.ask("")
    finally:
        recorded.stop()
