"""Conditions of an object's status (meta/v1 Condition), and how they change. Pure.

https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
"""

import msgspec

from core.base.times import time_text


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """A condition of an object's status."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str = ""


def stamp_condition(
    condition: Condition, before: Condition | None, generation: int, now: float
) -> Condition:
    """Add generation and time; the time is that of the last change of `status` alone."""
    time = time_text(now)
    if before is not None and before.status == condition.status and before.last_transition_time:
        time = before.last_transition_time
    return msgspec.structs.replace(
        condition, observed_generation=generation, last_transition_time=time
    )
