"""Whose flows are: of Pods that have ended, of workloads alone, of what made them."""

import json
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.base.safe_text import LONGEST_PROBLEM
from core.egress.workload_names import WorkloadName
from egress.analysis.observed_flows import ObservedFlows, observe
from egress.analysis.suggestion import Suggestion, suggest
from egress.flows.azure import read_azure
from egress.flows.collection import MOST_OF_SOURCE
from egress.flows.csv_file import read_csv
from egress.flows.records import DnsAnswer, Flow
from kube.egress.workloads import WorkloadSnapshot, read_folder_workloads
from tests.unit.egress.analysis.small_clusters import pod, world

HTTPS = [{"protocol": "TCP", "port": 443}]

WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: catalogue-web, namespace: research}
spec:
  template: {spec: {serviceAccountName: web}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: research}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {serviceAccountName: reporter}}}}
status: {lastScheduleTime: "2026-11-20T03:00:00Z"}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: pretrain
  namespace: research
  ownerReferences:
    - {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: pretrain, controller: true}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: pretrain-node-0
  namespace: research
  ownerReferences:
    - {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: pretrain, controller: true}
spec:
  template: {spec: {serviceAccountName: trainer}}
---
apiVersion: v1
kind: Pod
metadata:
  name: fetch-x7k2p
  namespace: research
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: fetch, controller: true}]
spec: {serviceAccountName: fetcher}
status:
  phase: Succeeded
  podIPs: [{ip: 10.244.1.10}]
  startTime: "2026-11-20T08:00:00Z"
  containerStatuses: [{state: {terminated: {finishedAt: "2026-11-20T09:00:00Z"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: notebook-0, namespace: research}
spec: {serviceAccountName: notebooks}
status:
  phase: Running
  podIPs: [{ip: 10.244.1.10}]
  startTime: "2026-11-20T10:00:00Z"
"""

EIGHT = 1795161600.0
"""2026-11-20T08:00:00Z."""


@pytest.fixture
def workloads(tmp_path: Path) -> WorkloadSnapshot:
    """Read the objects above, as `kubectl get -o yaml` has them."""
    (tmp_path / "workloads.yaml").write_text(WORKLOADS)
    return read_folder_workloads(tmp_path)


def _flow(**more: Any) -> Flow:
    fields: dict[str, Any] = {
        "namespace": "research",
        "names": ("packages.example.org",),
        "address": ip_address("203.0.113.7"),
        "protocol": "TCP",
        "port": 443,
        "verdict": "forwarded",
        **more,
    }
    return Flow(**fields)


def _observed(workloads: WorkloadSnapshot, *records: Any, **more: Any) -> ObservedFlows:
    return observe([("f", each) for each in records], world(enrolled=(), **more), workloads)


def _of(suggestion: Suggestion) -> tuple[str, str]:
    workload = suggestion.workload
    return suggestion.service_account, f"{workload.kind}/{workload.name}" if workload else ""


def test_address_is_a_pods_only_while_it_lived(workloads: WorkloadSnapshot) -> None:
    """The Job's Pod had it at eight, the notebook from ten; between them nobody did."""
    source: dict[str, Any] = {"namespace": "", "source": ip_address("10.244.1.10")}
    at = [EIGHT + 600, EIGHT + 3 * 3600, EIGHT + 5400]
    found = _observed(workloads, *(_flow(first=each, last=each, **source) for each in at))
    assert [each.account for each in found.flows] == ["fetcher", "notebooks"]
    assert found.unknown_sources == [("address 10.244.1.10", 1)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"pod": "fetch-x7k2p"}, ("fetcher", "")),
        ({"pod": "nightly-29384700-b4xzq"}, ("reporter", "CronJob/nightly")),
        ({"pod": "catalogue-web-6d4b75cb6d-hwk2l"}, ("web", "Deployment/catalogue-web")),
        (
            {"workload": WorkloadName("ReplicaSet", "catalogue-web-6d4b75cb6d")},
            ("web", "Deployment/catalogue-web"),
        ),
        (
            {"workload": WorkloadName("Deployment", "catalogue-web")},
            ("web", "Deployment/catalogue-web"),
        ),
        ({"workload": WorkloadName("Job", "nightly-29384700")}, ("reporter", "CronJob/nightly")),
        ({"workload": WorkloadName("Job", "pretrain-node-0")}, ("trainer", "")),
        ({"stem": "catalogue-web-6d4b75cb6d"}, ("web", "Deployment/catalogue-web")),
        ({"stem": "nightly-29384700"}, ("reporter", "CronJob/nightly")),
    ],
)
def test_account_is_found_from_what_is_left(
    workloads: WorkloadSnapshot, fields: dict[str, Any], expected: tuple[str, str]
) -> None:
    """A Pod that ended, or a name of one that has gone, by the workload that made it.

    Only what keeps its name from run to run is named in the allowlist.
    """
    (found,) = suggest(_observed(workloads, _flow(**fields)))
    assert _of(found) == expected
    assert [each.entry for each in found.entries] == [
        {"dnsName": "packages.example.org", "ports": HTTPS}
    ]


