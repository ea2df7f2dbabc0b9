"""How many values a JSON text holds, counted without reading it.

To read JSON takes time for each value, not for each byte, and no other thread runs meanwhile: 3 MB
of one text take a millisecond, 3 MB of empty containers 160 ms. So what strangers send is counted
first.
"""

from typing import Final

COUNTED_FROM: Final = 32 * 1024
"""Bytes. What is shorter is read in less than 2 ms, whatever it holds."""

_MARKS: Final = (b",", b"{", b"[")


def count_values(text: bytes) -> int:
    """Return about how many values a JSON text holds: never fewer.

    Each value but the first of its object or list has a comma before it, each object and list a
    bracket. Those within texts count too, so a manifest in an annotation counts a second time.
    Takes 2 ms for 3 MB.
    """
    return 1 + sum(map(text.count, _MARKS))
