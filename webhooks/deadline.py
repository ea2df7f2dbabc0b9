"""The deadline of a review: what `?timeout=` says, less a margin for the way back."""

import re
from urllib.parse import parse_qs

from core.base.short_text_cache import cache_short_text

DEFAULT_SECONDS = 10.0
"""`timeoutSeconds` of a webhook that does not set it (admissionregistration.k8s.io/v1)."""

MAX_SECONDS = 30.0
"""The longest `timeoutSeconds` that Kubernetes accepts."""

MARGIN_SECONDS = 0.1
MARGIN_SHARE = 0.1

# Go's time.ParseDuration, without a sign: a negative timeout is none.
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_PART = re.compile(r"(\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_LONGEST_TEXT = 64


def parse_timeout(text: str) -> float:
    """Read a Go duration such as `10s`, `1m30s` or `500ms`, in seconds.

    Anything else, zero included, is DEFAULT_SECONDS; never more than MAX_SECONDS.
    """
    seconds, end = 0.0, 0
    if len(text) <= _LONGEST_TEXT:
        while part := _PART.match(text, end):
            seconds += float(part[1]) * _UNITS[part[2]]
            end = part.end()
    if end != len(text) or seconds <= 0:
        return DEFAULT_SECONDS
    return min(seconds, MAX_SECONDS)


def budget_of(timeout: float) -> float:
    """Return the seconds in which an answer must be ready for a caller who waits `timeout`.

    The margin is 10 %, at least 0.1 s, and never more than half of a very short timeout.
    """
    return max(timeout - max(MARGIN_SECONDS, MARGIN_SHARE * timeout), timeout / 2)


@cache_short_text(256, longest=256)
def budget_of_query(query: bytes) -> float:
    """Return the budget that a URL's query string (`timeout=10s`) leaves, in seconds."""
    values = parse_qs(query[:1024].decode("latin-1")).get("timeout", [""])
    return budget_of(parse_timeout(values[0]))
