"""Questions to the auditor: who may ask, what is refused, and that frames pass by."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from audit.clients.auditor import AuditorChannel
from audit.ledger.server.service import AuditorServiceSettings, BadQuestionError, Question
from core.base.errors import LedgerError
from tests.harness.programs.pki import KeyPair
from tests.unit.audit.ledger.server.test_receiver import connect
from tests.unit.audit.ledger.spool.spools import frames
from tests.unit.audit.loopback_auditor import CLUSTER, Auditor, Memory, running_auditor
from tests.unit.webhooks.connection import Answer, Connection, until

PATH = "/v1/echo"
SETTINGS = AuditorServiceSettings(
    max_questions=3, max_cluster_questions=2, max_query_bytes=200, max_parameters=2, seconds=0.3
)


class Echo:
    """Answers with what is asked, or as it is told."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.error: Exception | None = None
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def __call__(self, question: Question) -> bytes:
        """Answer."""
        self.asked.append(question)
        await self.go_on.wait()
        if self.error is not None:
            raise self.error
        return msgspec.json.encode({"of": question.cluster, **question.parameters})


@pytest.fixture
def echo() -> Echo:
    """Who answers."""
    return Echo()


@pytest_asyncio.fixture
async def auditor(tmp_path: Path, echo: Echo) -> AsyncIterator[Auditor]:
    """A running auditor that answers questions."""
    async with running_auditor(tmp_path, Memory(), questions={PATH: echo}, serving=SETTINGS) as one:
        yield one


def control_of(auditor: Auditor, cluster: str = CLUSTER) -> KeyPair:
    """Return the pair of a cluster's control."""
    return auditor.authority.issue_client(f"control-{cluster}", f"sallyport://{cluster}/control")