def test_runs_are_told(workloads: WorkloadSnapshot) -> None:
    """By their outermost owner: the TrainJob, not its JobSet's Jobs."""
    (found,) = suggest(_observed(workloads, _flow(workload=WorkloadName("Job", "pretrain-node-0"))))
    assert found.runs == ["TrainJob pretrain"]


@pytest.mark.parametrize(
    "fields",
    [
        {"pod": "gone-29384700-b4xzq"},
        {"stem": "gone-29384700"},
        {"workload": WorkloadName("Deployment", "gone")},
        {"pod": "catalogue-web-6d4b75cb6d-hwk2l", "namespace": "elsewhere"},
    ],
)
def test_account_that_cannot_be_known_is_told(
    workloads: WorkloadSnapshot, fields: dict[str, Any]
) -> None:
    """No name alone makes up an account: what it would be made by must be there."""
    found = _observed(workloads, _flow(**fields))
    assert found.flows == ()
    assert found.unknown == 1
    assert found.unknown_sources[0][0].startswith(f"namespace {found.nobodys[0].namespace}, ")


def test_each_workload_of_an_account_has_its_own_suggestion(workloads: WorkloadSnapshot) -> None:
    """Narrowed to it; runs of Jobs share one."""
    found = suggest(
        _observed(
            workloads,
            _flow(account="web", workload=WorkloadName("Deployment", "catalogue-web")),
            _flow(account="web", workload=WorkloadName("Job", "once-1")),
            _flow(account="web", workload=WorkloadName("Job", "once-2")),
        )
    )
    assert [_of(each) for each in found] == [("web", ""), ("web", "Deployment/catalogue-web")]
    assert found[0].runs == ["Job once-1", "Job once-2"]


def test_answers_of_the_dns_name_addresses_where_no_pod_is_known(
    workloads: WorkloadSnapshot,
) -> None:
    """For the workload that asked, as for a Pod; for no other."""
    web, job = WorkloadName("Deployment", "catalogue-web"), WorkloadName("Job", "nightly-29384700")
    answer = DnsAnswer("research", "", "files.example.org", (ip_address("203.0.113.7"),), web)
    found = suggest(
        _observed(workloads, answer, _flow(names=(), workload=web), _flow(names=(), workload=job))
    )
    assert [next(iter(each.entries[0].entry)) for each in found] == ["cidr", "dnsName"]


def _between(port: int, source: str = "train-0", to: str = "train-1", **more: Any) -> Flow:
    fields: dict[str, Any] = {
        "pod": source,
        "account": "trainer",
        "names": (),
        "to_namespace": "research",
        "to_pod": to,
        "to_account": "trainer",
        "gang": "batch.kubernetes.io/job-name=train",
        "to_gang": "batch.kubernetes.io/job-name=train",
        "address": None,
        **more,
    }
    return _flow(port=port, **fields)


RANDOM = [33_000 + 641 * place for place in range(41)]
"""Ports such as NCCL's sockets get from Linux."""


def test_gang_on_random_ports_is_one_entry() -> None:
    """Not 41, and no scan; the port that the launcher chose stays by itself."""
    flows = [_between(port) for port in RANDOM]
    (found,) = suggest(_observed(WorkloadSnapshot(), *flows, _between(29_500)))
    assert found.left_out == []
    (entry,) = found.entries
    assert entry.entry == {
        "pods": {"namespace": "research", "serviceAccounts": ["trainer"]},
        "ports": [
            {"protocol": "TCP", "port": 29_500},
            {"protocol": "TCP", "port": 32_768, "endPort": 60_999},
        ],
    }
    assert entry.evidence.flows == 42
    assert entry.evidence.warnings == [
        "41 random ports between Pods of one run: Linux's whole range is opened"
    ]


def test_gang_is_known_by_its_workload_too() -> None:
    """Where the log has no labels: both Pods are of the same TrainJob."""
    same = WorkloadName("TrainJob", "train")
    marks: dict[str, Any] = {"gang": "", "to_gang": "", "workload": same, "to_workload": same}
    (found,) = suggest(_observed(WorkloadSnapshot(), *(_between(port, **marks) for port in RANDOM)))
    assert [len(each.entry["ports"]) for each in found.entries] == [1]


@pytest.mark.parametrize(
    "fields",
    [
        {"to_gang": "batch.kubernetes.io/job-name=other"},
        {"to_namespace": "elsewhere"},
        {"gang": "", "to_gang": ""},
    ],
)
def test_as_many_ports_of_others_are_a_scan(fields: dict[str, Any]) -> None:
    """Pods of another run, of another namespace, or of none."""
    flows = [_between(port, **fields) for port in RANDOM]
    (found,) = suggest(_observed(WorkloadSnapshot(), *flows))
    assert found.entries == []
    assert "looks like a scan" in found.left_out[0].why


def test_low_ports_within_a_gang_are_a_scan() -> None:
    """Linux gives nobody such a port: somebody tries them one by one."""
    flows = [_between(port) for port in range(1, 42)]
    (found,) = suggest(_observed(WorkloadSnapshot(), *flows))
    assert found.entries == []


