"""The section `notifications` of the settings: who is told what the ledger has, and how."""

import datetime as dt
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from app.settings.section import Section
from core.weights.documents.events import Severity

SinkKind = Literal["webhook", "syslog", "smtp", "kafka", "sentinel", "slack", "teams"]

_NAME: Final = r"^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$"
_SERVER: Final = r"^[A-Za-z0-9.-]+:[0-9]{1,5}$"
_TOPIC: Final = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
_SITE: Final = r"^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?$"
_RULE: Final = r"^dcr-[0-9a-f]{32}$"
_STREAM: Final = r"^Custom-[A-Za-z0-9_-]+$"
_MAIL: Final = r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+$"
_URL: Final = r"^https://[^\s?#@]+$"

_NEEDS: Final[Mapping[SinkKind, tuple[str, ...]]] = {
    "webhook": ("url", "secrets"),
    "syslog": ("server",),
    "smtp": ("server", "sender", "recipients"),
    "kafka": ("servers", "topic", "sign_in"),
    "sentinel": ("endpoint", "rule", "stream"),
    "slack": ("secrets",),
    "teams": ("secrets",),
}
"""What each kind must have."""

_MAY: Final[Mapping[SinkKind, tuple[str, ...]]] = {
    "webhook": ("trust",),
    "syslog": ("trust", "secrets"),
    "smtp": ("trust", "secrets", "tls"),
    "kafka": ("trust", "secrets"),
    "sentinel": ("trust",),
    "slack": ("trust",),
    "teams": ("trust",),
}

_ALL: Final = ("name", "kind", "at_least", "stores", "events", "since")

KafkaSignIn = Literal["entra", "connection-string", "plain", "scram-sha-512", "certificate"]
EventName = Literal["finding", "gap", "approval-waiting", "ends-soon", "ended-in-use"]


def _ordinary_events() -> list[EventName]:
    return ["finding", "gap"]


class NotificationSink(Section):
    """One place that is told, and of what."""

    name: str = Field(
        pattern=_NAME, description="Names it in metrics and logs; another name is told anew."
    )
    kind: SinkKind = Field(description="How it is told.")
    at_least: Severity = Field(Severity.LOW, description="It is told of nothing less grave.")
    stores: list[Annotated[str, Field(max_length=253)]] = Field(
        default_factory=list,
        description="WeightStores; what names no store is told all the same. Empty: of all.",
    )
    events: list[EventName] = Field(
        default_factory=_ordinary_events, min_length=1, description="Of what it is told."
    )
    since: str = Field(
        "",
        description="RFC 3339: what has happened since is told, too; without it what is recorded "
        "from the sink's first start on.",
    )
    url: Annotated[str, Field(pattern=_URL, max_length=1024)] | None = Field(
        None, description="`webhook`: `https://HOST/PATH`."
    )
    server: Annotated[str, Field(pattern=_SERVER, max_length=300)] | None = Field(
        None, description="`syslog`, `smtp`: `HOST:PORT`, as a rule 6514 and 587."
    )
    tls: Literal["starttls", "implicit"] | None = Field(
        None, description="`smtp`: `starttls`, or `implicit` from the start, as on port 465."
    )
    sender: Annotated[str, Field(pattern=_MAIL, max_length=254)] | None = Field(
        None, description="`smtp`: the address that mail comes from."
    )
    recipients: list[Annotated[str, Field(pattern=_MAIL, max_length=254)]] = Field(
        default_factory=list, max_length=50, description="`smtp`: whom mail goes to."
    )
    servers: list[Annotated[str, Field(pattern=_SERVER, max_length=300)]] = Field(
        default_factory=list,
        max_length=16,
        description="`kafka`: `HOST:PORT`; of Event Hubs `NAMESPACE.servicebus.windows.net:9093`.",
    )
    topic: Annotated[str, Field(pattern=_TOPIC, max_length=249)] | None = Field(
        None, description="`kafka`: the topic, or event hub."
    )
    sign_in: KafkaSignIn | None = Field(
        None,
        description="`kafka`: `entra` (as `identity` says), `connection-string`, `plain`, "
        "`scram-sha-512`, or `certificate`.",
    )
    endpoint: Annotated[str, Field(pattern=_SITE, max_length=300)] | None = Field(
        None, description="`sentinel`: `https://….ingest.monitor.azure.com`, of the rule or a DCE."
    )
    rule: Annotated[str, Field(pattern=_RULE)] | None = Field(
        None, description="`sentinel`: the immutable id of the data collection rule, `dcr-…`."
    )
    stream: Annotated[str, Field(pattern=_STREAM, max_length=120)] | None = Field(
        None, description="`sentinel`: the rule's stream, `Custom-…`."
    )
    secrets: Path | None = Field(
        None, description="A folder, as a Secret is mounted, with a file for each of its keys."
    )
    trust: Path | None = Field(None, description="CA (PEM) of it; without it the public ones.")

    @field_validator("since")
    @classmethod
    def _is_a_time(cls, value: str) -> str:
        """Write a time as notices have theirs, so that texts can be compared."""
        if not value:
            return value
        at = dt.datetime.fromisoformat(value)
        if at.tzinfo is None:
            raise ValueError("must have a time zone, as 2026-11-28T00:00:00Z")
        return f"{at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S}.000Z"

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if problems := list(self._problems()):
            raise ValueError(f"the sink {self.name!r}: {'; '.join(problems)}")
        return self

    def _problems(self) -> Iterator[str]:
        needs = _NEEDS[self.kind]
        for name in needs:
            if not getattr(self, name):
                yield f"{name} is missing: {self.kind} needs it"
        for name in self.model_fields_set - {*needs, *_MAY[self.kind], *_ALL}:
            if getattr(self, name):
                yield f"{name} must not be given: {self.kind} has none"
        if self.sign_in not in {None, "entra"} and not self.secrets:
            yield f"secrets is missing: sign_in {self.sign_in} needs it"


class NotificationsSection(Section):
    """Who is told what the ledger has: findings, gaps, approvals that wait, what ends soon."""

    sinks: list[NotificationSink] = Field(
        default_factory=list, max_length=32, description="Without any nobody is told."
    )
    give_up_hours: float = Field(
        72.0,
        ge=1,
        le=720,
        description="A notice that a sink did not take for so long is given up, and counted.",
    )

    ends_days: float = Field(
        3.0, ge=0.01, le=90, description="So long before its end a grant or an exception is told."
    )
    waits_hours: float = Field(
        1.0, ge=0, le=720, description="So long something waits for approval before that is told."
    )

    @model_validator(mode="after")
    def _have_names_of_their_own(self) -> Self:
        names = [sink.name for sink in self.sinks]
        if double := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(
                f"several sinks are called {', '.join(double)}: give each its own name"
            )
        return self
