"""Microsoft Sentinel through the Logs Ingestion API of Azure Monitor: each notice a row.

Learn, "Logs Ingestion API in Azure Monitor": a call takes 1 MB at most, and answers 204.
"""

import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
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


def sentinel_calls(notices: Sequence[Notice]) -> Iterator[bytes]:
    """Yield bodies that take all notices, none longer than a call may be."""
    rows: list[bytes] = []
    size = 0
    for notice in notices:
        row = fit_notice(notice, _row, _MOST_ROW)
        if rows and size + len(row) + len(rows) + 2 > MOST_BYTES:
            yield b"[%b]" % b",".join(rows)
            rows, size = [], 0
        rows.append(row)
        size += len(row)
    yield b"[%b]" % b",".join(rows)


def _row(notice: Notice) -> bytes:
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

    async def send(self, notices: Sequence[Notice]) -> None:
        """Post all; see `Sink`."""
        url = require_https(self._place.url, "endpoint")
        for body in sentinel_calls(notices):
            headers = {
                "Authorization": f"Bearer {await self._get_token(self._place.scope)}",
                "Content-Type": "application/json",
            }
            await self._client.post(url, body, headers)

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()
