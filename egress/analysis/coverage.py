"""How much of observed traffic the allowlists of a namespace allow, and what they close. Pure.

Flows are counted, and pairs of a workload and a destination, each once: a Pod that connects a
thousand times to one place makes the share of flows look good, and no pair more. What is allowed
counts by the entry that allows it, so nobody adds pairs by trying many names below one wildcard;
runs of Jobs count as one. What cannot be judged counts as not allowed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from core.base.times import DAY_S
from core.egress.allowlists import EgressAllowlist
from core.egress.destinations import PortRange
from core.egress.workload_names import WorkloadName
from egress.analysis.cluster_egress import ClusterEgress
from egress.analysis.observed_flows import FlowSource, ObservedFlows, source_of
from egress.analysis.suggestion import (
    FlowEvidence,
    SuggestedFor,
    describe_key,
    evidence_of,
    key_of,
    preferred_names,
)
from egress.flows.records import Flow
from egress.model.descriptions import describe_ports
from egress.model.openings import Opening
from kube.egress.pods import EgressPod
from kube.egress.workloads import SeenCronJob

MOST_TOLD: Final = 200
"""Destinations that would be closed, of one namespace, that are told one by one."""
MOST_PODS: Final = 20
"""Pods without flows that are named."""
_MOST_PORTS: Final = 8

State = Literal["not enrolled", "audit", "enforced"]
_DNS: Final = "the cluster's DNS"


class FlowWindow(msgspec.Struct, frozen=True):
    """The time of the flows, in Unix seconds."""

    first: float
    last: float

    @property
    def days(self) -> float:
        """How long it is."""
        return (self.last - self.first) / DAY_S


class CoverageShare(msgspec.Struct, frozen=True, rename="camel"):
    """What is allowed, of all that was let through."""

    flows: int
    allowed_flows: int
    pairs: int
    """Distinct pairs of a workload and a destination."""
    allowed_pairs: int


class ClosedDestination(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A destination that no allowlist opens."""

    service_account: str
    """Empty where nobody knows it."""
    workload: SuggestedFor | None
    to: str
    ports: str
    why: str
    evidence: FlowEvidence


class UnseenCronJob(msgspec.Struct, frozen=True, rename="camel"):
    """A CronJob of which the window has no flow."""

    name: str
    schedule: str
    last_schedule: float | None
    """Unix seconds."""
    why: str


