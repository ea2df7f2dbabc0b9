"""A list and watch keeps what the server says, and survives what a server can do to it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import msgspec
import pytest
from structlog.testing import capture_logs

from core.base.background import in_background
from core.base.errors import NotSyncedError
from core.decision.namespaces import Namespace
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.resources.namespaces import parse_namespace
from kube.watch.listwatch import ListWatch, Resource
from tests.unit.kube.scripted_server import (
    Answer,
    ScriptedServer,
    event,
    eventually,
    gone,
    items,
    reply,
    stream,
)

FAST = LiveSettings(backoff_first_s=0.01, backoff_cap_s=0.05)


class Watched:
    """A running ListWatch and what it told."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self.told: list[dict[str, Namespace]] = []
        resource = Resource("Things", "/things", parse_namespace)
        self.watch = ListWatch(connection, resource, self._tell, settings)

    def _tell(self, objects: Mapping[str, Namespace]) -> None:
        self.told.append(dict(objects))

    async def until(self, *names: str) -> None:
        """Wait until exactly these are known."""
        await eventually(lambda: set(self.watch.objects) == set(names))


@asynccontextmanager
async def watching(connection: Connection, settings: LiveSettings = FAST) -> AsyncIterator[Watched]:
    """Run a ListWatch."""
    watched = Watched(connection, settings)
    async with in_background(watched.watch.run()):
        yield watched


async def test_events_change_what_was_listed(
    connection: Connection, server: ScriptedServer
) -> None:
    """Added, modified and deleted objects; one call for all that came together."""
    batch = (
        event("ADDED", "b", "2") + event("MODIFIED", "a", "3", x="y") + event("DELETED", "b", "4")
    )
    server.answers = [items("1", "a"), stream(batch, event("ADDED", "c", "5"), then="hang")]
    async with watching(connection) as watched:
        await watched.until("a", "c")
        assert watched.watch.objects["a"].labels == {"x": "y"}
        assert watched.told[0].keys() == {"a"}
        assert watched.told[-1].keys() == {"a", "c"}
    assert server.requests[1]["resourceVersion"] == "1"
    assert server.requests[1]["allowWatchBookmarks"] == "true"
    assert FAST.watch_min_s - 1 <= int(server.requests[1]["timeoutSeconds"]) <= FAST.watch_max_s


async def test_what_is_not_kept_takes_no_place(
    connection: Connection, server: ScriptedServer
) -> None:
    """Not from a list, not from an event; what was kept goes when it changes into such, told."""
    server.answers = [
        items("1", "a", "b-left"),
        stream(event("ADDED", "c-left", "2"), then="break"),
        stream(event("MODIFIED", "a", "3", left="yes") + event("ADDED", "d", "4"), then="hang"),
    ]
    told: list[set[str]] = []

    def parse(raw: msgspec.Raw) -> Namespace | None:
        found = parse_namespace(raw)
        return None if found.name.endswith("-left") or "left" in found.labels else found

    resource = Resource("Things", "/things", parse)
    watch = ListWatch(connection, resource, lambda found: told.append(set(found)), FAST)
    async with in_background(watch.run()):
        await eventually(lambda: watch.objects.keys() == {"d"})
    assert told == [{"a"}, {"d"}]


async def test_a_watch_goes_on_where_it_broke(
    connection: Connection, server: ScriptedServer
) -> None:
    """After a break the next watch begins at the last version, a bookmark's too: no new list."""
    server.answers = [
        items("1", "a"),
        stream(event("ADDED", "b", "2") + event("BOOKMARK", "", "7"), then="break"),
        stream(event("ADDED", "c", "8"), then="hang"),
    ]
    async with watching(connection) as watched:
        await watched.until("a", "b", "c")
        assert watched.watch.lists == 1
    assert [request.get("resourceVersion") for request in server.requests] == [None, "1", "7"]


async def test_a_server_that_went_back_is_listed_again(
    connection: Connection, server: ScriptedServer
) -> None:
    """A restored etcd knows no more what was changed since the backup, and no watch says so.

    A server that is as far, or further, is not listed.
    """
    server.version = "9"
    server.answers = [
        items("7", "a"),
        stream(event("ADDED", "undone", "9"), then="break"),
        stream(event("ADDED", "undone-too", "10"), then="break"),
        items("8", "a"),
        stream(event("ADDED", "b", "9"), then="hang"),
    ]
    with capture_logs() as logs:
        async with watching(connection) as watched:
            await watched.until("a", "b")
            assert watched.watch.lists == 2
    versions = [request.get("resourceVersion") for request in server.requests]
    assert versions == [None, "7", "9", None, "8"]
    (told,) = [log for log in logs if "went back" in log["event"]]
    assert (told["was"], told["now"]) == ("10", "9")


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(stream(gone()), id="ERROR event 410"),
        pytest.param(reply({"code": 410, "message": "gone"}, 410), id="HTTP 410"),
        pytest.param(reply({}, 500), id="HTTP 500"),
        pytest.param(stream(b"{nonsense}\n"), id="broken line"),
        pytest.param(stream(b'{"type":"ADDED"}\n'), id="event without object"),
        pytest.param(stream(event("RENAMED", "a", "2")), id="unknown event"),
        pytest.param(stream(event("ADDED", "x", "")), id="event without version"),
        pytest.param(
            stream(b'{"type":"ADDED","object":{"metadata":{"name":5}}}\n'), id="wrong type"
        ),
    ],
)
async def test_what_cannot_be_followed_is_listed_again(
    bad: Answer, connection: Connection, server: ScriptedServer
) -> None:
    """410 and whatever is not the protocol lead to a new list, and to a log line."""
    server.answers = [
        items("1", "a", "old"),
        bad,
        items("9", "a", "new"),
        stream(then="hang"),
    ]
    with capture_logs() as logs:
        async with watching(connection) as watched:
            await watched.until("a", "new")
            assert watched.watch.lists == 2
            assert watched.told[-1].keys() == {"a", "new"}
    assert [log["watch"] for log in logs] == ["Things"]
    assert logs[0]["error"]


