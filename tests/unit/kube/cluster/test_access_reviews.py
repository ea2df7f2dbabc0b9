"""Only a clear answer of the cluster is an answer."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from core.base.errors import AccessReviewError
from core.people.subject import Subject
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.cluster.access_reviews import AccessQuestion, AccessReviews
from tests.unit.kube.scripted_server import Answer, ScriptedServer, reply, stream

QUESTION = AccessQuestion(
    Subject("alice", "7", ["team"], {"oid": ["x"]}), "use", "containerprofiles", "small", "train"
)


def status(**fields: Any) -> Answer:
    """Answer a review."""
    return reply({"kind": "SubjectAccessReview", "status": fields}, 201)


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        (status(allowed=True), True),
        (status(allowed=True, evaluationError="one of several failed"), True),
        (status(allowed=False), False),
        (status(allowed=False, denied=True, reason="no"), False),
    ],
)
async def test_a_clear_answer_is_given(
    answer: Answer, *, allowed: bool, connection: Connection, server: ScriptedServer
) -> None:
    """Yes and no, and the whole question on the wire."""
    server.answers = [answer]
    assert await AccessReviews(connection, LiveSettings()).ask(QUESTION) is allowed
    assert server.bodies[0]["spec"] == {
        "user": "alice",
        "uid": "7",
        "groups": ["team"],
        "extra": {"oid": ["x"]},
        "resourceAttributes": {
            "namespace": "train",
            "verb": "use",
            "group": "sallyport.dev",
            "resource": "containerprofiles",
            "name": "small",
        },
    }


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (status(allowed=False, evaluationError="webhook down"), "webhook down"),
        (status(allowed=True, denied=True), "both yes and no"),
        (status(), "no SubjectAccessReview"),
        (status(allowed="true"), "no SubjectAccessReview"),
        (reply([]), "no SubjectAccessReview"),
        (reply({"message": "slow down"}, 429), "429 slow down"),
        (reply({"message": "forbidden"}, 403), "deploy/rbac.yaml"),
        (stream(then="break"), "no answer"),
    ],
)
async def test_everything_else_is_an_error(
    answer: Answer, says: str, connection: Connection, server: ScriptedServer
) -> None:
    """No failure is ever taken for a no; the message names the right and the reason."""
    server.answers = [answer]
    with pytest.raises(AccessReviewError, match=says) as caught:
        await AccessReviews(connection, LiveSettings()).ask(QUESTION)
    assert "use containerprofiles.sallyport.dev/small" in str(caught.value)


async def test_no_answer_in_time_is_an_error(
    connection: Connection, server: ScriptedServer
) -> None:
    """The setting bounds the whole, the wait for a turn included."""
    server.answers = [stream(then="hang")]
    reviews = AccessReviews(connection, LiveSettings(review_timeout_s=0.1, reviews_in_flight=1))
    answers = await asyncio.gather(
        *(reviews.ask(QUESTION) for _ in range(3)), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [AccessReviewError] * 3
    assert len(server.requests) <= 2


async def test_a_dropped_connection_is_tried_once_more(
    connection: Connection, server: ScriptedServer
) -> None:
    """A connection that the server closed meanwhile costs no refusal."""
    server.answers = [stream(then="break"), status(allowed=True)]
    assert await AccessReviews(connection, LiveSettings()).ask(QUESTION)


async def test_only_so_many_are_in_flight(connection: Connection, server: ScriptedServer) -> None:
    """More questions than turns wait for one another."""
    running = most = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return await status(allowed=True)(request)

    server.answers = [answer]
    reviews = AccessReviews(connection, LiveSettings(reviews_in_flight=4))
    assert all(await asyncio.gather(*(reviews.ask(QUESTION) for _ in range(20))))
    assert most == 4


async def test_many_questions_of_one_namespace_do_not_hold_up_another(
    connection: Connection, server: ScriptedServer
) -> None:
    """The next turn but one is the neighbour's."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked.append(body["spec"]["resourceAttributes"]["namespace"])
        return await status(allowed=True)(request)

    def of(namespace: str) -> AccessQuestion:
        return replace(QUESTION, namespace=namespace)

    server.answers = [answer]
    reviews = AccessReviews(connection, LiveSettings(reviews_in_flight=1, review_timeout_s=60))
    questions = [of("hostile")] * 100 + [of("neighbour")]
    await asyncio.gather(*map(reviews.ask, questions))
    assert asked.index("neighbour") <= 2
