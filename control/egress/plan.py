"""The writes that bring a namespace to the policies it should have, and their order. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.base import names
from egress.render.generated_objects import BREAK_GLASS_NAMES, DEFAULT_DENY, DNS
from kube.egress.network_policies import LivePolicy, digest_of

Json = dict[str, Any]

Key = tuple[str, str]
"""Kind and name."""

FLOOR: Final = (DEFAULT_DENY, DNS)
"""What every enrolled namespace has, in the order in which it is written."""


@dataclass(frozen=True)
class Apply:
    """Write a policy."""

    wanted: Json
    live: LivePolicy | None
    """What is there; None to make it anew."""


@dataclass(frozen=True)
class Delete:
    """Take a policy away."""

    live: LivePolicy


Step = Apply | Delete


@dataclass(frozen=True)
class Plan:
    """What is to be done in a namespace."""

    steps: tuple[Step, ...] = ()
    """In this order; where one fails, the others are done all the same."""
    taken: tuple[LivePolicy, ...] = ()
    """Policies of others under names that are wanted: they are left alone."""


def plan_of(wanted: Sequence[Json], live: Collection[LivePolicy]) -> Plan:
    """Compare what is wanted with what is there.

    What closes the namespace comes first. Then the policies go of which nothing is left: what
    somebody took back, and what a BreakGlass opened, is closed before anything else is opened. Then
    each allowlist is brought to what it says: what it has more of is made, before what it has no
    more is taken away, so that an address that moves from one of its policies to another is never
    closed.

    Where nothing is wanted, the namespace is not enrolled: everything is open to it by its label.
    The default deny goes first then, and what opens goes last, so that nothing that is open closes
    on the way; broken off anywhere, it is taken up again where it was left.
    """
    there = {(each.kind, each.name): each for each in live}
    applies, taken = [], []
    for each in wanted:
        found = there.get(key_of(each))
        if found is not None and not found.ours:
            taken.append(found)
        elif found is None or found.digest != digest_of(each):
            applies.append(Apply(each, found))
    kept = {key_of(each) for each in wanted}
    gone = [each for each in live if each.ours and (each.kind, each.name) not in kept]
    steps: tuple[Step, ...] = (*_floor(applies), *_rest(applies, gone, _said(wanted)))
    if not wanted:
        steps = tuple(map(Delete, sorted(gone, key=_leaving)))
    return Plan(steps, tuple(taken))


def key_of(policy: Mapping[str, Any]) -> Key:
    """Return the kind and name of a policy."""
    return policy["kind"], policy["metadata"]["name"]


def _floor(applies: Iterable[Apply]) -> list[Apply]:
    found = [each for each in applies if _name(each) in FLOOR]
    return sorted(found, key=lambda each: FLOOR.index(_name(each)))


def _rest(
    applies: Iterable[Apply], gone: Iterable[LivePolicy], said: Collection[str]
) -> list[Step]:
    opening = sorted(
        (each for each in applies if _name(each) not in FLOOR),
        key=lambda each: (each.live is not None, _name(each)),
    )
    leaving = sorted(gone, key=lambda each: (each.name, each.kind))
    over: list[Step] = []
    surplus: list[Step] = []
    for each in leaving:
        is_over = each.name in BREAK_GLASS_NAMES or (each.allowlist and each.allowlist not in said)
        (over if is_over else surplus).append(Delete(each))
    return [*over, *opening, *surplus]


def _said(wanted: Iterable[Json]) -> frozenset[str]:
    """Name the allowlists of which something is open."""
    annotations = (each["metadata"].get("annotations") or {} for each in wanted)
    return frozenset(each.get(names.ALLOWLIST_ANNOTATION, "") for each in annotations)


def _name(step: Apply) -> str:
    return str(step.wanted["metadata"]["name"])


def _leaving(policy: LivePolicy) -> tuple[int, str]:
    place = FLOOR.index(policy.name) if policy.name in FLOOR else len(FLOOR)
    return place, policy.name
