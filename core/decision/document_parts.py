"""What a decision document keeps of the sandbox, and of the risk of identities."""

from typing import Final

import msgspec

from core.base.times import second_text
from core.risk.model import Assessed

MOST_ASSESSED: Final = 32
"""Identities kept; a Pod may name many client ids."""


class _Part(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False
):
    """As the parts of `core.decision.document`."""


class CountedSignal(_Part, frozen=True):
    """A signal of risk that counted."""

    rule: str
    points: int
    path: str = ""
    reason: str = ""


class Isolated(_Part, frozen=True):
    """What decided about the sandbox."""

    mode: str
    """The strictest of namespace, profile and root's profile: `never`, `by-risk`, `required`."""
    score: int = 0
    threshold: int = 0
    asked: bool = False
    """Whether its author asked for a sandbox."""
    excused: bool = False
    """Whether a PolicyException took away what the mode demands."""
    identity: bool = False
    """Whether the risk of an identity demanded it, and nothing else did."""
    signals: list[CountedSignal] = []
    """The heaviest first; each rule once."""


class AssessedRisk(_Part, frozen=True):
    """What the risk table said of one identity that counted."""

    role: str
    """`requester`, `author` (who submitted what a controller makes it for) or `workload`."""
    who: str
    """`Subject.label`; of a workload `client:` and the client id."""
    standing: str
    """`clean`, `low`, `medium`, `high`, `confirmed-compromised`, `stale` …"""
    effect: str
    """`allow`, `warn`, `sandbox` or `deny`."""
    row: str
    """The row of the table that decided."""
    events: list[str] = []
    """Ids of the detections or events that it rests on."""
    event_types: list[str] = []
    age_s: float | None = None
    """Seconds since what was known of such identities was complete; absent where it never was."""
    since: str = ""
    """Of the risk, RFC 3339; empty where it is not at risk."""


def record_risk(one: Assessed) -> AssessedRisk:
    """Give what is kept of what the risk table says of an identity."""
    return AssessedRisk(
        role=one.role.value,
        who=one.who,
        standing=one.standing.value,
        effect=one.effect.value,
        row=one.row,
        events=list(one.events),
        event_types=list(one.event_types),
        age_s=None if one.age_s is None else round(one.age_s, 1),
        since=second_text(one.since) + "Z" if one.since else "",
    )
