"""Microsoft Teams, by a webhook of its Workflows: an Adaptive Card, whose texts are no Markdown.

Learn, "Create incoming webhooks with Workflows for Microsoft Teams": a message of at most 28 KB
with cards as attachments. A workflow answers 202 when it has begun.
"""

import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from audit.notifications.notice import Notice
from audit.notifications.notice_text import facts_of, headline_of
from audit.notifications.secret_files import read_secret
from audit.notifications.shorter_notice import fit_notice
from audit.notifications.sinks.https import HttpsClient, require_https
from core.weights.documents.events import Severity

URL: Final = "url"
"""The Secret's key: who has the address may write to the channel."""

MOST_BYTES: Final = 28 * 1024

CARD: Final = "application/vnd.microsoft.card.adaptive"

_COLOURS: Final = {
    Severity.CRITICAL: "attention",
    Severity.HIGH: "attention",
    Severity.MEDIUM: "warning",
    Severity.LOW: "default",
}


def teams_message(notices: Sequence[Notice]) -> dict[str, Any]:
    """Return the message that a workflow posts: one card."""
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": headline_of(notices[0]),
        "msteams": {"width": "Full"},
        "body": [line for notice in notices for line in _lines(notice)],
    }
    attachment = {"contentType": CARD, "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _lines(notice: Notice) -> Iterator[dict[str, Any]]:
    head = {"text": headline_of(notice), "weight": "bolder", "size": "medium"}
    yield _line({**head, "color": _COLOURS[notice.severity]}) | {"separator": True}
    yield _line({"text": notice.detail})
    yield _line({"text": "Do: ", "weight": "bolder"}, {"text": notice.remedy})
    for name, text in facts_of(notice):
        yield _line({"text": f"{name}: ", "weight": "bolder"}, {"text": text})


def _line(*runs: dict[str, str]) -> dict[str, Any]:
    """Return a paragraph of TextRuns, which are no Markdown; they wrap."""
    return {
        "type": "RichTextBlock",
        "inlines": [{"type": "TextRun", **run} for run in runs if run["text"]],
    }


def teams_body(notices: Sequence[Notice]) -> bytes:
    """Return one message of all; where it is of one notice, that is cut to what fits."""
    if len(notices) == 1:
        return fit_notice(notices[0], _body, MOST_BYTES)
    return msgspec.json.encode(teams_message(notices))


def _body(notice: Notice) -> bytes:
    return msgspec.json.encode(teams_message([notice]))


class TeamsSink:
    """Posts to one workflow."""

    most = 8

    def __init__(self, secrets: Path, context: ssl.SSLContext) -> None:
        self._secrets = secrets
        self._client = HttpsClient(context)

    def fitting(self, notices: Sequence[Notice]) -> int:
        """Return how many fit into one message; see `Sink`."""
        counts = range(len(notices), 1, -1)
        return next(
            (count for count in counts if len(teams_body(notices[:count])) <= MOST_BYTES), 1
        )

    async def send(self, notices: Sequence[Notice]) -> None:
        """Post one message of all; see `Sink`. It is acknowledged when the workflow has begun."""
        url = require_https(read_secret(self._secrets, URL), str(self._secrets / URL))
        await self._client.post(url, teams_body(notices), {"Content-Type": "application/json"})

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()
