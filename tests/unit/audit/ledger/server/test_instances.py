"""A gate records the decisions that it took, under its own ids, and speaks for no other gate."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from admission.judge import decision_ids_of
from audit.clients.auditor import AuditorChannel, AuditorClient
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.server.instances import NotProvedError
from audit.ledger.server.metrics import ReceiverCollector
from audit.ledger.server.receiver import ReceiverSettings
from audit.ledger.server.recorded_kinds import NOT_PROVED, why_not_recorded
from audit.ledger.server.requests import GATE, Sender
from control.weights.checkpoint import build_gap
from core.base.errors import LedgerError
from core.base.ids import (
    stable_id,
    uuid7,
    uuid7_unix_ms,
    writer_bits,
    writer_bits_of,
    writer_uuid7,
)
from core.base.times import milli_text
from core.decision.sweep_document import sweep_decision_id
from core.weights.documents.events import encode_event
from tests.unit.audit.loopback_auditor import CLUSTER, Auditor, Memory, running_auditor

MINE, OTHERS = "sallyport-gate-7c9-aaaaa", "sallyport-gate-7c9-bbbbb"
NOW_MS = 1_790_000_000_000
REQUIRED = ReceiverSettings(instances="require")
SWEEP, UID = uuid7(NOW_MS, 1), "0c7f6f0e-5a3c-4c0e-9c1d-6f6f2b1f0a11"


@dataclass
class Pods:
    """Says whose a token is."""

    names: dict[str, str] = field(default_factory=lambda: {"mine": MINE, "others": OTHERS})
    problem: str = ""

    async def prove(self, token: str) -> str:
        """Return the Pod's name."""
        if self.problem:
            raise LedgerError(self.problem)
        if token not in self.names:
            raise NotProvedError("kube-apiserver does not know it, or it is over")
        return self.names[token]


def decision(instance: str = MINE, writer: str = MINE, **changes: Any) -> Frame:
    """Return a decision that a gate says `instance` took, under an id of `writer`."""
    made = decision_ids_of(writer)() if writer else changes.pop("id")
    document = {"id": made, "source": "validate", "cluster": CLUSTER, "instance": instance}
    return Frame(
        FrameKind.DECISION, decision_frame_id(made), msgspec.json.encode(document | changes)
    )


def swept(of: str, uid: str, **changes: Any) -> Frame:
    """Return the decision of a sweep on an object."""
    fields = {"source": "sweep", "sweep": of, "request": {"objectUid": uid}}
    return decision("", "", id=sweep_decision_id(of, uid), **fields | changes)


def aggregate(instance: str = MINE, writer: str = MINE, **changes: Any) -> Frame:
    """Return an aggregate of a minute that a gate says `instance` counted, under such an id."""
    made = writer_uuid7(NOW_MS, writer) if writer else uuid7(NOW_MS)
    document = {
        "format": 1,
        "id": made,
        "time": milli_text(NOW_MS),
        "first": milli_text(NOW_MS - 59_000),
        "cluster": CLUSTER,
        "count": 1000,
        "verdict": "deny",
        "why": "budget",
        "instance": instance,
    }
    content = msgspec.json.encode(document | changes)
    return Frame(FrameKind.AGGREGATE, decision_frame_id(made), content)


@asynccontextmanager
async def sending(
    auditor: Auditor, tmp_path: Path, token: str | None, uri: str = "gate"
) -> AsyncIterator[AuditorClient]:
    """Yield a gate that shows a token."""
    file = None
    if token is not None:
        file = tmp_path / "token"
        file.write_text(f"{token}\n")
    pair = auditor.authority.issue_client("sender", f"sallyport://{CLUSTER}/{uri}")
    ca = auditor.authority.certificate_path
    client = AuditorClient(AuditorChannel(auditor.url, ca, pair.certificate, pair.key, token=file))
    try:
        yield client
    finally:
        await client.close()


