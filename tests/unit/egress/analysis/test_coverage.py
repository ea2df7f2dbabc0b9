"""Coverage: what allowlists would allow of observed flows, however somebody counts on it."""

from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base import names
from core.decision.namespaces import Namespace
from core.egress.workload_names import WorkloadName
from egress.analysis.cluster_egress import ClusterEgress, EgressSettings
from egress.analysis.coverage import (
    NamespaceCoverage,
    cover,
    is_whole,
    silent_namespaces,
    state_of,
    window_of,
)
from egress.analysis.observed_flows import ObservedFlows, observe
from egress.flows.records import Flow, SkippedRecord, UnreadableRecord
from egress.model.facts import CompilerFacts
from egress.render.target import RenderTarget
from kube.egress.pods import EgressPod
from kube.egress.snapshot import EgressSnapshot
from kube.egress.workloads import SeenCronJob, SeenPod, SeenWorkload, WorkloadSnapshot
from tests.unit.egress import generated_worlds, told_worlds
from tests.unit.egress.allowlist_objects import NOW, allowlist
from tests.unit.egress.analysis.small_clusters import pod, world
from tests.unit.egress.test_equivalence import allowed, connections

WEB = WorkloadName("Deployment", "web")


def _flow(address: str = "203.0.113.7", port: int = 443, **more: Any) -> Flow:
    fields: dict[str, Any] = {
        "namespace": "research",
        "account": "trainer",
        "pod": "train-0",
        "address": ip_address(address),
        "protocol": "TCP",
        "verdict": "forwarded",
        "first": NOW,
        "last": NOW,
        **more,
    }
    return Flow(port=port, **fields)


def _observed(
    where: ClusterEgress, *records: Any, workloads: WorkloadSnapshot | None = None
) -> ObservedFlows:
    return observe([("f", each) for each in records], where, workloads or WorkloadSnapshot())


def _cover(where: ClusterEgress, *records: Any) -> NamespaceCoverage:
    return cover(_observed(where, *records), "research")


def _counts(found: NamespaceCoverage) -> tuple[int, int, int, int]:
    share = found.share
    return share.allowed_flows, share.flows, share.allowed_pairs, share.pairs


NETWORK = allowlist({"cidr": "203.0.113.0/24"})


def test_many_flows_to_one_place_are_one_pair() -> None:
    """The share of flows looks whole; the pairs tell that half would be closed."""
    found = _cover(world(NETWORK), _flow(count=999), _flow("198.51.100.9"))
    assert _counts(found) == (999, 1000, 1, 2)
    (closed,) = found.closes
    assert (closed.to, closed.ports, closed.why) == (
        "198.51.100.9",
        "TCP 443",
        "no allowlist opens it",
    )


def test_many_destinations_below_one_entry_are_one_pair() -> None:
    """Addresses of a network, names below a wildcard: a Pod can try as many as it likes."""
    addresses = [_flow(f"203.0.113.{last}") for last in range(200)]
    assert _counts(_cover(world(NETWORK), *addresses)) == (200, 200, 1, 1)
    wildcard = world(allowlist({"dnsName": "*.example.org"}), engine="cilium")
    named = [_flow(f"192.0.2.{last}", names=(f"n{last}.example.org",)) for last in range(200)]
    assert _counts(_cover(wildcard, *named)) == (200, 200, 1, 1)


def test_runs_of_jobs_are_one_workload() -> None:
    """A thousand Jobs that were made to look covered are one pair; Deployments are told apart."""
    runs = [_flow(workload=WorkloadName("Job", f"run-{number}")) for number in range(1000)]
    assert _counts(_cover(world(NETWORK), *runs)) == (1000, 1000, 1, 1)
    two = [_flow(workload=WorkloadName("Deployment", name)) for name in ("a", "b")]
    assert _counts(_cover(world(NETWORK), *two)) == (2, 2, 2, 2)


@given(st.lists(st.sampled_from(["203.0.113.7", "198.51.100.9"]), min_size=1, max_size=40))
def test_repeated_flows_change_no_pair(addresses: list[str]) -> None:
    """However often each was seen."""
    once = _cover(world(NETWORK), *map(_flow, sorted(set(addresses))))
    often = _cover(world(NETWORK), *map(_flow, addresses))
    assert _counts(once)[2:] == _counts(often)[2:]


def test_what_was_dropped_each_time_would_not_be_closed() -> None:
    """It is told apart, and counts in no share; one flow that got through is enough to count."""
    found = _cover(
        world(NETWORK),
        _flow(),
        _flow("198.51.100.9", verdict="dropped", count=50),
        _flow("198.51.100.10", verdict="dropped"),
        _flow("198.51.100.10"),
    )
    assert _counts(found) == (1, 2, 1, 2)
    assert [each.to for each in found.closes] == ["198.51.100.10"]
    assert [each.to for each in found.dropped] == ["198.51.100.9"]


