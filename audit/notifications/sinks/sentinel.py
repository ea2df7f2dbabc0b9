"""Microsoft Sentinel through the Logs Ingestion API of Azure Monitor: each notice a row.

Learn, "Logs Ingestion API in Azure Monitor": a call takes 1 MB at most, and answers 204.
"""

import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from audit.notifications.notice import Notice
from audit.notifications.shorter_notice import fit_notice
from audit.notifications.sinks.https import HttpsClient, require_https

API_VERSION: Final = "2023-01-01"
MOST_BYTES: Final = 1_000_000
"""Of a call."""

_MOST_ROW: Final = 64_000
"""Of a row: a column takes 256 KB."""

_PUBLIC: Final = "monitor.azure.com"


@dataclass(frozen=True, slots=True)
class SentinelPlace:
    """Which stream of which data collection rule."""

    endpoint: str
    """`https://….ingest.monitor.azure.com`."""
    rule: str
    """Its immutable id, `dcr-…`."""
    stream: str
    """`Custom-…`."""

    @property
    def url(self) -> str:
        """Where rows are posted."""
        site = self.endpoint.rstrip("/")
        stream = quote(self.stream, safe="")
        path = f"dataCollectionRules/{self.rule}/streams/{stream}"
        return f"{site}/{path}?api-version={API_VERSION}"

    @property
    def scope(self) -> str:
        """What a token is asked for: Azure Monitor's own audience in that cloud."""
        host = urlsplit(self.endpoint).hostname or ""
        _, found, cloud = host.partition(".ingest.")
        return f"https://{cloud if found else _PUBLIC}/.default"


def sentinel_row(notice: Notice) -> dict[str, Any]:
    """Return the row: names in Pascal case, for `id` and `Title` are names that Azure keeps."""
    return {
        "TimeGenerated": notice.time,
        "NoticeId": notice.id,
        "Event": notice.event.value,
        "Cluster": notice.cluster,
        "NoticeSeverity": notice.severity.value,
        "NoticeTitle": notice.title,
        "Detail": notice.detail,
        "Remedy": notice.remedy,
        "Detection": notice.detection,
        "EventTime": notice.time,
        "FirstTime": notice.first or notice.time,
        "Events": notice.events,
        "Bytes": notice.bytes,
        "Store": notice.store,
        "Account": notice.account,
        "Container": notice.container,
        "Who": notice.who,
        "Requesters": notice.requesters,
        "Pods": notice.pods,
        "Addresses": notice.addresses,
        "Techniques": notice.techniques,
    }


def sentinel_body(notices: Sequence[Notice]) -> bytes:
    """Return the body of a call: all rows, each cut to what fits."""
    return b"[%b]" % b",".join(_row(notice) for notice in notices)


def _row(notice: Notice) -> bytes:
    return fit_notice(notice, _encode, _MOST_ROW)


def _encode(notice: Notice) -> bytes:
    return msgspec.json.encode(sentinel_row(notice))


class SentinelSink:
    """Posts to one stream, signed in to Entra ID."""

    most = 200

    def __init__(
        self,
        place: SentinelPlace,
        context: ssl.SSLContext,
        get_token: Callable[[str], Awaitable[str]],
    ) -> None:
        """Take the place, and what gives tokens; it raises SinkAwayError."""
        self._place = place
        self._get_token = get_token
        self._client = HttpsClient(context)

    def fitting(self, notices: Sequence[Notice]) -> int:
        """Return how many rows fit into one call; see `Sink`."""
        size = 1  # A bracket, and then each row with what follows it.
        for count, notice in enumerate(notices):
            size += len(_row(notice)) + 1
            if count and size > MOST_BYTES:
                return count
        return len(notices)

    async def send(self, notices: Sequence[Notice]) -> None:
        """Post all in one call; see `Sink`."""
        url = require_https(self._place.url, "endpoint")
        headers = {
            "Authorization": f"Bearer {await self._get_token(self._place.scope)}",
            "Content-Type": "application/json",
        }
        await self._client.post(url, sentinel_body(notices), headers)

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()
