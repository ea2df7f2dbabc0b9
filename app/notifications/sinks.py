"""Makes sinks and what tells them, as the settings say."""

from contextlib import AsyncExitStack

from app.settings.messages import name_setting
from app.settings.notifications import NotificationSink
from app.settings.root import Settings
from audit.notifications.delivery import DeliveryOptions
from audit.notifications.notice import NoticeEvent
from audit.notifications.routes import Route
from audit.notifications.sink import Sink
from audit.notifications.sinks.https import tls_context
from audit.notifications.sinks.webhook import WebhookSink
from core.base.errors import SettingsError

_HOURS_OF_DAY = 24
_HOUR_S = 3600.0


def route_of(section: NotificationSink) -> Route:
    """Return what a sink takes."""
    return Route(
        at_least=section.at_least,
        stores=frozenset(section.stores),
        events=frozenset(map(NoticeEvent, section.events)),
        since=section.since,
    )


def open_sink(section: NotificationSink, stack: AsyncExitStack) -> Sink:
    """Return a sink; nothing is asked of it yet. `stack` closes it.

    Raises:
        SettingsError: naming what cannot be used.
    """
    context = tls_context(section.trust, f"notifications.sinks {section.name}: trust")
    assert section.url is not None  # noqa: S101  NotificationSink demands them.
    assert section.secrets is not None  # noqa: S101
    sink = WebhookSink(section.url, section.secrets, context)
    stack.push_async_callback(sink.close)
    return sink


def delivery_options(settings: Settings) -> DeliveryOptions:
    """Return what holds for all sinks.

    Raises:
        SettingsError: the ledger forgets before a notice is given up.
    """
    hours = settings.notifications.give_up_hours
    kept = settings.ledger.keep_days * _HOURS_OF_DAY
    if settings.notifications.sinks and hours > kept:
        give_up, keep = map(name_setting, ("notifications.give_up_hours", "ledger.keep_days"))
        raise SettingsError(
            f"{give_up}: {hours:g} hours are longer than the ledger keeps what is to be told "
            f"({kept} hours); lower it, or raise {keep}"
        )
    judged = settings.cluster_id if settings.weights.follows else ""
    return DeliveryOptions(give_up_s=hours * _HOUR_S, judged_cluster=judged)