def test_rare_destinations_are_marked() -> None:
    """Of one Pod alone, a few times, or on one day of a week; the others are not."""
    usual = [_flow(account="web", pod=f"w-{place}", count=50) for place in range(4)]
    days = [
        _flow(account="web", pod=f"w-{place % 4}", first=EIGHT + place * 86_400, count=5)
        for place in range(9)
    ]
    once = _flow(
        account="web", pod="w-1", names=("odd.example.org",), first=EIGHT, last=EIGHT, count=9
    )
    twice = [
        _flow(account="web", pod=f"w-{place}", names=("rare.example.org",)) for place in (1, 2)
    ]
    (found,) = suggest(_observed(WorkloadSnapshot(), *usual, *days, once, *twice))
    marks = {each.entry["dnsName"]: each.evidence.warnings for each in found.entries}
    assert marks == {
        "odd.example.org": ["of a single Pod of 4", "seen on one day of 8"],
        "packages.example.org": [],
        "rare.example.org": ["seen rarely: 2 of 256 flows"],
    }


def test_wildcard_is_offered_only_where_the_engine_learns_names() -> None:
    """The names stay as entries: an offer is no suggestion."""
    flows = [_flow(account="web", names=(f"edge{n}.cdn.example.org",)) for n in range(9)]
    flows.append(_flow(account="web"))
    for engine, patterns in (("cilium", ["*.cdn.example.org"]), ("networkpolicy", [])):
        observed = observe(
            [("f", each) for each in flows],
            world(enrolled=(), engine=engine),  # type: ignore[arg-type]
        )
        (found,) = suggest(observed)
        assert [each.pattern for each in found.wildcards] == patterns
        assert len(found.entries) == 10


def test_wildcard_below_shared_storage_says_whose_it_is() -> None:
    """Every stranger has a name below it."""
    flows = [_flow(account="web", names=(f"a{n}.blob.core.windows.net",)) for n in range(9)]
    observed = observe([("f", each) for each in flows], world(enrolled=(), engine="cilium"))
    (found,) = suggest(observed)
    assert "stranger" in found.wildcards[0].warning


def test_flows_are_merged_and_each_source_is_bounded() -> None:
    """A Pod that connects everywhere is cut, told, and pushes out no flow of others."""
    noisy = (
        _flow(account="web", pod="noisy-0", names=(), address=ip_address(0xCB000000 + place))
        for place in range(MOST_OF_SOURCE + 25)
    )
    quiet = (_flow(account="web", pod="quiet-0") for _ in range(1000))
    found = _observed(WorkloadSnapshot(), *noisy, *quiet)
    assert found.left_out == 25
    assert found.left_out_of == ("research/noisy-0",)
    assert [each.count for each in found.flows if each.pod == "quiet-0"] == [1000]


def test_reasons_of_unread_records_are_short() -> None:
    """They quote what could not be read, which may be megabytes of anything."""
    wrong = "x\x1b" * 500_000
    tuples = f"1,{wrong},203.0.113.7,40000,443,6,O,B,NX"
    flows = {"flows": [{"flowGroups": [{"flowTuples": [tuples]}]}]}
    record = {"flowLogVersion": 4, "flowRecords": flows}
    found = _observed(WorkloadSnapshot(), *read_azure([json.dumps({"records": [record]})]))
    ((_, unread),) = found.unread
    assert len(unread.why) <= LONGEST_PROBLEM
    assert unread.why.isprintable()


def test_what_is_no_name_of_kubernetes_reaches_no_allowlist() -> None:
    """A log may hold anything: it is of nobody then."""
    head = "namespace,service_account,workload,destination,port\n"
    rows = (
        'research,"web\n---\nkind: Secret",,packages.example.org,443\n'
        '"re\nsearch",web,,packages.example.org,443\n'
        'research,web,"Job/a\nb",packages.example.org,443\n'
    )
    found = _observed(WorkloadSnapshot(), *read_csv([head, rows]))
    assert [(each.namespace, each.account, each.workload) for each in found.flows] == [
        ("research", "web", None)
    ]
    assert found.unknown == 2


def test_pods_of_unknown_accounts_are_not_taken_for_the_default_one() -> None:
    """The entry opens all of the namespace, and says so."""
    (found,) = suggest(
        _observed(
            WorkloadSnapshot(),
            _flow(account="web", names=(), address=None, to_namespace="data", to_pod="x"),
            pods=[pod("other", namespace="data")],
        )
    )
    (entry,) = found.entries
    assert entry.entry["pods"] == {"namespace": "data"}
    assert "opens every Pod of data" in entry.evidence.warnings[0]


def test_broken_workloads_are_told(tmp_path: Path) -> None:
    """They take no others with them."""
    broken = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": 3}}
    (tmp_path / "all.yaml").write_text(f"{WORKLOADS}---\n{yaml.safe_dump(broken)}")
    found = read_folder_workloads(tmp_path)
    assert found.unlisted == ("Job: 1 could not be read",)
    assert len(found.pods) == 2
