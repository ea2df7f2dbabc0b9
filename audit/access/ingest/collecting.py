"""How often Python looks for cycles in a process that takes in logs."""

import gc
from typing import Final

_AFTER: Final = (10_000, 10, 10)
"""Objects before the youngest are looked at, and passes before older ones are: all of them after a
million more. Each look at all of them passes over everything known of Pods, while nothing is taken
in; and next to nothing of what is taken in is in cycles."""


def collect_seldom() -> None:
    """Look for cycles more seldom, in the whole process, from now on."""
    gc.set_threshold(*_AFTER)
