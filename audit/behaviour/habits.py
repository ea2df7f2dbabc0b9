"""What one identity is used to do: a record of bounded size, brought forward by each of its acts.

Pure but for the record, which is changed in place: no clock, and no chance.
"""

from array import array
from collections.abc import Mapping
from typing import Final

import msgspec

from audit.behaviour.acts import Act, ActKind
from audit.behaviour.rates import Norm, Rate, close_day, count_act, set_limit
from core.base.times import DAY_S
from core.risk.model import Behaviour

HOURS: Final = 24

MOST_NAMESPACES: Final = 32
MOST_PROFILES: Final = 12
"""Those used least recently are forgotten, and new again when they are used."""

_WARM_DAYS: Final = 7
_WARM_ACTS: Final = 20
"""So many days with acts, and acts, of an identity teach before a namespace or a profile is new."""

_HOUR_DAYS: Final = 15
"""So many days with acts teach before an hour is unusual."""

_NEAR_HOURS: Final = 2
_HOUR_SHARE: Final = 0.015
"""An hour is unusual where less of the hours before lie within two hours of it: with a working day
of nine hours evenly spread, two hours before its beginning still lie above."""

_HOUR_KEPT: Final = 0.985
"""Of an hour's weight is left after each day with acts: half after 46."""

_SAME_REFUSAL: Final = 0.25
"""What the same refusal counts that comes again at once: a program that tries again finds
nothing out."""

_LET_IN: Final = 0.9
"""What refusals count once something was let in after them: whoever mends a manifest gets on, and
whoever tries doors does not reset what is counted by knocking at an open one."""

_LIMITS: Final[Mapping[Behaviour, tuple[float, float]]] = {
    Behaviour.CREATE_BURST: (25.0, 4.0),
    Behaviour.EXEC_BURST: (15.0, 4.0),
    Behaviour.DENIALS: (8.0, 4.0),
}
"""The least that is unusual, and how many usual distances above the usual."""

_BURSTS: Final[Mapping[ActKind, Behaviour]] = {
    ActKind.CREATE: Behaviour.CREATE_BURST,
    ActKind.ENTER: Behaviour.EXEC_BURST,
}

Norms = Mapping[Behaviour, Norm]
"""What is usual for all identities of a kind."""


def make_norms() -> dict[Behaviour, Norm]:
    """Return norms that know nothing yet."""
    return {burst: Norm() for burst in _LIMITS}


def _no_digests() -> "array[int]":
    return array("Q")


def _no_hours() -> "array[float]":
    return array("f", bytes(4 * HOURS))


class Habits(msgspec.Struct, gc=False):
    """What one identity is used to do."""

    last: float = 0.0
    """Its last act. Unix seconds."""
    day: int = -1
    """Of its last act, since 1970-01-01 (UTC)."""
    days: int = 0
    """With acts, also refused ones."""
    acts: int = 0
    """That were let in."""
    hour: int = -1
    """Of its last act, since 1970-01-01T00Z: each hour of a day teaches once, however much is done
    in it."""
    namespaces: "array[int]" = msgspec.field(default_factory=_no_digests)
    """Digests, those used last at the end."""
    profiles: "array[int]" = msgspec.field(default_factory=_no_digests)
    hours: "array[float]" = msgspec.field(default_factory=_no_hours)
    """By hour of the day (UTC): on how many days it did something, older ones weighing less."""
    refusal: int = 0
    """Digest of the last refusal."""
    creates: Rate = msgspec.field(default_factory=Rate)
    enters: Rate = msgspec.field(default_factory=Rate)
    refusals: Rate = msgspec.field(default_factory=Rate)


def learn_act(habits: Habits, act: Act, digests: tuple[int, int, int], norms: Norms) -> Behaviour:
    """Bring an identity's habits forward by an act, and say what of it is unusual.

    `digests` are those of the act's namespace, profile and refusal; 0 where there is none.
    """
    day = int(act.at // DAY_S)
    if day > habits.day:
        _begin_day(habits, day, norms)
    elif day < habits.day - 1:
        # A clock was ahead and is put right: what it wrote must not hold until then.
        habits.day, habits.hour = day, -1
    habits.last = act.at
    namespace, profile, refusal = digests
    if refusal:
        return _count_refusal(habits, act.at, refusal)
    found = Behaviour(0)
    habits.acts += 1
    habits.refusals.count *= _LET_IN
    is_warm = habits.days > _WARM_DAYS and habits.acts > _WARM_ACTS
    if namespace and not _used(habits.namespaces, namespace, MOST_NAMESPACES) and is_warm:
        found |= Behaviour.NEW_NAMESPACE
    if profile and not _used(habits.profiles, profile, MOST_PROFILES) and is_warm:
        found |= Behaviour.NEW_PROFILE
    hour = int(act.at // 3600)
    if hour > habits.hour:
        found |= _learn_hour(habits, hour)
    if act.doing in _BURSTS:
        rate = habits.creates if act.doing is ActKind.CREATE else habits.enters
        count_act(rate, act.at, 1.0)
        if rate.count > rate.limit:
            found |= _BURSTS[act.doing]
    return found


def _begin_day(habits: Habits, day: int, norms: Norms) -> None:
    if habits.acts:
        for number in range(HOURS):
            habits.hours[number] *= _HOUR_KEPT
    habits.day = day
    habits.days += 1
    rates = (habits.creates, habits.enters, habits.refusals)
    for (burst, (least, distance)), rate in zip(_LIMITS.items(), rates, strict=True):
        close_day(rate, norms[burst])
        set_limit(rate, norms[burst], least, distance)


def _count_refusal(habits: Habits, at: float, refusal: int) -> Behaviour:
    count_act(habits.refusals, at, _SAME_REFUSAL if refusal == habits.refusal else 1.0)
    habits.refusal = refusal
    is_many = habits.refusals.count > habits.refusals.limit
    return Behaviour.DENIALS if is_many else Behaviour(0)


def _used(known: "array[int]", digest: int, most: int) -> bool:
    """Note that something was used; say whether it was known."""
    if known and known[-1] == digest:
        return True
    is_known = digest in known
    if is_known:
        known.remove(digest)
    elif len(known) >= most:
        del known[0]
    known.append(digest)
    return is_known


def _learn_hour(habits: Habits, hour: int) -> Behaviour:
    """Note an hour in which something was done, and say whether it is unusual."""
    habits.hour = hour
    hours, of_day = habits.hours, hour % HOURS
    near = sum(hours[(of_day + step) % HOURS] for step in range(-_NEAR_HOURS, _NEAR_HOURS + 1))
    is_unusual = habits.days > _HOUR_DAYS and near < _HOUR_SHARE * sum(hours)
    hours[of_day] += 1.0
    return Behaviour.UNUSUAL_HOUR if is_unusual else Behaviour(0)
