"""Log lines never hold up, or break, what is logged about."""

import fcntl
import json
import logging
import os
import time
from pathlib import Path

import pytest

from core.decision.decision import Decision, Verdict
from core.decision.request import Kind, Operation, Request
from core.people.subject import Subject
from tests.unit.webhooks.judge import approval, refusal
from webhooks.log import (
    BATCH_SECONDS,
    LineWriter,
    LogLevel,
    LogSettings,
    configure_logs,
    get_logger,
    log_decision,
)

F_SETPIPE_SZ = 1031
REQUEST = Request(
    uid="u", kind=Kind("Pod", "v1"), operation=Operation.CREATE, subject=Subject("canary")
)


def logged(folder: Path, decision: Decision, settings: LogSettings | None = None) -> str:
    """Return what is written for one decision."""
    with (folder / "log").open("wb") as file:
        configured = settings or LogSettings(descriptor=file.fileno())
        writer = configure_logs(configured)
        log_decision(get_logger(), "validate", REQUEST, decision, 0.0012)
        assert writer.close()
    return (folder / "log").read_text()


def test_lines_arrive_whole_and_in_order(tmp_path: Path) -> None:
    """Batches keep the order and end each line."""
    with (tmp_path / "log").open("wb") as file:
        writer = LineWriter(file.fileno())
        for number in range(5000):
            writer.msg(b"%d" % number)
        assert writer.close()
    assert (tmp_path / "log").read_text().splitlines() == [str(n) for n in range(5000)]
    assert writer.dropped == 0


def test_a_closed_pipe_is_counted_and_not_raised() -> None:
    """Nobody reads: the lines are dropped."""
    reader, descriptor = os.pipe()
    os.close(reader)
    writer = LineWriter(descriptor)
    for _ in range(10):
        writer.msg(b"line")
    assert writer.flush()
    assert writer.dropped == 10
    writer.close()
    os.close(descriptor)


def test_a_closed_writer_leaves_the_descriptor_alone(tmp_path: Path) -> None:
    """Whoever gets the number next, a file or a connection, finds no log lines in it."""
    with (tmp_path / "log").open("wb") as file:
        writer = LineWriter(file.fileno())
        writer.msg(b"before")
        assert writer.close()
        writer.msg(b"after")
    time.sleep(2 * BATCH_SECONDS)
    assert (tmp_path / "log").read_bytes() == b"before\n"
    assert writer.dropped == 1


def test_a_full_pipe_does_not_block() -> None:
    """A reader that stalls costs lines, not time; once it reads, lines come again."""
    reader, descriptor = os.pipe()
    fcntl.fcntl(descriptor, F_SETPIPE_SZ, 4096)
    writer = LineWriter(descriptor, max_lines=100)
    start = time.monotonic()
    for _ in range(1000):
        writer.msg(b"x" * 200)
        time.sleep(0.0001)
    assert time.monotonic() - start < 2
    assert writer.dropped > 0
    assert not writer.flush(0.05)
    while not writer.flush(0.01):
        os.read(reader, 65536)
    dropped = writer.dropped
    os.read(reader, 65536)
    writer.msg(b"after")
    assert writer.flush()
    assert os.read(reader, 65536) == b"after\n"
    assert writer.dropped == dropped
    writer.close()
    os.close(reader)
    os.close(descriptor)


def test_a_decision_is_one_json_line(tmp_path: Path) -> None:
    """It parses, and names nobody."""
    text = logged(tmp_path, refusal())
    assert text.count("\n") == 1
    line = json.loads(text)
    assert (line["event"], line["level"], line["verdict"]) == ("decision", "info", "deny")
    assert line["ms"] == 1.2
    assert "canary" not in text


def test_text_that_is_no_unicode_is_logged_all_the_same(tmp_path: Path) -> None:
    """A lone surrogate, which JSON text may spell, breaks no line."""
    text = logged(tmp_path, approval(profile="\ud800"))
    assert "\\ud800" in json.loads(text)["profile"]


@pytest.mark.parametrize(
    ("level", "events"),
    [
        ("debug", ["fine", "decision", "decision", "strange", "library"]),
        ("info", ["decision", "decision", "strange", "library"]),
        ("warning", ["decision", "strange", "library"]),
        ("error", ["decision", "library"]),
    ],
)
def test_level_leaves_out_what_is_below_it(
    tmp_path: Path, level: LogLevel, events: list[str]
) -> None:
    """A decision that failed is an error, and stays; libraries say nothing below a warning."""
    with (tmp_path / "log").open("wb") as file:
        writer = configure_logs(LogSettings(level=level, descriptor=file.fileno()))
        get_logger().debug("fine")
        log_decision(get_logger(), "validate", REQUEST, refusal(), 0.0012)
        log_decision(get_logger(), "validate", REQUEST, approval(verdict=Verdict.ERROR), 0.0012)
        get_logger().warning("strange")
        logging.getLogger("of.a.library").debug("with an object")
        logging.getLogger("of.a.library").error("broken")
        assert writer.close()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["event"] for line in lines] == events
    verdicts = [line["verdict"] for line in lines if line["event"] == "decision"]
    assert verdicts[-1] == "error"


def test_a_person_can_read_the_console_form(tmp_path: Path) -> None:
    """The same event, not as JSON."""
    with (tmp_path / "console").open("wb") as file:
        settings = LogSettings(form="console", descriptor=file.fileno())
        writer = configure_logs(settings)
        log_decision(get_logger(), "validate", REQUEST, approval(), 0.0012)
        assert writer.close()
    text = (tmp_path / "console").read_text()
    assert "decision" in text
    assert not text.startswith("{")
