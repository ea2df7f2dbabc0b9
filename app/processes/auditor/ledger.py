"""The ledger of a process that keeps records: opened when it can be, signed, anchored, pruned."""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from structlog.typing import FilteringBoundLogger

from app.entra.tokens import token_for
from app.processes.auditor.ledger_room import LedgerRoomKeeper
from app.records.ledger import make_store, signing_key
from app.settings.records import AnchorPlace, LedgerSection, TimestampSection
from app.settings.root import Settings
from audit.clients.anchor_blob import BlobAnchor, BlobPlace
from audit.clients.anchor_config_map import ConfigMapAnchor
from audit.clients.anchor_witness import ProvableLog, WitnessAnchor, WitnessPlace
from audit.clients.timestamp_authority import AuthorityPlace, HeadTimestamper
from audit.ledger.log.anchor_file import FileAnchor
from audit.ledger.log.anchors import Anchor
from audit.ledger.log.head_publisher import HeadPublisher
from audit.ledger.records.destination import QuarantinedFrame, Receipt
from audit.ledger.records.frames import Frame
from audit.ledger.store.decisions import DecisionQuery
from audit.ledger.store.room import RoomLimits
from audit.ledger.store.store import Store
from core.base.background import in_background
from core.base.errors import LedgerError

_SIGNING_IN: Final = "signing in for an anchor"

LOOK_EVERY_S: Final = 2.0
"""How often the ledger is asked whether it is there, and opened again where it was not."""

_RETAIN_EVERY_S: Final = 3600.0

_MIB: Final = 1024**2

_LIMITS: Final = RoomLimits()

_LAST_HEAD_S: Final = 10.0
"""The longest that signing and anchoring may hold up the end."""

_MOST_ADOPTIONS: Final = 10
"""Steps of one look: heads are signed in between."""

_NO_ANCHOR: Final = (
    "heads of the ledger's log are kept nowhere but in the ledger: whoever takes this host can "
    "write it anew, unseen; set ledger.anchors"
)

_BESIDE: Final = (
    "it lies on the ledger's own disk: it proves nothing against whoever has that disk; name a "
    "place in ledger.anchors that this host cannot change"
)


@asynccontextmanager
async def open_anchors(settings: Settings, ledger: ProvableLog) -> AsyncIterator[list[Anchor]]:
    """Yield the anchors of the settings; nothing is asked of them yet.

    `ledger` proves to witnesses that one head continues another.

    Raises:
        SettingsError: one cannot be what it is said to be.
    """
    async with AsyncExitStack() as stack:
        yield [_anchor(place, settings, ledger, stack) for place in settings.ledger.anchors]


def _anchor(
    place: AnchorPlace, settings: Settings, ledger: ProvableLog, stack: AsyncExitStack
) -> Anchor:
    if place.file is not None:
        return FileAnchor(place.file)
    if place.blob is not None:
        token = token_for(_SIGNING_IN, LedgerError, settings, stack)
        blob = BlobAnchor(BlobPlace(place.blob, settings.identity.trust), token)
        stack.push_async_callback(blob.close)
        return blob
    if place.witness is not None:
        found = WitnessPlace(
            place.witness,
            place.witness_key or "",
            signing_key(settings),
            place.trust,
            place.cosigned,
        )
        witness = WitnessAnchor(found, ledger)
        stack.push_async_callback(witness.close)
        return witness
    namespace, _, name = (place.config_map or "").partition("/")
    assert place.kubeconfig is not None  # noqa: S101  AnchorPlace demands it.
    config_map = ConfigMapAnchor(place.kubeconfig, namespace, name)
    stack.push_async_callback(config_map.close)
    return config_map


