"""Policies of others that open in an enrolled namespace what no allowlist opens.

The gate refuses such policies as they are written. Those that are older than the enrolment, or that
an allowlist covered which has ended, are reported, and removed only where the operator says so.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Final

import msgspec

from control.egress.plan import FLOOR, Json, key_of
from control.events import build_event
from core.base.errors import InvalidObjectError
from egress.compiler.foreign_policies import EgressRule, find_excess, read_rules, split_rule
from egress.model.network_policies import KIND
from egress.render.generated_objects import BREAK_GLASS_NAMES
from kube.egress.network_policies import LivePolicy

REASON = "OpensMore"
DELETED = "Deleted"

LONGEST_S: Final = 3.0
"""For the policies of one namespace: whoever writes very many there holds up no other."""
UNCOMPARED: Final = "it was not compared: there is too much to compare in this namespace"


async def find_wider_policies(
    live: Iterable[LivePolicy], wanted: Iterable[Json], longest_s: float = LONGEST_S
) -> AsyncIterator[tuple[LivePolicy, str]]:
    """Yield others' NetworkPolicies that open more than those that are wanted, and what.

    What a BreakGlass opens does not count: theirs would outlive it.

    Those for which there is no time any more are told as `UNCOMPARED`.
    """
    theirs = [each for each in live if not each.ours and each.spec]
    if not theirs:
        return
    there = [
        rule
        for policy in wanted
        if policy["kind"] == KIND and policy["metadata"]["name"] not in BREAK_GLASS_NAMES
        for rule in read_rules(
            msgspec.json.encode(policy), policy["metadata"]["namespace"], trusted=True
        )
    ]
    until = time.monotonic() + longest_s
    for each in theirs:
        try:
            more = await _beyond(each, there, until)
        except InvalidObjectError as error:
            more = f"it cannot be compared: {error}"
        if more:
            yield each, more


async def _beyond(policy: LivePolicy, there: list[EgressRule], until: float) -> str:
    """Say what a policy opens that is not open."""
    found: dict[str, None] = {}
    for rule in read_rules(b'{"spec":' + policy.spec + b"}", policy.namespace):
        for case in split_rule(rule):
            for openings in find_excess(case, there):
                found.update(dict.fromkeys(openings))
                await asyncio.sleep(0)  # The lease is renewed meanwhile.
                if time.monotonic() >= until:
                    return UNCOMPARED
    return "; ".join(found)


def find_obstructing_policies(
    live: Iterable[LivePolicy], wanted: Iterable[Json]
) -> Iterator[tuple[LivePolicy, str]]:
    """Yield others' policies under a name without which the namespace is not closed."""
    floor = {key_of(each) for each in wanted} & {(KIND, name) for name in FLOOR}
    for each in live:
        if not each.ours and (each.kind, each.name) in floor:
            yield each, "it has the name of what closes the namespace, which stays open"


def is_of_egress_alone(policy: LivePolicy) -> bool:
    """Return whether nothing of ingress goes with a policy: without it, more would come in."""
    types = msgspec.json.decode(policy.spec).get("policyTypes") if policy.spec else None
    return types == ["Egress"]


def foreign_policy_event(
    policy: LivePolicy, more: str, now: float, *, deleted: bool = False
) -> dict[str, Any]:
    """Return the Event about a policy that opens more."""
    involved = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": policy.kind,
        "name": policy.name,
        "namespace": policy.namespace,
        "uid": policy.uid,
    }
    fix = "its egress is deleted" if deleted else "delete it, or write an allowlist"
    message = f"opens what no EgressAllowlist says ({more}): {fix}"
    return build_event(involved, ("Warning", DELETED if deleted else REASON, message), now)
