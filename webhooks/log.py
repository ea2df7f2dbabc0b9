"""Structured logs: one JSON line for each event, one for each decision.

Never in a line: user names, groups, objects' content, environment, messages of exceptions
(they may quote an object). Tests hold that with canaries.

Lines never hold up a review. A pipe that nobody reads makes a write block for good, so lines are
put in a bounded queue and one thread writes them, in batches; what cannot be written is counted and
dropped. A hard kill (SIGKILL, the kernel's out-of-memory killer) may lose the last lines as well:
the log is a record for operators, not a ledger.
"""

import atexit
import logging
import os
import threading
import time
import traceback
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger

from core.base.times import second_text
from core.decision.decision import Decision, Verdict
from core.decision.request import Request

BATCH_SECONDS = 0.02
"""Lines that come within this time of the first share one write."""

_LINGER = 50
"""Batches without a line after which the thread sleeps until it is woken: to wake it takes longer
than to queue a line, and while lines keep coming nobody need do it."""

_LONGEST_NAME = 253
_MOST_RULES = 50
_ENCODER = msgspec.json.Encoder(enc_hook=repr)


class LineWriter:
    """Writes lines to a file descriptor. `msg` never blocks and never raises."""

    def __init__(self, descriptor: int = 1, *, max_lines: int = 20_000) -> None:
        self._descriptor = descriptor
        self._max_lines = max_lines
        self._lines: deque[bytes] = deque()
        self._wake = threading.Event()
        self._asleep = True
        self._writing = False
        self._closed = False
        self.dropped = 0
        """Lines that could not be written: the queue was full, or nobody reads."""
        self._thread = threading.Thread(target=self._run, name="log-lines", daemon=True)
        self._thread.start()

    def msg(self, line: bytes | str) -> None:
        """Queue one line, without its end."""
        if self._closed or len(self._lines) >= self._max_lines:
            self.dropped += 1
            return
        self._lines.append(line if isinstance(line, bytes) else line.encode(errors="replace"))
        if self._asleep:
            self._asleep = False
            self._wake.set()

    # The names by which structlog calls a logger.
    debug = info = warning = error = critical = exception = msg

    def flush(self, seconds: float = 1.0) -> bool:
        """Wait until all is written, at most `seconds`; say whether it was."""
        deadline = time.monotonic() + seconds
        while self._lines or self._writing:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.002)
        return True

    def close(self, seconds: float = 1.0) -> bool:
        """Write what waits, as `flush`, and nothing after it: the descriptor may be closed.

        Its number may then be another file's or a connection's, and loggers outlive it.
        """
        written = self.flush(seconds)
        self._closed = True
        self._wake.set()
        self._thread.join(seconds)
        return written

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            self._write_while_they_come()
            self._asleep = True
            if self._lines:  # Came between the last look and the word that the thread sleeps.
                self._asleep = False
                self._wake.set()

    def _write_while_they_come(self) -> None:
        empty = 0
        while empty < _LINGER and not self._closed:
            time.sleep(BATCH_SECONDS)
            empty = 0 if self._lines else empty + 1
            self._writing = True
            self._write_all()
            self._writing = False

    def _write_all(self) -> None:
        while self._lines and not self._closed:
            batch = [self._lines.popleft() for _ in range(min(len(self._lines), 512))]
            data = memoryview(b"\n".join(batch) + b"\n")
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:  # A closed pipe, a full disk: the reviews go on.
                self.dropped += len(batch)


LogLevel = Literal["debug", "info", "warning", "error"]

_LEVELS: Final[dict[LogLevel, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


@dataclass(frozen=True)
class LogSettings:
    """How logs are written."""

    form: Literal["json", "console"] = "json"
    """`console` is for a person at a terminal."""
    level: LogLevel = "info"
    """The least that is written; of libraries `warning` at least: below, they may quote objects."""
    descriptor: int = 1
    """The file descriptor that lines go to: standard output."""


_straight: LineWriter | None = None
"""Where lines of decisions go as they are; None where structlog renders them."""


def configure_logs(settings: LogSettings) -> LineWriter:
    """Send structlog's and the standard library's records to one `LineWriter`. Call once."""
    global _straight  # noqa: PLW0603  As structlog's own configuration: one for the process.
    writer = LineWriter(settings.descriptor)
    level = _LEVELS[settings.level]
    _straight = writer if settings.form == "json" and level <= logging.INFO else None
    atexit.register(writer.flush)
    render = render_json if settings.form == "json" else structlog.dev.ConsoleRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            hide_exception,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: writer,
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_ToStructlog()], force=True)
    return writer


