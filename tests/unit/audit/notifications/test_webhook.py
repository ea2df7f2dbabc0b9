"""The webhook: CloudEvents, signed; what each answer means; nothing secret in what it says."""

import base64
import hmac
import json
import re
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from audit.notifications.cloud_events import cloud_event
from audit.notifications.sink import NoticeRefusedError, SinkAwayError
from audit.notifications.sinks.webhook import WebhookSink
from tests.harness.fakes.https_receiver import HttpsReceiver, Posted
from tests.harness.programs.pki import Authority
from tests.unit.audit.notifications.notices import make_notice

NOW = 1_795_300_000
KEY = base64.b64encode(b"k" * 32).decode()
OTHER_KEY = base64.b64encode(b"o" * 24).decode()


@pytest.fixture(name="sink")
async def make_sink(
    receiver: HttpsReceiver, authority: Authority, secrets: Path
) -> AsyncIterator[WebhookSink]:
    """Return a sink that has its key."""
    (secrets / "hmac-key").write_text(f"whsec_{KEY}\n")
    context = ssl.create_default_context(cafile=authority.certificate_path)
    sink = WebhookSink(f"{receiver.url}/hooks/s3cret", secrets, context, lambda: float(NOW))
    yield sink
    await sink.close()


def is_signed(posted: Posted, key: str) -> bool:
    """Verify as a receiver does by Standard Webhooks."""
    signed = f"{posted.headers['webhook-id']}.{posted.headers['webhook-timestamp']}.".encode()
    expected = hmac.new(base64.b64decode(key), signed + posted.body, "sha256").digest()
    return any(
        version == "v1" and hmac.compare_digest(base64.b64decode(text), expected)
        for version, _, text in (
            word.partition(",") for word in posted.headers["webhook-signature"].split()
        )
    )


def require_cloud_event(event: dict[str, Any]) -> None:
    """Hold what CloudEvents 1.0 demands: the attributes, their names and types (section 3)."""
    for name in ("id", "source", "type"):
        assert isinstance(event[name], str)
        assert event[name]
    assert event["specversion"] == "1.0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"])
    assert all(re.fullmatch(r"[a-z0-9]{1,20}", name) for name in event)
    assert all(isinstance(value, str) for name, value in event.items() if name != "data")


async def test_notice_arrives_as_a_signed_cloud_event(
    sink: WebhookSink, receiver: HttpsReceiver
) -> None:
    """In structured mode; `source` and `id` are the finding's, each time it is sent."""
    notice = make_notice()
    await sink.send([notice])
    await sink.send([notice])
    first, second = receiver.posted
    assert first.body == second.body
    assert first.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert first.headers["webhook-id"] == notice.id
    assert first.headers["webhook-timestamp"] == str(NOW)
    event = json.loads(first.body)
    require_cloud_event(event)
    assert event["type"] == "dev.sallyport.finding"
    assert (event["source"], event["subject"]) == ("/sallyport/prod", "frontier")
    assert event["data"] == msgspec.to_builtins(notice)
    assert is_signed(first, KEY)
    assert not is_signed(first, OTHER_KEY)


def test_event_without_a_store_has_no_subject() -> None:
    """An empty attribute is none that CloudEvents allows."""
    event = json.loads(cloud_event(make_notice(store="")))
    require_cloud_event(event)
    assert "subject" not in event


async def test_renewed_key_counts_at_once(
    sink: WebhookSink, receiver: HttpsReceiver, secrets: Path
) -> None:
    """Two lines while both count, then the new one alone; a token is sent if there is one."""
    (secrets / "hmac-key").write_text(f"{OTHER_KEY}\n{KEY}\n")
    await sink.send([make_notice()])
    (secrets / "hmac-key").write_text(OTHER_KEY)
    (secrets / "token").write_text("t0ken\n")
    await sink.send([make_notice()])
    both, new = receiver.posted
    assert is_signed(both, KEY)
    assert is_signed(both, OTHER_KEY)
    assert is_signed(new, OTHER_KEY)
    assert not is_signed(new, KEY)
    assert "authorization" not in both.headers
    assert new.headers["authorization"] == "Bearer t0ken"


@pytest.mark.parametrize("text", ["", "short", "c2hvcnQ=", f"{KEY}\nno key"])
async def test_wrong_key_is_named_and_not_repeated(
    sink: WebhookSink, receiver: HttpsReceiver, secrets: Path, text: str
) -> None:
    """Nothing is sent unsigned."""
    (secrets / "hmac-key").write_text(text)
    with pytest.raises(SinkAwayError, match=r"hmac-key: ") as caught:
        await sink.send([make_notice()])
    assert not receiver.posted
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize("status", [400, 402, 409, 413, 415, 422, 451])
async def test_answer_that_refuses_the_notice(
    sink: WebhookSink, receiver: HttpsReceiver, status: int
) -> None:
    """It would be refused each time."""
    receiver.answers = [web.Response(status=status, text="canary of an answer")]
    with pytest.raises(NoticeRefusedError, match=f"^it answers {status}$"):
        await sink.send([make_notice()])


@pytest.mark.parametrize(
    ("status", "fix"),
    [
        (302, "give the address that it leads to"),
        (401, "check its key"),
        (403, "check its key"),
        (404, "check its address"),
        (405, "takes no POST"),
        (406, "check its address"),
        (408, "slow"),
        (410, "withdrawn"),
        (421, "check its address"),
        (425, "wait"),
        (426, "another protocol"),
        (429, "wait"),
        (500, ""),
        (503, ""),
    ],
)
async def test_answer_that_says_something_of_the_sink(
    sink: WebhookSink, receiver: HttpsReceiver, status: int, fix: str
) -> None:
    """It is sent again: a key that was changed too early costs no notice."""
    receiver.answers = [
        web.Response(
            status=status,
            text="canary of an answer",
            headers={"Retry-After": "17", "Location": f"{receiver.url}/elsewhere"},
        )
    ]
    with pytest.raises(SinkAwayError, match=f"^it answers {status}") as caught:
        await sink.send([make_notice()])
    assert fix in str(caught.value)
    assert caught.value.retry_after_s == (0.0 if status == 302 else 17.0)
    assert "canary" not in str(caught.value)
    assert len(receiver.posted) == 1


async def test_nobody_there_and_a_strange_certificate_are_told_without_the_path(
    receiver: HttpsReceiver, secrets: Path
) -> None:
    """TLS is verified always."""
    (secrets / "hmac-key").write_text(KEY)
    for url in (f"{receiver.url}/hooks/s3cret", "https://127.0.0.1:1/hooks/s3cret"):
        sink = WebhookSink(url, secrets, ssl.create_default_context())
        with pytest.raises(SinkAwayError, match="cannot connect") as caught:
            await sink.send([make_notice()])
        await sink.close()
        assert "s3cret" not in str(caught.value)
    assert not receiver.posted