async def ask(auditor: Auditor, pair: KeyPair, target: str = PATH, **changes: str | None) -> Answer:
    """Ask on a connection of its own; `changes` are headers, `method` the method."""
    method = changes.pop("method", "GET")
    headers = {"Host": "auditor", "Sallyport-Format": "1", "Sallyport-Cluster": CLUSTER}
    headers |= {name.replace("_", "-").title(): value or "" for name, value in changes.items()}
    lines = [
        f"{method} {target} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    connection: Connection = await connect(auditor, pair)
    try:
        return await connection.send("\r\n".join([*lines, "", ""]).encode())
    finally:
        await connection.close()


async def test_a_question_is_answered_for_the_certificates_cluster(
    auditor: Auditor, echo: Echo
) -> None:
    """Parameters arrive decoded; the answer is what was given."""
    answer = await ask(auditor, control_of(auditor), f"{PATH}?since=a%20b&page=")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert msgspec.json.decode(answer.body) == {"of": CLUSTER, "since": "a b", "page": ""}
    assert echo.asked == [Question(CLUSTER, {"since": "a b", "page": ""})]


@pytest.mark.parametrize(
    "uri",
    [
        f"sallyport://{CLUSTER}/gate",
        f"sallyport://{CLUSTER}/control/gate",
        f"sallyport://{CLUSTER}/",
        "sallyport://other/control",
    ],
)
async def test_only_the_clusters_control_may_ask(auditor: Auditor, echo: Echo, uri: str) -> None:
    """Neither a gate nor another cluster reads what was recorded."""
    answer = await ask(auditor, auditor.authority.issue_client("asker", uri))
    assert answer.status == 403
    assert f"sallyport://{CLUSTER}/control" in answer.body.decode()
    assert echo.asked == []


@pytest.mark.parametrize(
    ("target", "changes", "status", "says"),
    [
        (PATH, {"method": "POST"}, 405, "send a GET"),
        (PATH, {"sallyport_format": "3"}, 400, "Sallyport-Format must be 0 to 2"),
        (PATH, {"sallyport_cluster": ""}, 400, "must be a cluster's id"),
        (f"{PATH}?a=1&a=2", {}, 400, "names a parameter twice"),
        (f"{PATH}?a=1&b=2&c=3", {}, 400, "name=value"),
        (f"{PATH}?a", {}, 400, "name=value"),
        (f"{PATH}?a=%ff", {}, 400, "percent-encoded"),
        (f"{PATH}?a={'b' * 200}", {}, 400, "longer than 200 bytes"),
        (f"{PATH}/more", {}, 404, "only POST /v1/frames"),
    ],
)
async def test_what_is_no_such_question_is_refused(  # noqa: PLR0913, PLR0917  Each case has these.
    auditor: Auditor, echo: Echo, target: str, changes: dict[str, str], status: int, says: str
) -> None:
    """With the status and the words that tell what is wrong; nobody is asked."""
    answer = await ask(auditor, control_of(auditor), target, **changes)
    assert answer.status == status
    assert says in answer.body.decode()
    assert echo.asked == []


async def test_why_there_is_no_answer_is_told_without_the_ledgers_words(
    auditor: Auditor, echo: Echo
) -> None:
    """A bad question says what is wrong with it; a failing ledger keeps its words to the log."""
    control = control_of(auditor)
    echo.error = BadQuestionError("since: must be a number")
    answer = await ask(auditor, control)
    assert (answer.status, answer.body) == (400, b"since: must be a number\n")
    echo.error = LedgerError("the database at db.internal is gone")
    answer = await ask(auditor, control)
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert b"db.internal" not in answer.body


async def test_an_answer_that_takes_too_long_is_given_up(auditor: Auditor, echo: Echo) -> None:
    """503, and the room is free again."""
    echo.go_on.clear()
    control = control_of(auditor)
    for _ in range(3):
        assert (await ask(auditor, control)).status == 503
    echo.go_on.set()
    assert (await ask(auditor, control)).status == 200


async def test_one_cluster_asks_two_questions_at_a_time(auditor: Auditor, echo: Echo) -> None:
    """A third is asked to come again; another cluster is still answered."""
    echo.go_on.clear()
    control, other = control_of(auditor), control_of(auditor, "other")
    waiting = [asyncio.create_task(ask(auditor, control)) for _ in range(2)]
    await until(lambda: len(echo.asked) == 2)
    refused = await ask(auditor, control)
    assert (refused.status, b"try again" in refused.body) == (503, True)
    third = asyncio.create_task(ask(auditor, other, sallyport_cluster="other"))
    await until(lambda: len(echo.asked) == 3)
    echo.go_on.set()
    assert [each.status for each in await asyncio.gather(*waiting, third)] == [200] * 3


async def test_frames_are_taken_beside_questions(auditor: Auditor, echo: Echo) -> None:
    """Whoever ships is not asked to be control."""
    client = auditor.client()
    try:
        assert (await client.deliver(CLUSTER, frames(2))).stored == 2
    finally:
        await client.close()
    assert echo.asked == []


async def test_a_channel_asks_and_takes_no_endless_answer(auditor: Auditor, echo: Echo) -> None:
    """The client's side: parameters are encoded, failures are LedgerErrors that say what to do."""
    pair = control_of(auditor)
    channel = AuditorChannel(
        auditor.url, auditor.authority.certificate_path, pair.certificate, pair.key
    )
    try:
        answer = await channel.get(PATH, CLUSTER, {"since": "a&b"}, 1000)
        assert msgspec.json.decode(answer) == {"of": CLUSTER, "since": "a&b"}
        with pytest.raises(LedgerError, match="without an end"):
            await channel.get(PATH, CLUSTER, {"since": "a&b"}, 10)
        with pytest.raises(LedgerError, match="403: the client certificate is of another"):
            await channel.get(PATH, "other", {}, 1000)
        echo.error = LedgerError("no")
        with pytest.raises(LedgerError, match="503"):
            await channel.get(PATH, CLUSTER, {}, 1000)
    finally:
        await channel.close()
