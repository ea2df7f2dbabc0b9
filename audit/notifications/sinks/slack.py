"""Slack, by an incoming webhook: a message of blocks whose texts are plain, so that none is a link.

https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
https://docs.slack.dev/reference/block-kit/blocks: 50 blocks, 150 characters of a header, 3,000 of
a section.
"""

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from audit.notifications.notice import Notice
from audit.notifications.notice_text import facts_of, headline_of
from audit.notifications.secret_files import read_secret
from audit.notifications.sinks.https import HttpsClient, require_https
from core.base.safe_text import shorten

URL: Final = "url"
"""The Secret's key: who has the address may write to the channel."""

MOST_BLOCKS: Final = 50
_BLOCKS: Final = 4
"""Of a notice."""

_MOST_HEADER: Final = 150
_MOST_SECTION: Final = 3000
_MOST_FALLBACK: Final = 300


def slack_message(notices: Sequence[Notice]) -> dict[str, Any]:
    """Return the message; `text` is what a notification on a phone shows."""
    more = f" and {len(notices) - 1} more" if len(notices) > 1 else ""
    return {
        "text": _escape(shorten(headline_of(notices[0]), _MOST_FALLBACK) + more),
        "unfurl_links": False,
        "blocks": [block for notice in notices for block in _blocks(notice)],
    }


def _blocks(notice: Notice) -> list[dict[str, Any]]:
    facts = "\n".join(f"{name}: {text}" for name, text in facts_of(notice))
    return [
        {"type": "header", "text": _plain(headline_of(notice), _MOST_HEADER)},
        {"type": "section", "text": _plain(f"{notice.detail}\nDo: {notice.remedy}", _MOST_SECTION)},
        {"type": "section", "text": _plain(facts, _MOST_SECTION)},
        {"type": "divider"},
    ]


def _plain(text: str, most: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": shorten(text, most), "emoji": False}


def _escape(text: str) -> str:
    """Return text in which nothing is a mention or a link, which begin with `<`."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class SlackSink:
    """Posts to one channel."""

    most = MOST_BLOCKS // _BLOCKS

    def __init__(self, secrets: Path, context: ssl.SSLContext) -> None:
        self._secrets = secrets
        self._client = HttpsClient(context)

    def fitting(self, notices: Sequence[Notice]) -> int:
        """Return all; see `Sink`."""
        return len(notices)

    async def send(self, notices: Sequence[Notice]) -> None:
        """Post one message of all; see `Sink`."""
        url = require_https(read_secret(self._secrets, URL), str(self._secrets / URL))
        body = msgspec.json.encode(slack_message(notices))
        await self._client.post(url, body, {"Content-Type": "application/json"})

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()
