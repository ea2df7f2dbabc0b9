"""Warns the author of Pods that must run in a sandbox when its nodes have no room for them. Pure.

A warning and no finding: no decision depends on it, so the same object gets the same verdict when
the nodes are full. Nobody is warned of what controllers make: nobody would read it.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from admission.model.facts import Facts, SandboxOutcome
from admission.model.messages import reference
from core.base.errors import InvalidObjectError
from core.base.json_errors import decode_json_as
from core.base.safe_text import printable, shorten
from core.decision.namespaces import Mode
from core.decision.request import Operation, Phase, Request
from core.kubernetes.pod_counts import count_pods, makes_pods_now
from core.kubernetes.quantities import format_amount
from core.kubernetes.workload_pods import templates_of
from core.sandbox.capacity import (
    Capacity,
    NodePool,
    PodBatch,
    admits,
    count_fitting,
    count_fitting_together,
    largest_allocatable,
)
from core.sandbox.pod_resources import parse_pod_resources

_NAME: Final = 30
"""Characters shown of a name."""

_MOST_TEMPLATES: Final = 16
_MOST_RESOURCES: Final = 64
_MOST_TOLERATIONS: Final = 64
"""Nothing is said of an object with more, which no real one has: it would take too long."""

_MOST_EFFORT: Final = 100_000
"""What is compared for one object: shapes of nodes and their taints, with what each template asks
for and tolerates. Ten templates of 15 resources and tolerations, and 128 shapes of three taints,
take 80,000. It takes under 10 ms, in which the gate does nothing else."""

_LINE: Final = 120
"""kube-apiserver may cut warnings that are longer."""

_POD: Final = ("", "Pod")

_ADVICE: Final = "Ask for fewer or smaller Pods, or for more nodes"


class _Wanted(msgspec.Struct, frozen=True, gc=False):
    """Pods of one template: how many are new, and how many there will be in all."""

    new: PodBatch
    whole: PodBatch


def may_lack_room(request: Request, facts: Facts) -> bool:
    """Return whether somebody may be warned: who submits a final state, where a sandbox is set."""
    if request.phase is Phase.MUTATING or request.running or facts.mode is not Mode.ENFORCE:
        return False
    made = request.operation is Operation.CREATE and not request.subresource
    return made or _kind(request) != _POD


def capacity_warnings(request: Request, facts: Facts, decision: str) -> list[str]:
    """Say for which Pods of an admitted object there is no room: lines for its author."""
    sandbox = facts.pod.sandbox if facts.pod else None
    if sandbox is None or not sandbox.pools:
        return []
    try:
        wanted = _wanted(request, sandbox.decided, sandbox.pools)
    except InvalidObjectError:
        return []  # What kube-apiserver takes and this cannot read: nothing is said of it.
    lines = []
    for runtime, of_it in wanted.items():
        capacity = sandbox.pools[runtime].capacity
        if _is_long(capacity, of_it):
            continue
        said = list(_of_pool(printable(runtime, _NAME), capacity, of_it))
        lines += [*said, f"{_ADVICE}{reference(decision)}"] if said else []
    return lines


def _wanted(
    request: Request, decided: Sequence[SandboxOutcome], pools: Mapping[str, NodePool]
) -> Mapping[str, list[_Wanted]]:
    """Return what is wanted of each RuntimeClass, by its name.

    Raises:
        InvalidObjectError: something in it has not the shape that Kubernetes gives it.
    """
    kind, value = _kind(request), decode_json_as(dict[str, Any], request.object or b"{}", "object")
    before = (
        decode_json_as(dict[str, Any], request.old_object or b"{}", "object")
        if request.operation is Operation.UPDATE
        else {}
    )
    old = {each.path: each.pod["spec"] for each in templates_of(*kind, before)} if before else {}
    now = kind == _POD or makes_pods_now(*kind, value)
    found: dict[str, list[_Wanted]] = defaultdict(list)
    for each in decided:
        runtime, template = each.decision.runtime, each.part.template
        if runtime not in pools:
            continue
        asking = parse_pod_resources(template.pod if template else value, pools[runtime].overhead)
        path = template.path if template else ""
        count = count_pods(*kind, value, path) if template else 1
        # What an update replaces has its room already.
        there = count_pods(*kind, before, path) if _ran(old.get(path), runtime) else 0
        if count and not asking.placed:
            new = max(count - there, 0) if now else 0
            wants = (PodBatch(n, asking.demand, asking.tolerations) for n in (new, count))
            found[runtime].append(_Wanted(*wants))
    return found


def _ran(spec: object, runtime: str) -> bool:
    """Return whether the Pods of a template ran with a RuntimeClass.

    It may be set in them alone.
    """
    return isinstance(spec, Mapping) and spec.get("runtimeClassName") in {None, runtime}


def _is_long(capacity: Capacity, wanted: Sequence[_Wanted]) -> bool:
    """Return whether finding out would take too long, whoever wrote object or summary."""
    if len(wanted) > _MOST_TEMPLATES or not all(map(_is_short, wanted)):
        return True
    of_pods = sum(1 + len(each.whole.demand) + len(each.whole.tolerations) for each in wanted)
    return of_pods * sum(1 + len(shape.taints) for shape in capacity.shapes) > _MOST_EFFORT


def _is_short(wanted: _Wanted) -> bool:
    demand, tolerations = wanted.whole.demand, wanted.whole.tolerations
    return len(demand) <= _MOST_RESOURCES and len(tolerations) <= _MOST_TOLERATIONS


def _of_pool(runtime: str, capacity: Capacity, wanted: Sequence[_Wanted]) -> Iterator[str]:
    """Say what of what is wanted does not fit, now or ever."""
    new = [each.new for each in wanted if each.new.count]
    whole = [each.whole for each in wanted]
    asked, all_of_it = sum(each.count for each in new), sum(each.count for each in whole)
    now = count_fitting_together(capacity, new, of="free") if new else 0
    if now == asked == all_of_it:
        return
    never = [each for each in whole if not _fit_empty(capacity, each)]
    if never:
        yield _line(runtime, _why_never(capacity, never[0]), capacity)
        return
    empty = count_fitting_together(capacity, whole, of="allocatable")
    if now < asked:
        room = f"at most {now} of {asked} Pods fit now, {empty} when empty"
        yield _line(runtime, room, capacity)
    elif empty < all_of_it:
        room = f"at most {empty} of {all_of_it} Pods fit even when it is empty"
        yield _line(runtime, room, capacity)


def _why_never(capacity: Capacity, want: PodBatch) -> str:
    """Say which resource is short on every node, if it is one."""
    if not capacity.nodes:
        return "no node is ready, so its Pods wait"
    if not any(admits(shape, want.tolerations) for shape in capacity.shapes):
        return "its Pods never fit: they tolerate the taints of no node"
    for resource, asked in sorted(want.demand.items()):
        has = largest_allocatable(capacity, resource, want.tolerations)
        if has < asked:
            name = printable(resource, _NAME)
            most = format_amount(name, has).removesuffix(f" {name}")
            wanted = format_amount(name, asked)
            return f"its Pods never fit: one asks for {wanted}, the largest has {most}"
    return "its Pods never fit: no node has all that one asks for"


def _line(runtime: str, room: str, capacity: Capacity) -> str:
    """Return a line, with the nodes that take no Pods where there is place for them."""
    out = "".join(f", {n} {why}" for why, n in sorted(capacity.left_out.items()) if n)
    nodes = f"{capacity.nodes} node{'' if capacity.nodes == 1 else 's'}"
    at = f"{dt.datetime.fromtimestamp(capacity.as_of, dt.UTC):%H:%M} UTC"
    lines = [f"sandbox {runtime}: {room} ({nodes}{more}, {at})" for more in (out, "")]
    return next((line for line in lines if len(line) < _LINE), shorten(lines[-1], _LINE - 1))


def _fit_empty(capacity: Capacity, want: PodBatch) -> int:
    return count_fitting(capacity, want.demand, want.tolerations, of="allocatable")


def _kind(request: Request) -> tuple[str, str]:
    return request.kind.group, request.kind.kind
