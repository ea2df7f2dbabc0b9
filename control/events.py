"""What an Event (core v1) is: its body, as every loop writes it."""

from collections.abc import Mapping
from typing import Any, Final

from core.base.times import time_text

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

_COMPONENT: Final = "sallyport-control"


def event_body(
    metadata: Mapping[str, str], involved: Mapping[str, str], what: tuple[str, str, str], at: float
) -> dict[str, Any]:
    """Give an Event that happened once.

    `involved` refers to the object, `what` is type, reason and message, `at` in Unix seconds.
    """
    kind, reason, message = what
    time = time_text(at)
    return {
        "metadata": dict(metadata),
        "involvedObject": dict(involved),
        "type": kind,
        "reason": reason,
        "message": message,
        "source": {"component": _COMPONENT},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
