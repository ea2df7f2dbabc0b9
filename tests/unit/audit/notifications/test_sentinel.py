"""Microsoft Sentinel: rows of the Logs Ingestion API, in calls of at most 1 MB."""

import json
import re
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from audit.notifications.sink import NoticeRefusedError, SinkAwayError
from audit.notifications.sinks.sentinel import (
    MOST_BYTES,
    SentinelPlace,
    SentinelSink,
    sentinel_body,
    sentinel_row,
)
from tests.harness.fakes.https_receiver import HttpsReceiver, Posted
from tests.harness.programs.pki import Authority
from tests.unit.audit.notifications.notices import make_notice

RULE = "dcr-0123456789abcdef0123456789abcdef"
STREAM = "Custom-Sallyport_CL"
RESERVED = {"id", "_ResourceId", "_SubscriptionId", "TenantId", "Type", "UniqueId", "Title"}
"""Names of columns that custom tables must not have (Learn, "Add or delete tables and columns")."""


def ingest(posted: Posted) -> web.Response:
    """Answer as the API does: by path, token, length and shape."""
    if posted.path != f"/dataCollectionRules/{RULE}/streams/{STREAM}?api-version=2023-01-01":
        return web.json_response({"error": {"code": "NotFound"}}, status=404)
    if posted.headers.get("authorization") != "Bearer t0ken":
        return web.Response(status=401)
    if len(posted.body) > 1024 * 1024:
        return web.json_response({"error": {"code": "ContentLengthLimitExceeded"}}, status=413)
    rows = json.loads(posted.body)
    is_rows = isinstance(rows, list) and all("TimeGenerated" in row for row in rows)
    return web.Response(status=204 if is_rows else 400)


@pytest.fixture(name="place")
def make_place(receiver: HttpsReceiver) -> SentinelPlace:
    """Return a stream of the API on loopback."""
    receiver.answer = ingest
    return SentinelPlace(receiver.url, RULE, STREAM)


@pytest.fixture(name="sink")
async def make_sink(place: SentinelPlace, authority: Authority) -> AsyncIterator[SentinelSink]:
    """Return a sink that signs in."""

    async def get_token(scope: str) -> str:
        assert scope == "https://monitor.azure.com/.default"
        return "t0ken"

    context = ssl.create_default_context(cafile=authority.certificate_path)
    sink = SentinelSink(place, context, get_token)
    yield sink
    await sink.close()


async def test_rows_arrive(sink: SentinelSink, receiver: HttpsReceiver) -> None:
    """Each column of a name that a table may have."""
    notices = [make_notice(number) for number in range(3)]
    await sink.send(notices)
    (posted,) = receiver.posted
    rows: list[dict[str, Any]] = json.loads(posted.body)
    assert rows == [json.loads(json.dumps(sentinel_row(each))) for each in notices]
    assert [row["NoticeId"] for row in rows] == [each.id for each in notices]
    for name in rows[0]:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,44}", name)
        assert name not in RESERVED


def test_burst_is_split_into_calls_that_the_api_takes(sink: SentinelSink) -> None:
    """None is longer than 1 MB, and none is lost."""
    notices = [
        make_notice(number, detail="ä" * 2000, pods=["p" * 590] * 20, addresses=["a" * 590] * 20)
        for number in range(100)
    ]
    waiting, calls = list(notices), []
    while waiting:
        count = sink.fitting(waiting)
        calls.append(sentinel_body(waiting[:count]))
        full = sentinel_body(waiting[: count + 1])
        assert count == len(waiting) or len(full) > MOST_BYTES
        del waiting[:count]
    assert len(calls) > 1
    assert max(map(len, calls)) <= MOST_BYTES
    rows = [row for call in calls for row in json.loads(call)]
    assert [row["NoticeId"] for row in rows] == [each.id for each in notices]


@pytest.mark.parametrize(
    ("status", "refused"), [(400, True), (413, True), (403, False), (429, False), (503, False)]
)
async def test_answers_of_the_api(
    sink: SentinelSink,
    receiver: HttpsReceiver,
    status: int,
    refused: bool,  # noqa: FBT001  pytest
) -> None:
    """403 is a role that is missing, 429 the limit of the rule: neither is the notice's fault."""
    receiver.answers = [web.Response(status=status, headers={"Retry-After": "60"})]
    with pytest.raises(NoticeRefusedError if refused else SinkAwayError, match=str(status)):
        await sink.send([make_notice()])


@pytest.mark.parametrize(
    ("endpoint", "scope"),
    [
        ("https://a-1.westeurope-1.ingest.monitor.azure.com", "https://monitor.azure.com/.default"),
        ("https://a-1.usgov-1.ingest.monitor.azure.us", "https://monitor.azure.us/.default"),
        ("https://a-1.china-1.ingest.monitor.azure.cn", "https://monitor.azure.cn/.default"),
    ],
)
def test_token_is_of_the_endpoints_cloud(endpoint: str, scope: str) -> None:
    """Each cloud of Azure has an audience of its own."""
    assert SentinelPlace(endpoint, RULE, STREAM).scope == scope