async def test_changes_before_a_bad_line_are_told(
    connection: Connection, server: ScriptedServer
) -> None:
    """What came in front of a broken line is not forgotten when the new list says the same."""
    server.answers = [
        items("1", "a"),
        stream(event("ADDED", "b", "2") + gone()),
        items("2", "a", "b"),
        stream(then="hang"),
    ]
    async with watching(connection) as watched:
        await watched.until("a", "b")
        await eventually(lambda: watched.watch.lists == 2)
        assert [set(told) for told in watched.told] == [{"a"}, {"a", "b"}]


async def test_a_page_token_that_expired_starts_the_list_anew(
    connection: Connection, server: ScriptedServer
) -> None:
    """410 on `continue` drops the pages read so far."""
    server.answers = [
        items("1", "a", more="token"),
        reply({"code": 410, "message": "expired"}, 410),
        items("2", "b", more="other"),
        items("2", "c"),
        stream(then="hang"),
    ]
    async with watching(connection) as watched:
        await watched.until("b", "c")
    continues = [request.get("continue") for request in server.requests[:4]]
    assert continues == [None, "token", None, "other"]
    assert server.requests[0]["limit"] == "500"


async def test_attempts_wait_longer_and_longer(
    connection: Connection, server: ScriptedServer
) -> None:
    """A server that ends every watch at once is not asked in a busy loop."""
    server.answers = [items("1", "a"), stream()]
    settings = LiveSettings(backoff_first_s=0.02, backoff_cap_s=10)
    async with watching(connection, settings):
        await asyncio.sleep(0.6)
    # 0.02 s doubled each time, halved at most: 6 waits take 0.63 s or more.
    assert 3 <= len(server.requests) <= 8


async def test_before_the_first_list_it_says_what_is_missing(
    connection: Connection, server: ScriptedServer
) -> None:
    """The last error and the likely remedy are named."""
    server.answers = [reply({"message": "no such thing"}, 404)]
    async with watching(connection) as watched:
        assert "no answer yet" in watched.watch.problem
        await eventually(lambda: "404" in watched.watch.problem)
        with pytest.raises(NotSyncedError, match=r"Things: first list not finished: .*CRDs"):
            watched.watch.require()


async def test_a_silent_watch_is_dropped_and_does_not_count_as_contact(
    connection: Connection, server: ScriptedServer
) -> None:
    """Without a byte for too long the stream is broken off; its last line is the last contact."""
    settings = replace(FAST, max_silence_s=0.3, max_staleness_s=0.1)
    server.answers = [items("1", "a"), stream(then="hang"), reply({}, 503)]
    async with watching(connection, settings) as watched:
        await watched.until("a")
        await asyncio.sleep(0.2)
        assert not watched.watch.problem, "an established watch is contact"
        await asyncio.sleep(0.25)
        assert "no contact with kube-apiserver since" in watched.watch.problem


async def test_a_break_is_contact_until_the_staleness_is_reached(
    connection: Connection, server: ScriptedServer
) -> None:
    """What was true when the watch broke may be used for `max_staleness_s`, not longer."""
    settings = replace(FAST, max_staleness_s=0.3)
    server.answers = [items("1", "a"), stream(then="break"), reply({}, 503)]
    async with watching(connection, settings) as watched:
        await watched.until("a")
        await asyncio.sleep(0.1)
        watched.watch.require()
        await asyncio.sleep(0.4)
        with pytest.raises(NotSyncedError):
            watched.watch.require()


async def test_a_defect_in_what_is_called_does_not_end_the_watch(
    connection: Connection, server: ScriptedServer
) -> None:
    """An unexpected exception is logged with its place, and the change is told again."""
    server.answers = [items("1", "a"), items("1", "a"), stream(then="hang")]
    calls: list[int] = []

    def failing(objects: Mapping[str, Namespace]) -> None:
        calls.append(len(objects))
        if len(calls) == 1:
            raise ZeroDivisionError

    watch = ListWatch(connection, Resource("Things", "/things", parse_namespace), failing, FAST)
    with capture_logs() as logs:
        task = asyncio.create_task(watch.run())
        await eventually(lambda: len(calls) == 2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert calls == [1, 1]
    assert logs[0]["log_level"] == "error"