def test_flows_of_nobody_count_as_closed() -> None:
    """Whose service account nobody knows, no allowlist is known to open them."""
    found = _cover(world(NETWORK), _flow(account="", pod="gone-x"))
    assert _counts(found) == (0, 1, 0, 1)
    assert found.closes[0].why.startswith("allowlists open by service account")


def test_dns_is_always_open() -> None:
    """By its Service, and by its Pods."""
    dns = pod("dns-0", "dns", "kube-system", labels={"k8s-app": "kube-dns"})
    by_pod = _flow("10.244.1.10", 53, protocol="UDP", to_namespace="kube-system", to_pod="dns-0")
    by_name = _flow(
        "10.96.0.10", 53, protocol="UDP", to_namespace="kube-system", to_service="kube-dns"
    )
    assert _counts(_cover(world(pods=[dns]), by_pod, by_name)) == (2, 2, 1, 1)


@pytest.mark.parametrize(
    ("where", "why"),
    [
        (
            world(allowlist({"dnsName": "files.example.org"}), learnt={"files.example.org": []}),
            "allowlist pypi has it, and does not open it",
        ),
        (
            world(allowlist({"cidr": "203.0.113.0/24"}, expiresAt="2020-01-01T00:00:00Z")),
            "it has expired",
        ),
        (world(allowlist({"destinations": {"name": "none"}})), "no allowlist opens it"),
    ],
)
def test_allowlist_that_does_not_open_yet_is_named(where: ClusterEgress, why: str) -> None:
    """A name whose address was not learnt, an end that is over; with what is wrong."""
    found = _cover(where, _flow(names=("files.example.org",)))
    assert why in found.closes[0].why
    assert _counts(found)[0] == 0


def test_allowlists_of_one_workload_are_for_no_other() -> None:
    """By the label that the gate will set."""
    narrowed = allowlist(
        {"cidr": "203.0.113.0/24"}, workloads=[{"kind": "Deployment", "name": "web"}]
    )
    found = _cover(world(narrowed), _flow(workload=WEB), _flow(pod="other-0"))
    assert _counts(found) == (1, 2, 1, 2)


@pytest.mark.parametrize("label", ["audit", "open", None])
def test_namespace_that_is_not_closed_is_judged_as_if_it_was(label: str | None) -> None:
    """That is what coverage is asked for."""
    where = world(NETWORK, enrolled=())
    labels = {names.EGRESS_LABEL: label} if label else {}
    namespaces = {"research": Namespace("research", labels)}
    where = replace(where, snapshot=replace(where.snapshot, namespaces=namespaces))
    found = _cover(where, _flow(), _flow("198.51.100.9"))
    assert _counts(found) == (1, 2, 1, 2)
    assert state_of(where, "research") == ("audit" if label == "audit" else "not enrolled")


def test_enrolled_namespace_is_enforced() -> None:
    """Whatever word but `open` and `audit` the label has."""
    assert state_of(world(NETWORK), "research") == "enforced"


def _cron_job(name: str, last: float | None, *, suspended: bool = False) -> SeenCronJob:
    return SeenCronJob("research", name, "0 3 * * *", suspended, last)


def test_cron_jobs_that_were_not_seen_are_named() -> None:
    """By their last run and the window, even where nothing would be closed."""
    jobs = (
        _cron_job("monthly", NOW - 86_400),
        _cron_job("never", None),
        _cron_job("later", NOW + 7200),
        _cron_job("quiet", NOW + 60),
        _cron_job("seen", NOW),
        _cron_job("stopped", NOW, suspended=True),
    )
    account = SeenWorkload("research", WorkloadName("CronJob", "seen"), "trainer")
    workloads = WorkloadSnapshot(
        workloads={("research", account.name): account},
        cron_jobs=(*jobs, SeenCronJob("other", "elsewhere", "@daily", False, None)),  # noqa: FBT003
    )
    seen = _flow(pod="", account="", workload=WorkloadName("Job", "seen-29384700"))
    hour = _flow(first=NOW + 3600, last=NOW + 3600)
    observed = _observed(world(NETWORK), seen, hour, workloads=workloads)
    found = cover(observed, "research")
    assert {each.name: each.why for each in found.cron_jobs} == {
        "monthly": "last ran before the window",
        "never": "has never run",
        "later": "last ran after the window",
        "quiet": "ran in the window, and no flow of its Pods is in it",
        "stopped": "is suspended",
    }


