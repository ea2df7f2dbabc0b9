"""What identities read of the weights: asked of an auditor with a real ledger, over mutual TLS."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from audit.access.server import reads as module
from audit.access.server.reads import make_reads_answerer
from audit.access.server.reads_protocol import FORMAT, PATH, ReadsPage, ReadsSubject
from audit.clients.auditor import AuditorChannel
from audit.clients.look_back import AuditorReads
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.server.service import BadQuestionError, Question
from audit.ledger.store.store import Store
from control.risk.look_back import weight_reads as look_back_reads
from control.risk.look_back.weight_reads import TOO_MANY_ACCESSES, weight_reads
from core.base.errors import LedgerError
from core.base.ids import uuid7
from core.base.times import milli_text
from core.risk.look_back import StoreReads
from core.risk.model import identity_key
from core.weights.documents.access import (
    Access,
    AccessedBy,
    Act,
    Attribution,
    Confidence,
    SignedBy,
    encode_access,
)
from identity.look_back.subjects import IdentityAtRisk
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS
from tests.unit.audit.loopback_auditor import running_auditor

ALICE = "oid:11111111-2222-4333-8444-555555555501"
ROBOT = "oid:0a000000-0000-4000-8000-000000000001"
CLIENT = "0b000000-0000-4000-8000-000000000001"
HOUR_MS = 3_600_000
UNTIL_MS = NOW_MS + HOUR_MS


@asynccontextmanager
async def asking(folder: Path, store: Store, cluster: str = CLUSTER) -> AsyncIterator[AuditorReads]:
    """Yield a client of the control of a cluster."""
    questions = {PATH: make_reads_answerer(store)}
    async with running_auditor(folder, store, questions=questions) as auditor:
        pair = auditor.authority.issue_client("control", f"sallyport://{cluster}/control")
        ca = auditor.authority.certificate_path
        channel = AuditorChannel(auditor.url, ca, pair.certificate, pair.key)
        try:
            yield AuditorReads(channel, cluster)
        finally:
            await channel.close()


def read(at_ms: int = NOW_MS, by: str = "", exact: bool = True, **changes: Any) -> Access:  # noqa: FBT001, FBT002
    """Return a read of weights by ROBOT, whose Pod was asked for by `by`."""
    pods = [AccessedBy(pod="team/train", uid="u", requester=by)] if by else []
    confidence = Confidence.EXACT if exact else Confidence.ONE_OF
    given = {
        "id": uuid7(at_ms),
        "time": milli_text(at_ms),
        "cluster": CLUSTER,
        "account": "weightsprod",
        "container": "llama",
        "store": "frontier",
        "operation": "GetBlob",
        "act": Act.READ,
        "status": 200,
        "signed_by": SignedBy.OAUTH,
        "principal": ROBOT.removeprefix("oid:"),
        "application": CLIENT,
        "bytes_out": 1000,
        "attribution": Attribution(confidence=confidence, why="", among=1, pods=pods),
        "grant": "team/g@u",
    }
    return Access(format=1, **{**given, **changes})


async def keep(store: Store, *accesses: Access, cluster: str = CLUSTER) -> None:
    """Put accesses into the ledger."""
    frames = [
        Frame(FrameKind.ACCESS, decision_frame_id(each.id), encode_access(each))
        for each in accesses
    ]
    receipt = await store.deliver(cluster, frames)
    assert receipt.stored == len(accesses)


def risen(*labels: str, begin_ms: int = 0, clients: frozenset[str] = frozenset()) -> IdentityAtRisk:
    """Return somebody who is looked back on."""
    key = identity_key(labels[0].removeprefix("oid:"))
    return IdentityAtRisk(key, labels, None, 0, begin_ms // 1000, client_ids=clients)


async def asked(source: AuditorReads, *whose: IdentityAtRisk) -> list[list[StoreReads]]:
    """Return what each read; all of it was gone through."""
    found, gaps = await weight_reads(source, whose, UNTIL_MS, lambda _: None)
    assert gaps == []
    return [found[each.key] for each in whose]


async def test_reads_of_a_human_are_those_of_the_pods_they_asked_for(
    store: Store, tmp_path: Path
) -> None:
    """Summed by store, with how many no grant covered, and how many may have been another's."""
    made = [
        read(NOW_MS - 3000, ALICE),
        read(NOW_MS - 2000, ALICE, grant="", ungranted="it had expired"),
        read(NOW_MS - 1000, ALICE, exact=False, bytes_out=7),
        read(NOW_MS, ALICE, store="other", bytes_out=5),
    ]
    await keep(store, *made)
    async with asking(tmp_path, store) as source:
        ((first, second),) = await asked(source, risen(ALICE))
    assert first == StoreReads(
        store="frontier",
        reads=3,
        bytes=2007,
        first=milli_text(NOW_MS - 3000),
        last=milli_text(NOW_MS - 1000),
        ungranted=1,
        by_pods=3,
        unsure=1,
    )
    assert (second.store, second.reads, second.bytes) == ("other", 1, 5)


