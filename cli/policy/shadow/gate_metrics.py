"""Reads the metrics of a gate, as a person's command does: once, directly, within bounds."""

import http.client
import urllib.request
from threading import Thread
from typing import Final

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from core.base.errors import SettingsError

# urllib of the standard library: for one GET this room needs no network client of its own.

MOST_BYTES: Final = 16 * 1024 * 1024
MOST_SECONDS: Final = 10.0
"""For the whole answer."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A gate answers itself: who points elsewhere is none."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


def read_metrics(url: str, seconds: float = MOST_SECONDS) -> tuple[list[Metric], str]:
    """Return a gate's metrics, or none and why.

    Raises:
        SettingsError: the address is no http one.
    """
    if not url.startswith(("http://", "https://")):
        raise SettingsError(f"--metrics {url}: give http://HOST:PORT/metrics of a gate")
    found: list[tuple[list[Metric], str]] = []
    # In a thread that may be left behind: a timeout of sockets bounds each wait, not all of them.
    thread = Thread(target=lambda: found.append(_read(url, seconds)), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else ([], f"it does not answer: not within {seconds:g} s")


def _read(url: str, seconds: float) -> tuple[list[Metric], str]:
    # Without the environment's proxy, which would learn the address, and answer in its place.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)
    try:
        with direct.open(url, timeout=seconds) as answer:
            content = answer.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            return [], f"its answer is larger than {MOST_BYTES >> 20} MiB"
        return list(text_string_to_metric_families(content.decode())), ""
    except (OSError, ValueError, http.client.HTTPException) as error:  # URLError is an OSError.
        return [], f"it does not answer: {getattr(error, 'reason', None) or error}"