def unproved_shown(collector: ReceiverCollector) -> dict[str, float]:
    """Return what a scrape says of records without proof, by the setting."""
    (family,) = (each for each in collector.collect() if each.name == "sallyport_unproved_records")
    totals = [each for each in family.samples if each.name.endswith("_total")]
    return {each.labels["instances"]: each.value for each in totals}


@pytest.mark.parametrize("uri", ["gate", f"gate/{MINE}"])
async def test_a_gate_stores_no_decision_of_another_gate(tmp_path: Path, uri: str) -> None:
    """Nor one under an id that another writer gives: both are set aside, with the reason.

    Its instance is proved by its token, or by a certificate of its own.
    """
    memory = Memory()
    async with (
        running_auditor(tmp_path, memory, REQUIRED, prover=Pods()) as auditor,
        sending(auditor, tmp_path, "mine", uri) as client,
    ):
        own, forged, taken = decision(), decision(OTHERS, OTHERS), decision(MINE, OTHERS)
        receipt = await client.deliver(CLUSTER, [own, forged, taken])
    assert (receipt.stored, receipt.quarantined) == (1, 2)
    assert list(memory.kept.values()) == [own]
    assert [each.reason for each in memory.quarantined] == [
        f"the gate {MINE} took no decision of the gate {OTHERS}",
        f"the gate {MINE} gives its decisions other ids: this is another writer's",
    ]


async def test_an_own_certificate_counts_before_a_token(tmp_path: Path) -> None:
    """Another gate's token does not make it that gate."""
    memory = Memory()
    async with (
        running_auditor(tmp_path, memory, REQUIRED, prover=Pods()) as auditor,
        sending(auditor, tmp_path, "others", f"gate/{MINE}") as client,
    ):
        await client.deliver(CLUSTER, [decision(OTHERS, OTHERS)])
    assert not memory.kept


async def test_what_no_token_proves_is_set_aside_or_taken_as_the_operator_says(
    tmp_path: Path,
) -> None:
    """`require` sets decisions aside, `check` takes those of gates of an earlier release."""
    former = decision("", "", id=stable_id(1_790_000_000_000, "decision", "former"))
    projection = Frame(FrameKind.PROJECTION, b"\x05" * 32, b"{}")
    for settings, stored in ((REQUIRED, 1), (ReceiverSettings(), 2)):
        memory = Memory()
        async with (
            running_auditor(tmp_path, memory, settings, prover=Pods()) as auditor,
            sending(auditor, tmp_path, None) as client,
        ):
            receipt = await client.deliver(CLUSTER, [former, projection])
        assert (receipt.stored, receipt.quarantined) == (stored, 2 - stored)
        assert auditor.receiver.unproved == {settings.instances: stored - 1}
        assert all("shipping.token" in each.reason for each in memory.quarantined)


async def test_records_without_proof_are_counted_once_they_are_kept(tmp_path: Path) -> None:
    """An operator sees whether `require` would set anything aside; a second try counts once."""
    memory, former = Memory(), decision("", "", id=stable_id(NOW_MS, "decision", "a"))
    async with running_auditor(tmp_path, memory, prover=Pods()) as auditor:
        receiver = auditor.receiver
        collector = ReceiverCollector(
            lambda: receiver.received, lambda: receiver.answers, lambda: receiver.unproved
        )
        async with sending(auditor, tmp_path, "mine") as client:
            await client.deliver(CLUSTER, [decision(), aggregate()])
            assert unproved_shown(collector) == {"check": 0}
            memory.failing = True
            with pytest.raises(LedgerError):
                await client.deliver(CLUSTER, [former])
            memory.failing = False
            await client.deliver(CLUSTER, [former])
        async with sending(auditor, tmp_path, None) as client:
            await client.deliver(CLUSTER, [decision(), aggregate()])
        assert unproved_shown(collector) == {"check": 3}


