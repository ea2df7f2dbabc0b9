"""`sallyport notifications`: sinks tried, and how they are."""

import asyncio
import enum
import time
from contextlib import AsyncExitStack
from typing import Final

import msgspec
import structlog

from app.notifications.sinks import SinkMaker
from app.records.ledger import open_ledger
from app.settings.notifications import NotificationSink
from app.settings.root import Settings
from audit.ledger.store.store import Store
from audit.notifications.cursor import (
    DeadLetter,
    SinkCursor,
    checkpoint_of,
    decode_cursor,
    unreadable_cursor,
)
from audit.notifications.delivery import SEND_S
from audit.notifications.notice import notice_of_test
from audit.notifications.sink import NoticeRefusedError, Sink, SinkAwayError
from cli import exits
from core.base.errors import SettingsError
from core.base.times import milli_text

FORMAT: Final = 1
"""Of `-o json`."""


class TestOutcome(enum.Enum):
    """What became of a test notice."""

    TAKEN = "taken"
    REFUSED = "refused"
    AWAY = "away"


class TriedSink(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport notifications test -o json`."""

    format: int
    sink: str
    kind: str
    outcome: TestOutcome
    problem: str
    """Why it was not taken, and what to do; empty where it was."""
    notice: str
    """The id of the test notice."""
    milliseconds: int
    """How long the sink took."""


class SinkStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How one sink is, as of the ledger."""

    sink: str
    kind: str
    begun: bool
    """Whether an auditor has looked after it at all."""
    sent: int
    """Notices that it took."""
    dead: int
    """Notices that were given up."""
    failing_since: str
    """RFC 3339; empty where the last try succeeded, or where its cursor cannot be read."""
    problem: str
    """Why it takes none; empty where it does."""
    letters: list[DeadLetter]
    """The last dead letters, the newest first."""


class NotificationsStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport notifications status -o json`."""

    format: int
    sinks: list[SinkStatus]


def exit_of_test(tried: TriedSink) -> int:
    """Return the exit code of a test."""
    return {
        TestOutcome.TAKEN: exits.ADMITTED,
        TestOutcome.REFUSED: exits.REFUSED,
        TestOutcome.AWAY: exits.NOT_JUDGED,
    }[tried.outcome]


def exit_of_status(found: NotificationsStatus) -> int:
    """Return the exit code of a status."""
    return exits.REFUSED if any(map(_takes_none, found.sinks)) else exits.ADMITTED


def _takes_none(status: SinkStatus) -> bool:
    return bool(status.failing_since or status.problem)


async def try_sink(settings: Settings, name: str) -> TriedSink:
    """Send a test notice to a sink of the settings.

    Raises:
        SettingsError: there is no such sink, or it cannot be made.
    """
    section = _sink_of(settings, name)
    begun = time.monotonic()
    notice = notice_of_test(settings.cluster_id, name, round(time.time() * 1000))
    async with AsyncExitStack() as stack:
        sink: Sink = SinkMaker(settings, stack, structlog.get_logger()).make(section)
        outcome, problem = TestOutcome.TAKEN, ""
        try:
            async with asyncio.timeout(SEND_S):
                await sink.send([notice])
        except NoticeRefusedError as error:
            outcome, problem = TestOutcome.REFUSED, str(error)
        except SinkAwayError as error:
            outcome, problem = TestOutcome.AWAY, str(error)
        except TimeoutError:
            outcome, problem = TestOutcome.AWAY, f"no answer in {SEND_S:.0f} s"
    return TriedSink(
        format=FORMAT,
        sink=name,
        kind=section.kind,
        outcome=outcome,
        problem=problem,
        notice=notice.id,
        milliseconds=round((time.monotonic() - begun) * 1000),
    )


def _sink_of(settings: Settings, name: str) -> NotificationSink:
    sinks = {each.name: each for each in settings.notifications.sinks}
    if name not in sinks:
        known = ", ".join(sinks) or "none; name one in notifications.sinks (--config)"
        raise SettingsError(f"there is no sink {name!r}: there are {known}")
    return sinks[name]


async def read_status(settings: Settings) -> NotificationsStatus:
    """Return how each sink of the settings is, as the auditor has noted it.

    Raises:
        LedgerError: there is no ledger, or it does not answer.
    """
    async with open_ledger(settings) as store:
        sinks = [await _status_of(store, each) for each in settings.notifications.sinks]
    return NotificationsStatus(format=FORMAT, sinks=sinks)


async def _status_of(store: Store, section: NotificationSink) -> SinkStatus:
    found = await store.load_checkpoint("", checkpoint_of(section.name))
    cursor, problem = SinkCursor(position=0), ""
    if found is not None:
        try:
            cursor = decode_cursor(found[1])
        except ValueError as error:
            problem = unreadable_cursor(error)
    since = cursor.failing_since_ms
    return SinkStatus(
        sink=section.name,
        kind=section.kind,
        begun=found is not None,
        sent=cursor.sent,
        dead=cursor.dead,
        failing_since=milli_text(since) if since else "",
        problem=problem or cursor.problem,
        letters=cursor.letters[::-1],
    )
