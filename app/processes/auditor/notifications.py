"""Tells sinks what the auditor's ledger records."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from structlog.typing import FilteringBoundLogger

from app.notifications.sinks import SinkMaker, delivery_options, route_of
from app.settings.root import Settings
from audit.ledger.store.store import Store
from audit.notifications.delivery import SinkDelivery
from audit.notifications.notice import DUE_EVENTS
from audit.notifications.pending_follower import PendingFollower
from audit.notifications.pending_objects import PendingTerms
from core.base.background import in_background


@asynccontextmanager
async def open_notifications(
    settings: Settings, store: Store, logger: FilteringBoundLogger
) -> AsyncIterator[Sequence[SinkDelivery]]:
    """Tell each sink until the end; each in a task of its own.

    Raises:
        SettingsError: naming what is missing or wrong.
    """
    options = delivery_options(settings)
    async with AsyncExitStack() as stack:
        section = settings.notifications
        terms = PendingTerms(section.ends_days, section.waits_hours)
        pending = PendingFollower(store, terms, logger)
        sinks = SinkMaker(settings, stack, logger)
        deliveries = [
            SinkDelivery(
                each.name,
                sinks.make(each),
                route_of(each),
                store,
                logger,
                options,
                due=pending.due if route_of(each).events & DUE_EVENTS else None,
            )
            for each in section.sinks
        ]
        for delivery in deliveries:
            await stack.enter_async_context(in_background(delivery.run()))
        yield deliveries
