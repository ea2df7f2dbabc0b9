"""What an identity was let do: asked of an auditor with a real ledger, over mutual TLS."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from audit.clients.auditor import AuditorChannel
from audit.clients.look_back import AuditorActs
from audit.ledger.server.acts import ROWS, make_acts_answerer
from audit.ledger.server.acts_protocol import FORMAT, PATH, ActsPage
from audit.ledger.server.service import BadQuestionError, Question
from audit.ledger.store.store import Store
from core.base.errors import LedgerError
from core.decision.decision import Verdict
from core.risk.look_back import RecordedAct
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS, document, frame
from tests.unit.audit.loopback_auditor import running_auditor

ALICE = "oid:11111111-2222-4333-8444-555555555501"
BOB = "user:0123456789abcdef"
HOUR_MS = 3_600_000


@asynccontextmanager
async def asking(folder: Path, store: Store, cluster: str = CLUSTER) -> AsyncIterator[AuditorActs]:
    """Yield a client of the control of a cluster."""
    questions = {PATH: make_acts_answerer(store.find)}
    async with running_auditor(folder, store, questions=questions) as auditor:
        pair = auditor.authority.issue_client("control", f"sallyport://{cluster}/control")
        ca = auditor.authority.certificate_path
        channel = AuditorChannel(auditor.url, ca, pair.certificate, pair.key)
        try:
            yield AuditorActs(channel, cluster)
        finally:
            await channel.close()


async def acts_of(
    source: AuditorActs, label: str, since_ms: int = 0, until_ms: int = NOW_MS + HOUR_MS
) -> list[RecordedAct]:
    """Return all acts, page by page."""
    found: list[RecordedAct] = []
    after = ""
    while True:
        page = await source.page(label, since_ms, until_ms, after)
        found += page.acts
        after = page.next
        if not after:
            return found


def did(at_ms: int = NOW_MS, requester: str = ALICE, **changes: Any) -> Any:
    """Return a decision of somebody's."""
    return document(at_ms, requester=requester, **changes)


async def test_an_exec_of_46_hours_ago_is_given(store: Store, tmp_path: Path) -> None:
    """With the Pod that was entered, and the decision's id."""
    entered = did(
        NOW_MS - 46 * HOUR_MS,
        operation="CONNECT",
        kind="PodExecOptions",
        subresource="exec",
        name="llm-0",
        object_uid="c7d3f5a0",
    )
    await store.deliver(CLUSTER, [frame(entered)])
    async with asking(tmp_path, store) as source:
        assert await acts_of(source, ALICE, NOW_MS - 48 * HOUR_MS) == [
            RecordedAct(
                id=entered.id,
                operation="CONNECT",
                kind="PodExecOptions",
                version="v1",
                namespace="train",
                name="llm-0",
                subresource="exec",
                uid="c7d3f5a0",
            )
        ]
        assert await acts_of(source, ALICE, NOW_MS - 45 * HOUR_MS) == []


async def test_only_what_this_identity_was_let_do_is_given(store: Store, tmp_path: Path) -> None:
    """Not what was refused, nor the mutating pass, nor what the sweep says, nor others' acts."""
    mine = did()
    others = [
        did(verdict=Verdict.DENY),
        did(source="mutate"),
        did(source="sweep"),
        did(dry_run=True),
        did(requester=BOB),
    ]
    await store.deliver(CLUSTER, [frame(each) for each in (mine, *others)])
    async with asking(tmp_path, store) as source:
        assert [each.id for each in await acts_of(source, ALICE)] == [mine.id]


async def test_another_clusters_acts_are_not_given(store: Store, tmp_path: Path) -> None:
    """Whoever shares the auditor reads nothing of its neighbours, whatever it asks."""
    await store.deliver("other", [frame(did(cluster="other"))])
    async with asking(tmp_path, store) as source:
        assert await acts_of(source, ALICE) == []


async def test_many_acts_come_in_pages(store: Store, tmp_path: Path) -> None:
    """Each once, the oldest first, also where a page ends between equal milliseconds."""
    made = [did(NOW_MS - number // 3) for number in range(2 * ROWS + 7)]
    await store.deliver(CLUSTER, [frame(each) for each in made])
    async with asking(tmp_path, store) as source:
        found = [each.id for each in await acts_of(source, ALICE)]
    assert found == sorted(each.id for each in made)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"since": "0", "until": "1"}, "subject: give oid:"),
        ({"subject": "alice@example.com", "since": "0", "until": "1"}, "subject: give oid:"),
        ({"subject": BOB, "since": "-1", "until": "1"}, "since: give milliseconds"),
        ({"subject": BOB, "since": "0"}, "until: give milliseconds"),
        ({"subject": BOB, "since": "0", "until": "1", "after": "x"}, "after: give an id"),
        ({"subject": BOB, "since": "0", "until": "1", "more": "x"}, "'more': there is no such"),
    ],
)
async def test_a_bad_question_names_the_parameter(
    store: Store, parameters: dict[str, str], says: str
) -> None:
    """And what it must be; what was given is not repeated, for it may be a name."""
    with pytest.raises(BadQuestionError, match=says) as raised:
        await make_acts_answerer(store.find)(Question(CLUSTER, parameters))
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
        (msgspec.json.encode(ActsPage(FORMAT + 2, [])), "upgrade this"),
        (msgspec.json.encode(ActsPage(FORMAT, [], "0")), "pages without an end"),
    ],
)
async def test_an_odd_answer_is_an_error(answer: bytes, says: str) -> None:
    """It never passes for "did nothing"."""
    source = AuditorActs(Odd(answer), CLUSTER)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match=says):
        await source.page(ALICE, 0, 1, "1")
