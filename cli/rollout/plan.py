"""`sallyport rollout plan`: which namespaces next, and what to type. Pure."""

from collections.abc import Iterable
from typing import Final

import msgspec

from cli.rollout.verdicts import Standing, Status, Verdict
from core.decision.namespaces import Mode

FORMAT: Final = 1

_ORDER: Final = {Verdict.READY: 0, Verdict.WOULD_REFUSE: 1, Verdict.UNKNOWN: 2}


class Step(msgspec.Struct, frozen=True, rename="camel"):
    """One namespace, and what to do about it next."""

    namespace: str
    mode: str
    verdict: Verdict
    pods: int | None
    would_refuse: int
    what: str
    command: str


class Plan(msgspec.Struct, frozen=True, rename="camel"):
    """`sallyport rollout plan -o json` (docs/reference/rollout-plan.schema.json)."""

    format: int
    cluster: str
    steps: list[Step]
    """The ready ones first, the small ones of them first."""
    done: int
    """Namespaces that enforce already."""
    left_out: int
    """Namespaces that the webhooks are not asked about."""
    notes: list[str]


def plan_of(status: Status) -> Plan:
    """Return the plan."""
    every = status.namespaces
    left = [each for each in every if each.verdict in _ORDER]
    return Plan(
        FORMAT,
        status.cluster,
        [_step(each) for each in sorted(left, key=_order)],
        _count(every, Verdict.ENFORCES),
        _count(every, Verdict.LEFT_OUT),
        status.notes,
    )


def _count(standings: Iterable[Standing], verdict: Verdict) -> int:
    return sum(each.verdict is verdict for each in standings)


def _order(each: Standing) -> tuple[int, int, int, str]:
    pods = each.pods if each.pods is not None else 0
    return _ORDER[each.verdict], each.would_refuse, pods, each.namespace


def _step(each: Standing) -> Step:
    what, command = _next(each)
    return Step(
        each.namespace, each.mode, each.verdict, each.pods, each.would_refuse, what, command
    )


def _next(each: Standing) -> tuple[str, str]:
    name = each.namespace
    if each.verdict is Verdict.READY:
        return "nothing would be refused: enforce", f"sallyport rollout set {name} --mode enforce"
    if each.verdict is Verdict.UNKNOWN:
        return f"wait, or mend: {'; '.join(each.evidence)}", f"sallyport rollout status {name}"
    if each.mode == Mode.AUDIT.value:
        warn = f"sallyport rollout set {name} --mode warn --from DATE"
        return "warn those who would be refused, and say from when", warn
    return "mend these workloads, or let them through", f"sallyport rollout status {name}"
