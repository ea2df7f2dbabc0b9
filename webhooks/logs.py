"""Structured logs: one JSON line for each event, one for each decision.

Never in a line: user names, groups, objects' content, environment, messages of exceptions
(they may quote an object). Tests hold that with canaries.
"""

import atexit
import logging
import traceback
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger

from core.decision import Decision, Verdict
from core.request import Request
from webhooks.lines import LineWriter

_LONGEST_NAME = 253
_MOST_RULES = 50
_ENCODER = msgspec.json.Encoder(enc_hook=repr)


@dataclass(frozen=True)
class LogSettings:
    """How logs are written."""

    form: Literal["json", "console"] = "json"
    """`console` is for a person at a terminal."""
    level: int = logging.INFO
    descriptor: int = 1
    """The file descriptor that lines go to: standard output."""


def configure_logs(settings: LogSettings) -> LineWriter:
    """Send structlog's and the standard library's records to one `LineWriter`. Call once."""
    writer = LineWriter(settings.descriptor)
    atexit.register(writer.flush)
    render = render_json if settings.form == "json" else structlog.dev.ConsoleRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            hide_exception,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(settings.level),
        logger_factory=lambda *_: writer,
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_ToStructlog()], force=True)
    return writer


def get_logger() -> FilteringBoundLogger:
    """Give the logger to hand to those who log."""
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


def log_decision(
    logger: FilteringBoundLogger,
    webhook: str,
    request: Request,
    decision: Decision,
    seconds: float,
) -> None:
    """Write the line of one decision."""
    log = logger.error if decision.verdict is Verdict.ERROR else logger.info
    log(
        "decision",
        id=decision.id,
        uid=request.uid,
        webhook=webhook,
        operation=request.operation.value,
        kind=request.kind.kind[:_LONGEST_NAME],
        subresource=request.subresource[:_LONGEST_NAME],
        namespace=request.namespace[:_LONGEST_NAME],
        name=request.name[:_LONGEST_NAME],
        verdict=decision.verdict.value,
        allowed=decision.allowed,
        mode=decision.mode,
        profile=decision.profile,
        subjects=decision.subjects,
        rules=_rules(decision),
        error_kind=decision.error_kind,
        dry_run=request.dry_run,
        policy=decision.policy_revision,
        profiles=decision.profiles_revision,
        ms=round(seconds * 1000, 3),
    )


def _rules(decision: Decision) -> list[str]:
    if not decision.findings:
        return []
    rules = list(dict.fromkeys(finding.rule for finding in decision.findings))
    return rules[:_MOST_RULES]


class _ToStructlog(logging.Handler):
    """Takes what libraries log with the standard library."""

    def emit(self, record: logging.LogRecord) -> None:
        logger: Any = structlog.get_logger()
        error = record.exc_info[1] if record.exc_info else None
        # An exception's record may quote an object in its message as well: only the template.
        event = str(record.msg) if error else record.getMessage()
        fields = {"exc_info": error} if error else {}
        logger.log(record.levelno, "library", logger=record.name, message=event, **fields)
