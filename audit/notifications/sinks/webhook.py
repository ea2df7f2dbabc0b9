"""A webhook: each notice a CloudEvent (1.0, structured mode), signed as Standard Webhooks says.

https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import hmac
import ssl
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from audit.notifications.cloud_events import MEDIA_TYPE, cloud_event
from audit.notifications.notice import Notice
from audit.notifications.secret_files import read_secret, read_secret_if_there
from audit.notifications.sink import SinkAwayError
from audit.notifications.sinks.https import HttpsClient, require_https

KEY: Final = "hmac-key"
TOKEN: Final = "token"  # noqa: S105  A file's name.

_PREFIX: Final = "whsec_"
_KEY_BYTES: Final = range(24, 65)
"""Of a key, as Standard Webhooks demands."""


def signature(key: bytes, message_id: str, at: int, body: bytes) -> str:
    """Return one signature of `webhook-signature`; `at` is in Unix seconds."""
    signed = f"{message_id}.{at}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, sha256)).decode()


def read_keys(text: str, file: Path) -> list[bytes]:
    """Return the keys of a file, one a line: two while one follows the other.

    Raises:
        SinkAwayError: a line holds none. It is not repeated.
    """
    keys: list[bytes] = []
    for line in text.split():
        try:
            key = base64.b64decode(line.removeprefix(_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) not in _KEY_BYTES:
            raise SinkAwayError(
                f"{file}: a line is no key of 24 to 64 bytes in base64; "
                "make one with `openssl rand -base64 32`"
            )
        keys.append(key)
    return keys


class WebhookSink:
    """Posts to one address of HTTPS."""

    most = 1

    def __init__(
        self,
        url: str,
        secrets: Path,
        context: ssl.SSLContext,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._url = url
        self._secrets = secrets
        self._client = HttpsClient(context)
        self._clock = clock

    def fitting(self, notices: Sequence[Notice]) -> int:
        """Return all; see `Sink`."""
        return len(notices)

    async def send(self, notices: Sequence[Notice]) -> None:
        """Post each notice; see `Sink`."""
        url = require_https(self._url, "url")
        keys = read_keys(read_secret(self._secrets, KEY), self._secrets / KEY)
        token = read_secret_if_there(self._secrets, TOKEN)
        for notice in notices:
            body, at = cloud_event(notice), int(self._clock())
            headers = {
                "Content-Type": MEDIA_TYPE,
                "webhook-id": notice.id,
                "webhook-timestamp": str(at),
                "webhook-signature": " ".join(signature(key, notice.id, at, body) for key in keys),
            }
            if token:
                headers["Authorization"] = f"Bearer {token}"
            await self._client.post(url, body, headers)

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()
