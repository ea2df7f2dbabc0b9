"""Times as text: RFC 3339, UTC."""

import time
from functools import lru_cache


@lru_cache(maxsize=8)
def second_text(seconds: int) -> str:
    """Give a second of Unix time without its zone; what happens within one second shares it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
