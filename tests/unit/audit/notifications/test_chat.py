"""Slack and Teams: messages within their limits, in which no text is a link or a mention."""

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from audit.notifications import delivery as delivery_module
from audit.notifications.delivery import SinkDelivery
from audit.notifications.routes import Route
from audit.notifications.sink import NoticeRefusedError, Sink, SinkAwayError
from audit.notifications.sinks.slack import SlackSink
from audit.notifications.sinks.teams import CARD, MOST_BYTES, TeamsSink
from tests.harness.fakes.https_receiver import HttpsReceiver, Posted
from tests.harness.programs.pki import Authority
from tests.unit.audit.notifications.notices import make_finding, make_notice, open_store, record
from webhooks.log import get_logger

HOSTILE = "<!channel> <https://evil.example|pay> [pay](https://evil.example) @all **x** & y"
SECRET = "s3cret"


def slack(posted: Posted) -> web.Response:
    """Answer as Slack does: `ok`, or 400 to a message beyond the limits of Block Kit."""
    message = json.loads(posted.body)
    limits = {"header": 150, "section": 3000}
    fine = len(message["blocks"]) <= 50 and all(
        block["type"] == "divider" or 0 < len(block["text"]["text"]) <= limits[block["type"]]
        for block in message["blocks"]
    )
    return web.Response(text="ok") if fine else web.Response(status=400, text="invalid_blocks")


def teams(posted: Posted) -> web.Response:
    """Answer as a workflow does: 202, or 413 to a message beyond 28 KB."""
    if len(posted.body) > 28 * 1024:
        return web.Response(status=413)
    message = json.loads(posted.body)
    (attachment,) = message["attachments"]
    fine = message["type"] == "message" and attachment["contentType"] == CARD
    return web.Response(status=202 if fine else 400)


@pytest.fixture(name="context")
def make_context(authority: Authority) -> ssl.SSLContext:
    """Return a context that trusts the receiver."""
    return ssl.create_default_context(cafile=authority.certificate_path)


@pytest.fixture(name="secret_url")
def write_url(receiver: HttpsReceiver, secrets: Path) -> str:
    """Write the address as the Secret has it."""
    url = f"{receiver.url}/services/{SECRET}?sig={SECRET}"
    (secrets / "url").write_text(f"{url}\n")
    return url


def blocks_of(receiver: HttpsReceiver) -> list[dict[str, Any]]:
    """Return the blocks of the one message that Slack has."""
    (posted,) = receiver.posted
    found: list[dict[str, Any]] = json.loads(posted.body)["blocks"]
    return found


@pytest.mark.usefixtures("secret_url")
async def test_slack_shows_notices_as_plain_text(
    receiver: HttpsReceiver, secrets: Path, context: ssl.SSLContext
) -> None:
    """As many in one message as it takes; no text mentions anybody."""
    receiver.answer = slack
    sink = SlackSink(secrets, context)
    notices = [make_notice(number, title=HOSTILE, detail="x" * 2000) for number in range(sink.most)]
    await sink.send(notices)
    await sink.close()
    texts = [block["text"] for block in blocks_of(receiver) if "text" in block]
    assert {text["type"] for text in texts} == {"plain_text"}
    shown = "\n".join(text["text"] for text in texts)
    assert all(each.id in shown for each in notices)
    assert "<" not in json.loads(receiver.posted[0].body)["text"]


def texts_of(card: Any) -> Iterator[dict[str, Any]]:
    """Yield every element of a card that shows text."""
    for block in card["body"]:
        assert block["type"] == "RichTextBlock"
        yield from block["inlines"]


@pytest.mark.usefixtures("secret_url")
async def test_teams_shows_notices_as_text_that_is_no_markdown(
    receiver: HttpsReceiver, secrets: Path, context: ssl.SSLContext
) -> None:
    """In one Adaptive Card, of TextRuns: those show Markdown as it is written."""
    receiver.answer = teams
    sink = TeamsSink(secrets, context)
    notices = [make_notice(number, title=HOSTILE) for number in range(sink.most)]
    await sink.send(notices)
    await sink.close()
    (posted,) = receiver.posted
    card = json.loads(posted.body)["attachments"][0]["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    runs = list(texts_of(card))
    assert {run["type"] for run in runs} == {"TextRun"}
    shown = "\n".join(run["text"] for run in runs)
    assert all(each.id in shown for each in notices)
    assert HOSTILE in shown


@pytest.mark.usefixtures("secret_url")
async def test_notice_that_teams_took_is_not_posted_again_when_a_later_one_fails(
    receiver: HttpsReceiver,
    secrets: Path,
    context: ssl.SSLContext,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is too long for one message is split, and cut; each message is taken by itself."""
    monkeypatch.setattr(delivery_module, "wait_s", lambda *_: 0.0)
    receiver.answer = teams
    receiver.answers = [web.Response(status=202), web.Response(status=429)]
    sink = TeamsSink(secrets, context)
    long = [make_finding(number, detail="ä" * 2000, pods=["p" * 590] * 20) for number in range(4)]
    longest = make_finding(9, pods=["ä" * 590] * 20, addresses=["ä" * 590] * 20)
    async with open_store(tmp_path) as store:
        delivery = SinkDelivery("chat", sink, Route(), store, get_logger())
        await delivery.step()
        await record(store, *long, longest)
        await delivery.step()
    await sink.close()
    assert delivery.cursor is not None
    assert (delivery.cursor.sent, delivery.cursor.dead, delivery.failures) == (5, 0, 1)
    assert max(len(each.body) for each in receiver.posted) <= MOST_BYTES
    first, refused, *_ = [each.body for each in receiver.posted]
    assert [each.body for each in receiver.posted].count(first) == 1
    assert [each.body for each in receiver.posted].count(refused) == 2
    assert len(receiver.posted) == 6


@pytest.mark.parametrize("kind", [SlackSink, TeamsSink])
async def test_address_is_a_secret(
    receiver: HttpsReceiver,
    secrets: Path,
    context: ssl.SSLContext,
    secret_url: str,
    kind: type[SlackSink | TeamsSink],
) -> None:
    """It is read for each message, and stands in no error."""
    sink: Sink = kind(secrets, context)
    errors = []
    for status, refused in ((400, True), (404, False), (410, False), (429, False), (500, False)):
        receiver.answers = [web.Response(status=status, text=secret_url)]
        with pytest.raises(NoticeRefusedError if refused else SinkAwayError) as caught:
            await sink.send([make_notice()])
        errors.append(str(caught.value))
    for text in ("", f"http://127.0.0.1/{SECRET}", f"https://[{SECRET}", f"{SECRET}.example"):
        (secrets / "url").write_text(text)
        with pytest.raises(SinkAwayError, match="url: ") as caught:
            await sink.send([make_notice()])
        errors.append(str(caught.value))
    (secrets / "url").write_text(f"https://127.0.0.1:1/{SECRET}")
    with pytest.raises(SinkAwayError, match="cannot connect") as caught:
        await sink.send([make_notice()])
    errors.append(str(caught.value))
    (secrets / "url").write_text(secret_url)
    await sink.send([make_notice()])
    await sink.close()
    assert not [each for each in errors if SECRET in each]
    assert receiver.posted[-1].path == f"/services/{SECRET}?sig={SECRET}"