def test_pods_and_namespaces_without_flows_are_named() -> None:
    """A Pod counts as seen by itself, or by its workload where a log has no Pods."""
    pods = [pod("train-0"), pod("idle-0"), pod("web-0"), pod("x", namespace="other")]
    owned = SeenPod("research", "web-0", "trainer", WEB)
    workloads = WorkloadSnapshot(pods=(owned,))
    by_workload = _flow(pod="", workload=WEB)
    observed = _observed(world(pods=pods), _flow(), by_workload, workloads=workloads)
    found = cover(observed, "research")
    assert (found.silent, found.silent_pods) == (1, ["idle-0"])
    assert silent_namespaces(observed) == ["other"]


@pytest.mark.parametrize(
    ("record", "whole"),
    [
        (_flow(), True),
        (_flow(account=""), True),
        (_flow(namespace="", account="", pod="", source=ip_address("192.0.2.1")), False),
        (UnreadableRecord(1, "broken"), False),
        (SkippedRecord("an answer, or seen where it arrives"), True),
    ],
)
def test_flows_that_are_missing_are_told(record: Any, whole: bool) -> None:  # noqa: FBT001
    """Nothing is told to be covered by a log that was not read whole."""
    assert is_whole(_observed(world(NETWORK), _flow(), record)) == whole


def test_window_is_that_of_all_flows() -> None:
    """None where no flow says its time."""
    found = window_of([_flow(first=5.0, last=9.0), _flow(first=None, last=2.0)])
    assert found is not None
    assert (found.first, found.last) == (2.0, 9.0)
    assert window_of([_flow(first=None, last=None)]) is None


@dataclass(frozen=True)
class _Told(ClusterEgress):
    """A generated cluster, of which is known what the other tests of equivalence tell."""

    facts: CompilerFacts = field(default_factory=lambda: CompilerFacts(0.0))

    @property
    def known(self) -> CompilerFacts:
        """What must be known beside the allowlists."""
        return self.facts


def _egress_of(made: generated_worlds.World) -> ClusterEgress:
    pods = tuple(
        EgressPod(
            each.namespace,
            each.name,
            dict(told_worlds.labelled(made, each).labels),
            made.accounts[each],
            host_network=each.host_network,
            addresses=tuple(map(ip_address, each.addresses)),
        )
        for each in made.pods
    )
    facts = told_worlds.known(made)
    found = told_worlds.allowlists_of(made)
    label = {names.EGRESS_LABEL: "deny"}
    namespaces = {each: Namespace(each, label) for each in generated_worlds.ENROLLED}
    snapshot = EgressSnapshot(namespaces, pods, {each.key: each for each in found})
    target = RenderTarget(ranges=told_worlds.CLUSTER_RANGES)
    site = EgressSettings(made.now, target=target, ranges=told_worlds.CLUSTER_RANGES)
    return _Told(snapshot, site, services=facts.services, facts=facts)


def test_what_is_allowed_is_what_the_allowlists_say() -> None:
    """By the naive reading of allowlists, which shares no code with Sallyport.

    Of Pods on their node's network no flow log has the name, whoever connects to them.
    """
    results = [_compared(seed) for seed in range(30)]
    tried, opened = (sum(each) for each in zip(*results, strict=True))
    assert tried / 200 < opened < tried / 2, "the clusters have too little, or too much, open"


def _compared(seed: int) -> tuple[int, int]:
    """Compare both on one cluster; return how many flows were judged, and allowed."""
    made = generated_worlds.made(seed)
    wanted: dict[str, bool] = {}
    flows: list[Flow] = []
    for number, (source, target, (protocol, port)) in enumerate(connections(made)):
        enrolled = source.namespace in generated_worlds.ENROLLED
        if source.host_network or not enrolled or target.pod is source:
            continue
        to = target.pod if target.pod is not None and not target.pod.host_network else None
        workload = made.workloads[source]
        mark = str(number)  # It keeps flows apart, and means nothing to coverage.
        wanted[mark] = allowed(made, source, target, (protocol, port))
        flow = _flow(
            target.address,
            port,
            protocol=protocol,
            namespace=source.namespace,
            pod=source.name,
            account=made.accounts[source],
            workload=WorkloadName(*workload) if workload else None,
            to_namespace=to.namespace if to else "",
            to_pod=to.name if to else "",
            gang=mark,
        )
        flows.append(flow)
    observed = _observed(_egress_of(made), *flows)
    found = {
        each.gang: observed.is_dns(each) or observed.opening_of(each, each.names) is not None
        for each in observed.flows
    }
    assert found == wanted, seed
    return len(wanted), sum(wanted.values())