async def test_a_token_that_proves_nothing_is_refused(tmp_path: Path) -> None:
    """The gate keeps its records, and tries again with the next token."""
    memory, pods = Memory(), Pods()
    async with running_auditor(tmp_path, memory, REQUIRED, prover=pods) as auditor:
        async with sending(auditor, tmp_path, "over") as client:
            with pytest.raises(LedgerError, match=r"answered 403: .*shipping\.token"):
                await client.deliver(CLUSTER, [decision()])
        async with sending(auditor, tmp_path, "mine") as client:
            pods.problem = "kube-apiserver does not answer"
            with pytest.raises(LedgerError, match="answered 503"):
                await client.deliver(CLUSTER, [decision()])
            pods.problem = ""
            assert (await client.deliver(CLUSTER, [decision()])).stored == 1
            (tmp_path / "token").unlink()
            with pytest.raises(LedgerError, match=r"shipping\.token cannot be read"):
                await client.deliver(CLUSTER, [decision()])
    assert len(memory.kept) == 1
    assert not memory.quarantined


async def test_a_gate_counts_no_refusals_in_the_name_of_another(tmp_path: Path) -> None:
    """Aggregates are proved as decisions are; without a token none is taken."""
    memory = Memory()
    own = aggregate()
    async with running_auditor(tmp_path, memory, REQUIRED, prover=Pods()) as auditor:
        async with sending(auditor, tmp_path, "mine") as client:
            sent = [own, aggregate(OTHERS, OTHERS), aggregate(MINE, OTHERS)]
            receipt = await client.deliver(CLUSTER, sent)
        assert (receipt.stored, receipt.quarantined) == (1, 2)
        async with sending(auditor, tmp_path, None) as client:
            assert (await client.deliver(CLUSTER, [aggregate()])).quarantined == 1
    assert list(memory.kept.values()) == [own]
    assert (
        sum("nothing proves which gate it is of" in each.reason for each in memory.quarantined) == 1
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"why": "size"}, "gate records no aggregates of what went by size"),
        ({"count": 10**15}, "more than a gate can answer in that time"),
        ({"count": 600_001}, "more than a gate can answer in that time"),
        ({"first": "2020-01-01T00:00:00.000Z", "count": 1}, "no gate does"),
        ({"first": milli_text(NOW_MS + 1), "count": 1}, "no gate does"),
        ({"first": "long ago", "count": 1}, "a time that is none"),
    ],
    ids=str,
)
def test_an_aggregate_says_no_more_than_a_gate_can_have_counted(
    changes: dict[str, Any], why: str
) -> None:
    """A shipping certificate alone must not write a number into reports that means nothing."""
    for sender in (Sender(GATE, MINE), Sender(GATE)):
        assert why in why_not_recorded(sender, aggregate(**changes))
        assert why_not_recorded(sender, aggregate(count=600_000)) in {"", NOT_PROVED}


async def test_a_spool_that_outlives_the_upgrade_is_taken_or_not_as_the_operator_says(
    tmp_path: Path,
) -> None:
    """The new Pod shows its token and ships what the Pod before it wrote, which names no gate."""
    former = decision("", "", id=stable_id(NOW_MS, "decision", "former"))
    for settings, stored in ((REQUIRED, 1), (ReceiverSettings(), 2)):
        memory = Memory()
        async with (
            running_auditor(tmp_path, memory, settings, prover=Pods()) as auditor,
            sending(auditor, tmp_path, "mine") as client,
        ):
            receipt = await client.deliver(CLUSTER, [former, decision()])
        assert (receipt.stored, receipt.quarantined) == (stored, 2 - stored)
        assert all("nothing proves which gate" in each.reason for each in memory.quarantined)
    assert why_not_recorded(Sender(GATE, MINE), aggregate("", "")) == NOT_PROVED


async def test_control_needs_no_token(tmp_path: Path) -> None:
    """It has a certificate that no gate has."""
    memory = Memory()
    async with (
        running_auditor(tmp_path, memory, REQUIRED, prover=Pods()) as auditor,
        sending(auditor, tmp_path, None, "control") as client,
    ):
        assert (await client.deliver(CLUSTER, [swept(SWEEP, UID)])).stored == 1