def get_logger() -> FilteringBoundLogger:
    """Return the logger to hand to those who log."""
    logger: FilteringBoundLogger = structlog.get_logger()
    return logger.bind()


def render_json(_logger: WrappedLogger, _name: str, event: EventDict) -> bytes:
    """Render an event as JSON (a structlog processor)."""
    try:
        return _ENCODER.encode(event)
    except UnicodeEncodeError:  # A lone surrogate, which JSON text may spell but UTF-8 cannot.
        return _ENCODER.encode({key: ascii(value) for key, value in event.items()})


def hide_exception(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Replace an exception by its type and frames; its message may quote an object."""
    error = event.pop("exc_info", None)
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
        event["frames"] = [
            f"{frame.filename}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        cause = error.__cause__ or error.__context__
        if cause is not None:
            event["cause"] = type(cause).__name__
    return event


class _ToStructlog(logging.Handler):
    """Takes what libraries log with the standard library."""

    def emit(self, record: logging.LogRecord) -> None:
        logger: Any = structlog.get_logger()
        error = record.exc_info[1] if record.exc_info else None
        # An exception's record may quote an object in its message as well: only the template.
        event = str(record.msg) if error else record.getMessage()
        fields = {"exc_info": error} if error else {}
        logger.log(record.levelno, "library", logger=record.name, message=event, **fields)


class _Line(msgspec.Struct, gc=False):
    """The line of one decision."""

    id: str
    uid: str
    webhook: str
    operation: str
    kind: str
    subresource: str
    namespace: str
    name: str
    verdict: Verdict
    allowed: bool
    mode: str
    profile: str | None
    sandbox: str | None
    subjects: list[str]
    rules: list[str]
    error_kind: str | None
    dry_run: bool
    policy: str
    profiles: str
    ms: float
    event: str
    level: str
    time: str


def log_decision(
    logger: FilteringBoundLogger,
    webhook: str,
    request: Request,
    decision: Decision,
    seconds: float,
) -> None:
    """Write the line of one decision.

    As JSON it goes straight to the writer: structlog's chain took 20 µs of a review, this takes 6.
    """
    level = "error" if decision.verdict is Verdict.ERROR else "info"
    line = _Line(
        decision.id,
        request.uid,
        webhook,
        request.operation.value,
        request.kind.kind[:_LONGEST_NAME],
        request.subresource[:_LONGEST_NAME],
        request.namespace[:_LONGEST_NAME],
        request.name[:_LONGEST_NAME],
        decision.verdict,
        decision.allowed,
        decision.mode,
        decision.profile,
        (decision.sandbox.runtime or None) if decision.sandbox else None,
        decision.subjects,
        _rules(decision),
        decision.error_kind,
        request.dry_run,
        decision.policy_revision,
        decision.profiles_revision,
        round(seconds * 1000, 3),
        "decision",
        level,
        "",
    )
    if _straight is not None:
        line.time = _now()
        # A lone surrogate, which UTF-8 cannot hold, takes the chain's way.
        with suppress(UnicodeEncodeError):
            _straight.msg(_ENCODER.encode(line))
            return
    fields = msgspec.to_builtins(line)
    for name in ("event", "level", "time"):
        del fields[name]
    (logger.error if level == "error" else logger.info)("decision", **fields)


def warn_of_break_glass(logger: FilteringBoundLogger, request: Request, decision: Decision) -> None:
    """Write a line of level warning about what is admitted by an open BreakGlass."""
    logger.warning(
        "break glass",
        id=decision.id,
        names=decision.evidence.break_glass,
        kind=request.kind.kind[:_LONGEST_NAME],
        namespace=request.namespace[:_LONGEST_NAME],
        name=request.name[:_LONGEST_NAME],
        rules=_rules(decision),
        dry_run=request.dry_run,
    )


def _now() -> str:
    """Return the time as structlog's TimeStamper does."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{second_text(seconds)}.{nanoseconds // 1000:06d}Z"


def _rules(decision: Decision) -> list[str]:
    if not decision.findings:
        return []
    rules = list(dict.fromkeys(finding.rule for finding in decision.findings))
    return rules[:_MOST_RULES]
