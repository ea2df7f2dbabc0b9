"""Makes sinks and what tells them, as the settings say."""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Final

from structlog.typing import FilteringBoundLogger

from app.entra.tokens import GetToken, token_for
from app.settings.messages import name_setting
from app.settings.notifications import NotificationSink, SinkKind
from app.settings.root import Settings
from audit.notifications.delivery import DeliveryOptions
from audit.notifications.notice import NoticeEvent
from audit.notifications.routes import Route
from audit.notifications.sink import Sink, SinkAwayError
from audit.notifications.sinks.https import tls_context
from audit.notifications.sinks.sentinel import SentinelPlace, SentinelSink
from audit.notifications.sinks.slack import SlackSink
from audit.notifications.sinks.smtp import MailAddresses, SmtpSink
from audit.notifications.sinks.syslog import SyslogSink
from audit.notifications.sinks.teams import TeamsSink
from audit.notifications.sinks.tls_socket import TlsServer, server_of
from audit.notifications.sinks.webhook import WebhookSink
from core.base.errors import SettingsError

_HOURS_OF_DAY: Final = 24
_HOUR_S: Final = 3600.0
_SIGNING_IN: Final = "signing in to tell a sink"


class SinkMaker:
    """Makes the sinks of one process; `stack` closes what they hold."""

    def __init__(
        self, settings: Settings, stack: AsyncExitStack, logger: FilteringBoundLogger
    ) -> None:
        self._settings = settings
        self._stack = stack
        self._logger = logger

    def make(self, section: NotificationSink) -> Sink:
        """Return a sink; nothing is asked of it yet.

        Raises:
            SettingsError: naming what cannot be used.
        """
        sink = _MAKERS[section.kind](self, section)
        self._stack.push_async_callback(sink.close)
        return sink

    def webhook(self, section: NotificationSink) -> Sink:
        """Return a webhook."""
        context = tls_context(section.trust, _trust_of(section))
        assert section.url is not None  # noqa: S101  NotificationSink demands them.
        assert section.secrets is not None  # noqa: S101
        return WebhookSink(section.url, section.secrets, context)

    def syslog(self, section: NotificationSink) -> Sink:
        """Return a server of syslog."""
        return SyslogSink(_server_of(section))

    def smtp(self, section: NotificationSink) -> Sink:
        """Return a server of mail."""
        assert section.sender is not None  # noqa: S101  NotificationSink demands it.
        addresses = MailAddresses(section.sender, tuple(section.recipients))
        logger = self._logger.bind(sink=section.name)
        server = _server_of(section)
        return SmtpSink(server, addresses, logger, implicit_tls=section.tls == "implicit")

    def kafka(self, section: NotificationSink) -> Sink:
        """Return a topic, or an event hub."""
        # What tells no Kafka need not load its client.
        from audit.notifications.sinks.kafka import KafkaPlace, KafkaSink  # noqa: PLC0415

        tls_context(section.trust, _trust_of(section))
        assert section.topic is not None  # noqa: S101  NotificationSink demands them.
        assert section.sign_in is not None  # noqa: S101
        place = KafkaPlace(
            tuple(section.servers),
            section.topic,
            section.sign_in,
            section.trust,
            section.secrets,
        )
        return KafkaSink(place, self._token() if section.sign_in == "entra" else None)

    def sentinel(self, section: NotificationSink) -> Sink:
        """Return a stream of a data collection rule."""
        context = tls_context(section.trust, _trust_of(section))
        place = SentinelPlace(section.endpoint or "", section.rule or "", section.stream or "")
        return SentinelSink(place, context, self._token())

    def slack(self, section: NotificationSink) -> Sink:
        """Return a channel of Slack."""
        assert section.secrets is not None  # noqa: S101  NotificationSink demands it.
        return SlackSink(section.secrets, tls_context(section.trust, _trust_of(section)))

    def teams(self, section: NotificationSink) -> Sink:
        """Return a workflow of Teams."""
        assert section.secrets is not None  # noqa: S101  NotificationSink demands it.
        return TeamsSink(section.secrets, tls_context(section.trust, _trust_of(section)))

    def _token(self) -> GetToken:
        return token_for(_SIGNING_IN, SinkAwayError, self._settings, self._stack)


_MAKERS: Final[Mapping[SinkKind, Callable[[SinkMaker, NotificationSink], Sink]]] = {
    "webhook": SinkMaker.webhook,
    "syslog": SinkMaker.syslog,
    "smtp": SinkMaker.smtp,
    "kafka": SinkMaker.kafka,
    "sentinel": SinkMaker.sentinel,
    "slack": SinkMaker.slack,
    "teams": SinkMaker.teams,
}


def _trust_of(section: NotificationSink) -> str:
    return f"notifications.sinks {section.name}: trust"


def _server_of(section: NotificationSink) -> TlsServer:
    tls_context(section.trust, _trust_of(section))  # A CA that cannot be read ends the start.
    assert section.server is not None  # noqa: S101  NotificationSink demands it.
    return server_of(section.server, section.trust, section.secrets)


def route_of(section: NotificationSink) -> Route:
    """Return what a sink takes."""
    return Route(
        at_least=section.at_least,
        stores=frozenset(section.stores),
        events=frozenset(map(NoticeEvent, section.events)),
        since=section.since,
    )


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