class KeptLedger:
    """A store that is opened when it can be, and kept to its whole days (a `Destination`).

    With `publishing`, heads of its log are signed every `head_every_s` seconds, and at the end.
    """

    def __init__(  # noqa: PLR0913, PLR0917  What it is made of, once.
        self,
        store: Store,
        keep_days: int,
        logger: FilteringBoundLogger,
        publishing: HeadPublisher | None = None,
        head_every_s: float = 60.0,
        limits: RoomLimits = _LIMITS,
    ) -> None:
        self.path = store.path
        """The ledger's file, where it is one."""
        self.publishing = publishing
        self.timestamps: HeadTimestamper | None = None
        """Has heads timestamped, where an authority is named."""
        self.outside: int | None = None
        """Rows that are not in the log, and should be; None while it is not known."""
        self._store = store
        self._keep_days = keep_days
        self.room = LedgerRoomKeeper(store, keep_days, limits, logger)
        self._logger = logger
        self._problem = "it has not been opened yet"
        self._retain_at = 0.0
        self._head_every_s = head_every_s
        self._head_at = 0.0

    @property
    def store(self) -> Store:
        """The store itself, for those who ask more of it; it may not be open yet."""
        return self._store

    def missing(self) -> list[str]:
        """Say why nothing can be kept; empty when it can."""
        return [self._problem] if self._problem else []

    async def deliver(
        self,
        cluster: str,
        frames: Sequence[Frame],
        quarantined: Sequence[QuarantinedFrame] = (),
    ) -> Receipt:
        """Keep what a cluster sent, and note for `missing` whether that goes.

        Raises:
            LedgerError: it is not kept.
        """
        try:
            receipt = await self._store.deliver(cluster, frames, quarantined)
        except Exception as error:
            if not self._problem:  # Else it is known, and better said.
                self._note(error)
            raise
        self._note(None)
        return receipt

    async def find(self, query: DecisionQuery) -> list[bytes]:
        """Return the documents (JSON) that a query means, in its order.

        Raises:
            LedgerError: the database fails.
        """
        return await self._store.find(query)

    async def look_after(self) -> None:
        """Open the store, again whenever it failed, and forget each hour what is too old."""
        while True:
            try:
                await self._step()
            except Exception as error:  # noqa: BLE001  Nobody else would hear of it before the end.
                self._note(error)
            await asyncio.sleep(LOOK_EVERY_S)

    async def close(self) -> None:
        """Finish what was begun, sign what was not yet, and close."""
        if self.publishing is not None and not self._problem:
            try:
                async with asyncio.timeout(_LAST_HEAD_S):
                    await self.publishing.beat()
            except Exception as error:  # noqa: BLE001  It must close all the same.
                self._logger.warning("last head not signed", problem=_describe(error))
        if self.timestamps is not None:
            await self.timestamps.close()
        await self._store.close()

    async def _step(self) -> None:
        await self._store.open(make=bool(self._problem))
        self._note(None)
        await self._adopt()
        now = time.monotonic()
        if now >= self._retain_at:
            self._retain_at = now + _RETAIN_EVERY_S
            await self._retain()
        await self.room.beat()
        if self.publishing is not None and now >= self._head_at:
            self._head_at = now + self._head_every_s
            await self.publishing.beat()
            if self.timestamps is not None:
                await self.timestamps.beat(self.publishing.head)
            await self._look_outside()

    async def _look_outside(self) -> None:
        """Say how many rows somebody wrote past the ledger, when that changes."""
        before, self.outside = self.outside, await self._store.outside()
        if self.outside and self.outside != before:
            self._logger.error(
                "rows outside of the log",
                rows=self.outside,
                problem="they were not recorded, and are in no list or report; `sallyport ledger "
                "verify --ledger` names them",
            )

    async def _adopt(self) -> None:
        """Take into the log what an earlier release stored, some at each look."""
        adopted = 0
        for _ in range(_MOST_ADOPTIONS):
            if not (some := await self._store.adopt()):
                break
            adopted += some
        if adopted:
            self._logger.info("records of an earlier release taken into the log", records=adopted)

    def _note(self, error: Exception | None) -> None:
        """Note how it goes, and say so when that changes."""
        known = isinstance(error, LedgerError)
        before, self._problem = self._problem, _describe(error)
        if self._problem == before:
            return
        if error is None:
            self._logger.info("ledger open")
        else:
            details = {} if known else {"exc_info": error}
            self._logger.error("ledger fails", problem=self._problem, **details)

    async def _retain(self) -> None:
        try:
            today = dt.datetime.now(dt.UTC).date()
            removed = await self._store.retain(self._keep_days, today)
        except LedgerError as error:
            self._logger.warning("retention failed; it is tried again", problem=str(error))
            return
        if removed.days or removed.leaves:
            days = [day.isoformat() for day in removed.days]
            self._logger.info(
                "days removed", days=days, projections=removed.projections, leaves=removed.leaves
            )


def _describe(error: Exception | None) -> str:
    if error is None:
        return ""
    return str(error) if isinstance(error, LedgerError) else f"unexpected {type(error).__name__}"


@asynccontextmanager
async def open_kept_ledger(
    settings: Settings, logger: FilteringBoundLogger
) -> AsyncIterator[KeptLedger]:
    """Yield the ledger of the settings, opened as soon as that can be.

    Raises:
        SettingsError: `ledger.url` is none.
    """
    section = settings.ledger
    async with AsyncExitStack() as stack:
        store = make_store(settings, stack)
        anchors = await stack.enter_async_context(open_anchors(settings, store))
        _say_of_anchors(settings, store.path, logger)
        publishing = HeadPublisher(store, signing_key(settings), anchors, logger)
        ledger = KeptLedger(
            store, section.keep_days, logger, publishing, section.head_every_s, _limits(section)
        )
        ledger.timestamps = _timestamps(section.timestamp, logger)
        try:
            async with in_background(ledger.look_after()):
                yield ledger
        finally:
            await ledger.close()


def _limits(section: LedgerSection) -> RoomLimits:
    most = section.max_mib
    return RoomLimits(
        max_refusal_bytes=section.max_refusal_mib * _MIB,
        max_bytes=None if most is None else most * _MIB,
        held_namespaces=frozenset(section.hold),
    )


def _timestamps(
    section: TimestampSection | None, logger: FilteringBoundLogger
) -> HeadTimestamper | None:
    if section is None:
        return None
    place = AuthorityPlace(section.url, section.ca, section.file, section.policy, section.every_s)
    return HeadTimestamper(place, logger)


def _say_of_anchors(settings: Settings, ledger: Path | None, logger: FilteringBoundLogger) -> None:
    """Say what anchors cannot prove, as far as this process can tell."""
    places = settings.ledger.anchors
    if not places:
        logger.warning("no anchor", problem=_NO_ANCHOR)
    for place in places:
        if place.file is not None and _are_on_one_disk(place.file, ledger):
            logger.warning("anchor beside the ledger", anchor=str(place.file), problem=_BESIDE)


def _are_on_one_disk(anchor: Path, ledger: Path | None) -> bool:
    try:
        return ledger is not None and anchor.parent.stat().st_dev == ledger.parent.stat().st_dev
    except OSError:
        return False  # Of what cannot be reached, the beat says so.
