"""A sink is tried and says what became of it; `status` shows what the auditor has noted."""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from aiohttp import web

from audit.ledger.store.store import Store
from audit.notifications.cursor import DeadLetter, SinkCursor, checkpoint_of, encode_cursor
from tests.harness.fakes.https_receiver import HttpsReceiver
from tests.harness.programs.pki import Authority
from tests.unit.audit.notifications.notices import AT_MS, make_finding
from tests.unit.cli.conftest import Run

SCHEMAS = Path(__file__).parents[4] / "docs" / "reference"
KEY = base64.b64encode(b"k" * 32).decode()


def valid(text: str, schema: str) -> Any:
    """Return JSON that is as its schema says."""
    answer = json.loads(text)
    jsonschema.validate(answer, json.loads((SCHEMAS / schema).read_text()))
    return answer


@pytest.fixture(name="receiver")
def serve_receiver(tmp_path: Path) -> Iterator[HttpsReceiver]:
    """Serve in a thread: the command has an event loop of its own."""
    receiver, ready = HttpsReceiver(), threading.Event()
    loop, end = asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with receiver.serving(Authority(tmp_path)):
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(10)
    yield receiver
    loop.call_soon_threadsafe(end.set)
    thread.join()
    loop.close()


@pytest.fixture(name="config")
def write_config(tmp_path: Path, receiver: HttpsReceiver) -> Path:
    """Write settings with one sink."""
    (tmp_path / "pager").mkdir()
    (tmp_path / "pager" / "hmac-key").write_text(KEY)
    sink = {
        "name": "pager",
        "kind": "webhook",
        "url": f"{receiver.url}/hook",
        "secrets": str(tmp_path / "pager"),
        "trust": str(tmp_path / "ca.crt"),
        "at_least": "critical",
        "events": ["gap"],
    }
    file = tmp_path / "config.yaml"
    settings = {"cluster_id": "prod", "notifications": {"sinks": [sink]}}
    file.write_text(yaml.safe_dump(settings))
    return file


def test_sink_takes_a_marked_notice(run: Run, config: Path, receiver: HttpsReceiver) -> None:
    """Whatever its route is; 0."""
    done = run("notifications", "test", "pager", "--config", str(config), "-o", "json")
    assert (done.code, done.err) == (0, "")
    answer = valid(done.out, "notifications-test.schema.json")
    assert (answer["outcome"], answer["problem"], answer["kind"]) == ("taken", "", "webhook")
    (posted,) = receiver.posted
    event = json.loads(posted.body)
    assert event["type"] == "dev.sallyport.test"
    assert event["id"] == answer["notice"]
    assert event["data"]["title"].startswith("TEST")


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [(400, 1, "refuses notices: it answers 400"), (503, 2, "takes no notices now: it answers 503")],
)
def test_sink_that_does_not_take_it(  # noqa: PLR0913, PLR0917  pytest
    run: Run, config: Path, receiver: HttpsReceiver, status: int, code: int, says: str
) -> None:
    """Refused is 1, away is 2; the secret is not shown."""
    receiver.answers = [web.Response(status=status)]
    done = run("notifications", "test", "pager", "--config", str(config))
    assert done.code == code
    assert says in done.out
    assert KEY not in done.out + done.err


def test_sink_that_nobody_named(run: Run, config: Path) -> None:
    """64, with those that there are."""
    done = run("notifications", "test", "pagr", "--config", str(config))
    assert done.code == 64
    assert "there is no sink 'pagr': there are pager" in done.err


def write_cursor(folder: Path, cursor: SinkCursor | None) -> str:
    """Make a ledger in which the auditor has noted a cursor; return its URL."""
    url = f"sqlite:///{folder / 'ledger.db'}"

    async def write() -> None:
        async with Store(url) as store:
            if cursor is not None:
                content = encode_cursor(cursor)
                await store.save_checkpoint("", checkpoint_of("pager"), 7, content)

    asyncio.run(write())
    return url


@pytest.mark.parametrize(
    ("cursor", "code", "state"),
    [
        (None, 0, "not begun"),
        (SinkCursor(position=7, sent=5), 0, "takes notices"),
        (
            SinkCursor(position=7, failing_since_ms=AT_MS, problem="it answers 503"),
            1,
            "failing since 2026-11-2",
        ),
    ],
)
def test_status_says_how_a_sink_is(  # noqa: PLR0913, PLR0917  pytest
    run: Run, config: Path, tmp_path: Path, cursor: SinkCursor | None, code: int, state: str
) -> None:
    """1 where one takes nothing now."""
    url = write_cursor(tmp_path, cursor)
    done = run("notifications", "status", "--config", str(config), "--ledger", url)
    assert (done.code, done.err) == (code, "")
    assert state in done.out


def test_status_shows_every_sink_where_one_cursor_cannot_be_read(
    run: Run, config: Path, tmp_path: Path
) -> None:
    """That one has a row that says so; 1."""
    settings = yaml.safe_load(config.read_text())
    (pager,) = settings["notifications"]["sinks"]
    settings["notifications"]["sinks"].append({**pager, "name": "other"})
    config.write_text(yaml.safe_dump(settings))
    url = write_cursor(tmp_path, SinkCursor(position=7, format=99))
    done = run("notifications", "status", "--config", str(config), "--ledger", url, "-o", "json")
    assert (done.code, done.err) == (1, "")
    sinks = valid(done.out, "notifications-status.schema.json")["sinks"]
    assert [each["sink"] for each in sinks] == ["pager", "other"]
    assert "cursor cannot be read" in sinks[0]["problem"]
    assert not sinks[1]["problem"]
    table = run("notifications", "status", "--config", str(config), "--ledger", url)
    assert "takes none" in table.out


def test_status_lists_dead_letters(run: Run, config: Path, tmp_path: Path) -> None:
    """By id and reason, the newest first."""
    letters = [
        DeadLetter(make_finding(number).id, "finding", number, AT_MS, "it answers 400")
        for number in range(2)
    ]
    url = write_cursor(tmp_path, SinkCursor(position=7, dead=2, letters=letters))
    done = run("notifications", "status", "--config", str(config), "--ledger", url, "-o", "json")
    answer = valid(done.out, "notifications-status.schema.json")
    (sink,) = answer["sinks"]
    assert sink["dead"] == 2
    assert [each["id"] for each in sink["letters"]] == [each.id for each in letters[::-1]]


def test_status_without_sinks_or_without_a_ledger(run: Run, config: Path, tmp_path: Path) -> None:
    """The first is said, the second is an error."""
    url = write_cursor(tmp_path, None)
    done = run("notifications", "status", "--ledger", url)
    assert (done.code, done.out) == (0, "")
    assert "no sink: name one in notifications.sinks" in done.err
    missing = f"sqlite:///{tmp_path / 'none.db'}"
    done = run("notifications", "status", "--config", str(config), "--ledger", missing)
    assert done.code == 2