async def test_reads_of_a_service_principal_are_those_that_were_signed_as_it(
    store: Store, tmp_path: Path
) -> None:
    """By object id or client id, each once; whose Pod it was changes nothing."""
    await keep(store, read(by=ALICE), read(principal=""), read(application="", exact=False))
    robot = risen(ROBOT, clients=frozenset({CLIENT}))
    async with asking(tmp_path, store) as source:
        ((found,),) = await asked(source, robot)
    assert (found.reads, found.by_pods, found.unsure) == (3, 0, 0)


async def test_what_is_no_read_of_weights_or_another_clusters_is_not_there(
    store: Store, tmp_path: Path
) -> None:
    """Nor what was refused, listed, done before the window, or by somebody else."""
    others = [
        read(by=ALICE, store=""),
        read(by=ALICE, act=Act.LIST),
        read(by=ALICE, status=403),
        read(NOW_MS - 2 * HOUR_MS, ALICE),
        read(by="oid:11111111-2222-4333-8444-555555555502"),
    ]
    await keep(store, *others)
    await keep(store, read(by=ALICE, cluster="other"), cluster="other")
    async with asking(tmp_path, store) as source:
        assert await asked(source, risen(ALICE, begin_ms=NOW_MS - HOUR_MS)) == [[]]


async def test_many_reads_and_many_identities_come_in_parts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each read once, for each identity from its own time on."""
    monkeypatch.setattr(module, "ROWS", 7)
    monkeypatch.setattr(look_back_reads, "MOST_LABELS", 2)
    await keep(store, *[read(NOW_MS - number // 3 * 1000, ALICE) for number in range(30)])
    later = risen(ROBOT, begin_ms=NOW_MS - 4000, clients=frozenset({CLIENT}))
    async with asking(tmp_path, store) as source:
        ((alice,), (robot,), none) = await asked(
            source, risen(ALICE), later, risen("user:" + "0" * 16)
        )
    assert (alice.reads, robot.reads, none) == (30, 15, [])


async def test_more_than_can_be_read_is_said(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads it knows that the latest are missing."""
    monkeypatch.setattr(module, "ROWS", 2)
    monkeypatch.setattr(look_back_reads, "MOST_ACCESS_PAGES", 2)
    await keep(store, *[read(NOW_MS - number, ALICE) for number in range(5)])
    async with asking(tmp_path, store) as source:
        found, gaps = await weight_reads(source, [risen(ALICE)], UNTIL_MS, lambda _: None)
    assert gaps == [TOO_MANY_ACCESSES]
    assert [each.reads for each in found[risen(ALICE).key]] == [4]


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"until": "1"}, "subjects: give oid:"),
        ({"subjects": "alice@example.com", "until": "1"}, "subjects: give oid:"),
        ({"subjects": ",".join([f"{ALICE}@0"] * 51), "until": "1"}, "50 at most"),
        ({"subjects": f"{ALICE}@0", "until": "-1"}, "until: give milliseconds"),
        ({"subjects": f"{ALICE}@0", "until": "1", "after": "x"}, "after: give an id"),
        ({"subjects": f"{ALICE}@0", "until": "1", "more": "x"}, "'more': there is no such"),
    ],
    ids=["none", "name", "many", "until", "after", "unknown"],
)
async def test_a_bad_question_names_the_parameter(
    store: Store, parameters: dict[str, str], says: str
) -> None:
    """And what it must be; what was given is not repeated, for it may be a name."""
    with pytest.raises(BadQuestionError, match=says) as raised:
        await make_reads_answerer(store)(Question(CLUSTER, parameters))
    assert "alice" not in str(raised.value)


class Odd:
    """An auditor that answers something else."""

    name = "odd"

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    async def get(self, *_: object) -> bytes:
        """Answer."""
        return self.answer


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"[", "cannot be read"),
        (msgspec.json.encode(ReadsPage(FORMAT + 2, [])), "upgrade this"),
        (msgspec.json.encode(ReadsPage(FORMAT, [], "0")), "pages without an end"),
    ],
    ids=["broken", "format", "endless"],
)
async def test_an_odd_answer_is_an_error(answer: bytes, says: str) -> None:
    """It never passes for "read nothing"."""
    source = AuditorReads(Odd(answer), CLUSTER)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match=says):
        await source.page([ReadsSubject((ALICE,), 0)], 1, "1")
