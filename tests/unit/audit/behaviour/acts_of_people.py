"""Acts for tests: somebody's ordinary weeks, and single things that they do."""

import uuid
from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec

from audit.behaviour.acts import Act, ActKind
from audit.behaviour.cluster_habits import ClusterHabits
from core.base.times import milli_text
from core.risk.model import Behaviour, identity_key

DAY = 86_400.0
HOUR = 3600.0
MONDAY = 1_735_516_800.0
"""2024-12-30T00:00Z."""
WHO = "oid:6ad2b1c7-3f2c-4f0e-9d6e-0d4b3c1a2f10"
NUMBERS = count(1)


def act(at: float, **changes: Any) -> Act:
    """Return an act at a time: a workload that was let in, of one person in one namespace."""
    usual = Act(
        cluster="prod-1",
        number=next(NUMBERS),
        at=at,
        who=identity_key(changes.pop("label", WHO)),
        is_machine=False,
        namespace="team-a",
        profile="restricted",
        doing=ActKind.CREATE,
    )
    return msgspec.structs.replace(usual, **changes)


def weeks(number: int, start: float = MONDAY, **changes: Any) -> Iterator[Act]:
    """Yield ordinary weeks: Monday to Friday from 9 to 17, a workload an hour, entered at noon."""
    for day in range(7 * number):
        if day % 7 < 5:
            for hour in range(9, 18):
                at = start + day * DAY + hour * HOUR
                yield act(at, **changes)
                if hour == 12:
                    yield act(at + 60, doing=ActKind.ENTER, **changes)


def learnt(*acts: Act, habits: ClusterHabits | None = None) -> tuple[ClusterHabits, Behaviour]:
    """Learn acts as they come; give what is learnt, and all that began to count."""
    habits = habits or ClusterHabits(b"salt")
    found = Behaviour(0)
    for each in acts:
        found |= habits.learn(each, each.at)
    return habits, found


def used(number: int = 6) -> ClusterHabits:
    """Return a cluster in which WHO and others worked for some weeks."""
    others = [weeks(number, label=f"user:{name}") for name in ("a", "b")]
    every = sorted((each for one in (weeks(number), *others) for each in one), key=lambda a: a.at)
    habits, found = learnt(*every)
    assert not found
    return habits


AFTER = MONDAY + 6 * 7 * DAY
"""The Monday after `used`."""


def document(at: float, **changes: Any) -> dict[str, Any]:
    """Return a decision document of a workload that a person submitted."""
    number = (int(at * 1000) << 80) | 7 << 76 | 2 << 62 | next(NUMBERS)
    asked = {"uid": "u", "operation": "CREATE", "kind": "Job", "version": "v1"}
    return {
        "format": 1,
        "id": str(uuid.UUID(int=number)),
        "time": milli_text(int(at * 1000)),
        "cluster": "prod-1",
        "source": "validate",
        "request": {**asked, "namespace": "team-a", **changes.pop("request", {})},
        "requester": WHO,
        "requesterKind": "entra-human",
        "verdict": "allow",
        "allowed": True,
        "profile": "restricted",
        **changes,
    }