@pytest.mark.parametrize(
    ("claimed", "reason"),
    [
        ({}, "it does not say of which sweep it is"),
        ({"sweep": SWEEP}, "does not follow from its sweep and object"),
        ({"sweep": "no id"}, "cannot be read here"),
        ({"sweep": 7}, ""),
    ],
)
async def test_control_takes_no_id_that_a_gate_gives(
    tmp_path: Path, claimed: dict[str, Any], reason: str
) -> None:
    """The id of a sweep's decision follows from the sweep and the object; a gate's does not."""
    memory = Memory()
    of_gate = decision(source="sweep", request={"objectUid": UID}, **claimed)
    other_object = swept(SWEEP, UID, request={"objectUid": "another"})
    async with (
        running_auditor(tmp_path, memory, REQUIRED, prover=Pods()) as auditor,
        sending(auditor, tmp_path, None, "control") as client,
    ):
        receipt = await client.deliver(CLUSTER, [of_gate, other_object])
    assert receipt.quarantined == (2 if reason else 1)
    assert reason in memory.quarantined[0].reason


@pytest.mark.parametrize("settings", [ReceiverSettings(), REQUIRED])
async def test_a_sweep_of_an_earlier_release_counts_until_instances_are_required(
    tmp_path: Path, settings: ReceiverSettings
) -> None:
    """Its decisions name no sweep, and a spool can outlive an upgrade."""
    memory = Memory()
    async with (
        running_auditor(tmp_path, memory, settings, prover=Pods()) as auditor,
        sending(auditor, tmp_path, None, "control") as client,
    ):
        receipt = await client.deliver(CLUSTER, [swept(SWEEP, UID, sweep="")])
    assert receipt.stored == (settings.instances != "require")


async def test_control_records_no_gap_of_the_auditors_logs(tmp_path: Path) -> None:
    """The id of a gap follows from what it names: the first record of it would count."""
    memory = Memory()
    async with (
        running_auditor(tmp_path, memory) as auditor,
        sending(auditor, tmp_path, None, "control") as client,
    ):
        found = [
            build_gap(CLUSTER, log, "of a test", 1_790_000_000.0, 1_790_000_060.0, "it was away")
            for log in ("storage", "kubernetes-audit", "pods", "identities")
        ]
        gaps = [
            Frame(FrameKind.LOG_GAP, decision_frame_id(each.id), encode_event(each))
            for each in found
        ]
        receipt = await client.deliver(CLUSTER, gaps)
    assert (receipt.stored, receipt.quarantined) == (2, 2)
    assert "control records no gaps of the log storage" in memory.quarantined[0].reason


def test_ids_of_two_gates_never_meet() -> None:
    """They are UUIDs of version 7 that sort by time, and each shows its writer."""
    mine = [writer_uuid7(1_790_000_000_000, MINE) for _ in range(2000)]
    others = [writer_uuid7(1_790_000_000_000, OTHERS) for _ in range(2000)]
    assert len({*mine, *others}) == 4000
    for ids, writer in ((mine, MINE), (others, OTHERS)):
        for each in ids:
            read = bytes.fromhex(each.replace("-", ""))
            assert (read[6] >> 4, read[8] >> 6) == (7, 2)
            assert writer_bits_of(read) == writer_bits(writer)
            assert uuid7_unix_ms(each) == 1_790_000_000_000


@pytest.mark.parametrize("uri", ["gate-1", "auditor", "control/pod", "gate/", ""])
async def test_another_name_of_a_process_is_refused_with_those_that_are_taken(
    tmp_path: Path, uri: str
) -> None:
    """Whoever issues certificates reads in the auditor's log which URIs it takes."""
    memory = Memory()
    with capture_logs() as log:
        async with (
            running_auditor(tmp_path, memory) as auditor,
            sending(auditor, tmp_path, None, uri) as client,
        ):
            with pytest.raises(LedgerError, match="answered 403"):
                await client.deliver(CLUSTER, [decision()])
    assert not memory.kept
    if uri:
        said = next(line["problem"] for line in log if line["event"] == "frames refused")
        names = f"sallyport://{CLUSTER}/control or sallyport://{CLUSTER}/gate"
        assert (
            said == f"the client certificate must carry one URI {names}; a gate's may end in /POD"
        )
