"""How long a sink is left alone after it failed. Pure."""

from typing import Final

FIRST_S: Final = 2.0
LONGEST_S: Final = 300.0
LONGEST_RETRY_AFTER_S: Final = 3600.0
"""What a sink asks for is honoured up to here."""

_JITTER: Final = 0.25


def wait_s(failures: int, retry_after_s: float, chance: float) -> float:
    """Return the seconds to wait after so many failures in a row.

    Args:
        failures: at least 1.
        retry_after_s: what the sink asks for; 0 where it says nothing.
        chance: 0 to 1, at random, so that those that failed together come back apart.

    >>> [wait_s(each, 0.0, 0.0) for each in (1, 2, 3, 20)]
    [2.0, 4.0, 8.0, 300.0]
    >>> wait_s(1, 30.0, 1.0)
    37.5
    """
    doubled = min(LONGEST_S, FIRST_S * 2.0 ** min(failures - 1, 20))
    return max(doubled, min(retry_after_s, LONGEST_RETRY_AFTER_S)) * (1 + _JITTER * chance)