class NamespaceCoverage(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What the allowlists of a namespace come to, by observed flows."""

    share: CoverageShare
    closes: list[ClosedDestination]
    """What was let through and would be closed; the most flows first."""
    more: int = 0
    """How many more there are than are told."""
    dropped: list[ClosedDestination] = []
    """What something dropped each time, and allowlists do not open either."""
    cron_jobs: list[UnseenCronJob] = []
    workloads: list[SuggestedFor] = []
    """Of which a flow was seen; single runs, such as Jobs, while a Pod of theirs is there."""
    silent_pods: list[str] = []
    """Some of the Pods that run without any flow."""
    silent: int = 0
    """How many they are."""


def state_of(world: ClusterEgress, namespace: str) -> State:
    """Return what egress does to a namespace: nothing, looking on, or closing."""
    closure = world.closure(namespace)
    if closure.labels_pods and not closure.is_whole:
        return "audit"
    return "enforced" if closure.is_whole else "not enrolled"


def window_of(flows: Iterable[Flow]) -> FlowWindow | None:
    """Return the time of flows; None where none says its own."""
    first, last = float("inf"), float("-inf")
    for each in flows:
        for time in (each.first, each.last):
            if time is not None:
                first, last = min(first, time), max(last, time)
    return FlowWindow(first, last) if first <= last else None


def is_whole(observed: ObservedFlows) -> bool:
    """Return whether every record was read and kept, and each flow has a namespace."""
    lost = observed.unread_count or observed.left_out or observed.lost
    return not lost and all(each.namespace for each in observed.nobodys)


class _Pairs:
    """Pairs of a namespace, as flows are judged one by one."""

    def __init__(self, observed: ObservedFlows) -> None:
        self._observed = observed
        self.allowed: set[tuple[FlowSource, str]] = set()
        self.allowed_flows = 0
        self.closed: dict[tuple[FlowSource, str, str], list[Flow]] = defaultdict(list)

    def add(self, flow: Flow, to: str) -> None:
        source, count = source_of(flow), max(flow.count, 1)
        by = self._allowed_by(flow)
        if by:
            if flow.verdict != "dropped":
                self.allowed.add((source, by))
                self.allowed_flows += count
        else:
            self.closed[source, to, self._why(flow)].append(flow)

    def _allowed_by(self, flow: Flow) -> str:
        if self._observed.is_dns(flow):
            return _DNS
        if not flow.account:
            return ""
        found = self._observed.opening_of(flow, flow.names)
        return f"{found.allowlist} {found.path}" if found else ""

    def _why(self, flow: Flow) -> str:
        if not flow.account:
            return "allowlists open by service account, and nothing tells this one"
        if near := self._observed.nearly_opens(flow, flow.names):
            return _why_not_yet(near, flow, self._observed)
        return self._observed.reserved_reason(flow) or "no allowlist opens it"


def _why_not_yet(near: Opening, flow: Flow, observed: ObservedFlows) -> str:
    for problem in observed.closed.problems(flow.namespace):
        if problem.allowlist == near.allowlist and problem.closes:
            return f"allowlist {near.allowlist} has it, and does not open it: {problem.message}"
    return f"allowlist {near.allowlist} has it, and does not open it yet"


def cover(observed: ObservedFlows, namespace: str) -> NamespaceCoverage:
    """Hold the flows of a namespace against its allowlists, as if it was enrolled."""
    mine = observed.within(namespace)
    flows = [*mine.flows, *(each for each in mine.nobodys if each.namespace)]
    pairs = _Pairs(observed)
    preferred = preferred_names(flows)
    for flow in flows:
        pairs.add(flow, describe_key(key_of(flow, preferred, observed)))
    closed = sorted(_closed(pairs), key=lambda one: -one[1])
    through = [each for each, count in closed if count]
    lost = sum(count for _, count in closed)
    seen = {(each.service_account, each.workload, each.to) for each in through}
    share = CoverageShare(
        pairs.allowed_flows + lost,
        pairs.allowed_flows,
        len(pairs.allowed) + len(seen),
        len(pairs.allowed),
    )
    there = set(_running_workloads(observed, namespace))
    seen_of = {one for each in flows if (one := each.workload) and (one.lasts or one in there)}
    silent = list(_silent_pods(observed.world, namespace, flows, observed))
    return NamespaceCoverage(
        share=share,
        closes=through[:MOST_TOLD],
        more=max(len(through) - MOST_TOLD, 0),
        dropped=[each for each, count in closed if not count][:MOST_TOLD],
        cron_jobs=list(_unseen(observed, namespace, window_of(observed.flows))),
        workloads=[SuggestedFor(each.kind, each.name) for each in sorted(seen_of)],
        silent_pods=[each.name for each in silent[:MOST_PODS]],
        silent=len(silent),
    )


class RefusedSinceEnd(msgspec.Struct, frozen=True, rename="camel"):
    """Connections that something dropped, and an allowlist opened before it ended."""

    flows: int
    last: float
    """Unix seconds."""


def refused_since_end(observed: ObservedFlows, allowlist: EgressAllowlist) -> RefusedSinceEnd:
    """Return what was dropped since an allowlist ended, that it would open and nothing else does.

    Flows that a log sums up count whole if the last of them is later than the end.
    """
    flows, last = 0, 0.0
    for flow in observed.within(allowlist.meta.namespace).flows:
        is_late = flow.last is not None and flow.last >= allowlist.expires
        if flow.verdict != "dropped" or not is_late or not flow.account:
            continue
        if observed.opening_of(flow, flow.names) is not None:
            continue
        if observed.would_be_let_through(flow, allowlist.meta.name):
            flows += max(flow.count, 1)
            last = max(last, flow.last or 0.0)
    return RefusedSinceEnd(flows, last)


def _closed(pairs: _Pairs) -> Iterator[tuple[ClosedDestination, int]]:
    """Yield what no allowlist opens, with how many of its flows were let through."""
    for (source, to, why), flows in sorted(pairs.closed.items()):
        ports = sorted({PortRange(each.protocol, each.port, each.port) for each in flows})
        shown = describe_ports(ports[:_MOST_PORTS])
        more = len(ports) - _MOST_PORTS
        through = sum(max(each.count, 1) for each in flows if each.verdict != "dropped")
        closed = ClosedDestination(
            service_account=source.account,
            workload=SuggestedFor(source.kind, source.workload) if source.kind else None,
            to=to,
            ports=f"{shown} and {more} more" if more > 0 else shown,
            why=why,
            evidence=evidence_of(flows, fields={"dnsName": to}),
        )
        yield closed, through


def _unseen(
    observed: ObservedFlows, namespace: str, window: FlowWindow | None
) -> Iterator[UnseenCronJob]:
    """Yield the CronJobs of a namespace of which no flow was seen, each with what is known."""
    seen = {each.workload for each in observed.flows if each.namespace == namespace}
    named = {each.name for each in seen if each is not None and each.kind == "CronJob"}
    for job in sorted(observed.index.seen.cron_jobs, key=lambda each: each.name):
        if job.namespace == namespace and job.name not in named:
            why = _why_unseen(job, window)
            yield UnseenCronJob(job.name, job.schedule, job.last_schedule, why)


def _why_unseen(job: SeenCronJob, window: FlowWindow | None) -> str:
    if job.suspended:
        return "is suspended"
    if job.last_schedule is None:
        return "has never run"
    if window is None:
        return "no flow says its time"
    if job.last_schedule < window.first:
        return "last ran before the window"
    if job.last_schedule > window.last:
        return "last ran after the window"
    return "ran in the window, and no flow of its Pods is in it"


def _running_workloads(observed: ObservedFlows, namespace: str) -> Iterator[WorkloadName]:
    """Yield the workloads of the Pods that are there."""
    for pod in observed.world.snapshot.pods:
        seen = observed.index.pod(namespace, pod.name) if pod.namespace == namespace else None
        workload = observed.index.workload_of(seen) if seen else None
        if workload is not None:
            yield workload


def _silent_pods(
    world: ClusterEgress, namespace: str, flows: Sequence[Flow], observed: ObservedFlows
) -> Iterator[EgressPod]:
    """Yield the Pods that run and of which no flow was seen, nor of their workload alone."""
    pods = {each.pod for each in flows if each.pod}
    workloads = {each.workload for each in flows if each.workload and not each.pod}
    for pod in sorted(world.snapshot.pods, key=lambda each: each.name):
        if pod.namespace != namespace or pod.host_network or pod.name in pods:
            continue
        seen = observed.index.pod(namespace, pod.name)
        workload = observed.index.workload_of(seen) if seen else None
        if workload is None or workload not in workloads:
            yield pod


def silent_namespaces(observed: ObservedFlows) -> list[str]:
    """Return the namespaces in which Pods run, and of which no flow was seen."""
    seen = {each.namespace for each in (*observed.flows, *observed.nobodys)}
    there = {each.namespace for each in observed.world.snapshot.pods if not each.host_network}
    return sorted(there - seen)
