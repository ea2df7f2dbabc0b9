"""Flow logs of ACNS, of network security groups, of Calico, and of policies that only look on."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.egress.workload_names import WorkloadName
from egress.flows.acns import read_acns
from egress.flows.azure import read_azure
from egress.flows.calico import read_calico
from egress.flows.hubble import read_hubble
from egress.flows.records import (
    DnsAnswer,
    Flow,
    FlowRecord,
    SkippedRecord,
    UnreadableRecord,
)

EIGHT = 1795161600.0
"""2026-11-20T08:00:00Z."""

ROW: dict[str, Any] = {
    "TimeGenerated": "2026-11-20T08:00:00Z",
    "Verdict": "FORWARDED",
    "DropReason": "",
    "IP": '{"source": "10.244.1.10", "destination": "203.0.113.7", "ipVersion": "IPv4"}',
    "Layer4": '{"TCP": {"source_port": 56846, "destination_port": 443, "flags": {"SYN": true}}}',
    "SourceNamespace": "research",
    "SourcePodName": "web-6d4b75cb6d-hwk2l",
    "SourceWorkloads": '[{"name": "web", "kind": "Deployment"}]',
    "DestinationNamespace": "",
    "DestinationPodName": "",
    "DestinationWorkloads": "",
    "FlowType": "L3_L4",
    "Layer7": "",
    "Reply": "false",
    "Service": "",
    "TrafficDirection": "EGRESS",
}
"""A row of one flow: columns as the agent of Container insights writes them."""

AGGREGATED: dict[str, Any] = {
    "TimeGenerated": "2026-11-20T08:00:00Z",
    "Verdict": "FORWARDED",
    "IP": {"ipVersion": "IPv4"},
    "Layer4": {"TCP": {"destination_port": 8080}},
    "SourceNamespace": "research",
    "SourceWorkloads": [{"name": "web", "kind": "Deployment"}],
    "DestinationNamespace": "data",
    "DestinationWorkloads": [{"name": "catalogue", "kind": "StatefulSet"}],
    "Reply": False,
    "IngressFlowCount": 6,
    "EgressFlowCount": 4,
    "UnknownDirectionFlowCount": 1,
}
"""A row that stands for many: workloads, and neither Pods nor addresses."""


def _as_array(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows)


def _as_lines(rows: list[dict[str, Any]]) -> str:
    return "\n".join(map(json.dumps, rows))


def _as_tables(rows: list[dict[str, Any]]) -> str:
    columns = list(rows[0])
    table = {
        "name": "PrimaryResult",
        "columns": [{"name": each, "type": "string"} for each in columns],
        "rows": [[row.get(each) for each in columns] for row in rows],
    }
    return json.dumps({"tables": [table]})


def _as_csv(rows: list[dict[str, Any]]) -> str:
    named = {each: f"{each} [UTC]" if each == "TimeGenerated" else each for each in rows[0]}
    text = io.StringIO()
    writer = csv.DictWriter(text, named.values())
    writer.writeheader()
    for row in rows:
        cells = {key: json.dumps(v) if isinstance(v, dict | list) else v for key, v in row.items()}
        writer.writerow({named[key]: value for key, value in cells.items()})
    return text.getvalue()


_FORMS = [_as_array, _as_lines, _as_tables, _as_csv]


@pytest.mark.parametrize("form", _FORMS)
def test_row_of_acns_is_read(form: Callable[[list[dict[str, Any]]], str]) -> None:
    """From each form in which Azure gives it."""
    (flow,) = read_acns([form([ROW])])
    assert isinstance(flow, Flow)
    assert (flow.namespace, flow.pod) == ("research", "web-6d4b75cb6d-hwk2l")
    assert flow.workload == WorkloadName("Deployment", "web")
    assert (flow.address, flow.protocol, flow.port) == (ip_address("203.0.113.7"), "TCP", 443)
    assert (flow.verdict, flow.first, flow.count) == ("forwarded", EIGHT, 1)


@pytest.mark.parametrize("form", _FORMS)
def test_aggregated_row_of_acns_is_read(form: Callable[[list[dict[str, Any]]], str]) -> None:
    """What was seen where it arrived is not counted a second time."""
    (flow,) = read_acns([form([AGGREGATED])])
    assert isinstance(flow, Flow)
    assert (flow.pod, flow.address) == ("", None)
    assert flow.workload == WorkloadName("Deployment", "web")
    assert (flow.to_namespace, flow.to_workload) == (
        "data",
        WorkloadName("StatefulSet", "catalogue"),
    )
    assert (flow.port, flow.count) == (8080, 5)


@pytest.mark.parametrize(
    "fields",
    [
        {"Reply": "True"},
        {"TrafficDirection": "INGRESS"},
        {"IngressFlowCount": "3", "EgressFlowCount": "0"},
        {"SourceNamespace": "", "SourcePodName": ""},
        {"Layer4": '{"ICMPv4": {"type": 8}}'},
        {"Layer7": '{"type": "REQUEST", "http": {"method": "GET"}}'},
    ],
)
def test_rows_of_acns_that_no_pod_began_are_passed_over(fields: dict[str, Any]) -> None:
    """As Hubble's own."""
    (found,) = read_acns([_as_array([{**ROW, **fields}])])
    assert isinstance(found, SkippedRecord)


def test_answers_of_the_dns_in_acns_name_addresses() -> None:
    """Rows that are not aggregated have them."""
    row = {
        **ROW,
        "Reply": "true",
        "SourceNamespace": "kube-system",
        "SourcePodName": "coredns-0",
        "DestinationNamespace": "research",
        "DestinationPodName": "web-0",
        "Layer7": '{"type": "RESPONSE", "dns": {"query": "a.example.org.", "ips": ["192.0.2.1"]}}',
    }
    assert list(read_acns([_as_array([row])])) == [
        DnsAnswer("research", "web-0", "a.example.org", (ip_address("192.0.2.1"),))
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"IP": "{"},
        {"IP": '{"destination": "300.1.1.1"}'},
        {"Layer4": '{"TCP": {"destination_port": 70000}}'},
        {"Layer4": '{"TCP": 3}'},
        {"EgressFlowCount": "many"},
        {"EgressFlowCount": -4, "IngressFlowCount": 9},
        {"SourceNamespace": 3},
    ],
)
def test_broken_rows_of_acns_are_counted(fields: dict[str, Any]) -> None:
    """They end nothing else."""
    first, second = read_acns([_as_array([{**ROW, **fields}, ROW])])
    assert isinstance(first, UnreadableRecord)
    assert isinstance(second, Flow)


def test_dropped_rows_of_acns_are_dropped() -> None:
    """By the verdict."""
    (flow,) = read_acns([_as_lines([{**ROW, "Verdict": "DROPPED"}])])
    assert isinstance(flow, Flow)
    assert flow.verdict == "dropped"


def _group(*tuples: str) -> str:
    """Return a record of a network security group, as Microsoft's documentation shows them."""
    flows = [{"rule": "UserRule_x", "flows": [{"mac": "000D3AF8", "flowTuples": list(tuples)}]}]
    record = {
        "time": "2026-11-20T08:00:00.0Z",
        "category": "NetworkSecurityGroupFlowEvent",
        "operationName": "NetworkSecurityGroupFlowEvents",
        "properties": {"Version": 2, "flows": flows},
    }
    return json.dumps({"records": [record]})


def test_flows_of_a_network_security_group_are_read() -> None:
    """Version 2 with its states, version 1 without; only what goes out."""
    begun, going_on, denied, came_in, old, bad = read_azure(
        [
            _group(
                "1795161600,10.0.0.4,203.0.113.7,44931,443,T,O,A,B,,,,",
                "1795161660,10.0.0.4,203.0.113.7,44931,443,T,O,A,C,25,2,30,3",
                "1795161661,10.0.0.4,203.0.113.8,44932,53,U,O,D,B,,,,",
                "1795161662,198.51.100.1,10.0.0.4,4,22,T,I,A,B,,,,",
                "1795161663,10.0.0.4,203.0.113.9,44933,443,T,O,A",
                "1795161663,10.0.0.4",
            )
        ]
    )
    assert isinstance(begun, Flow)
    assert (begun.source, begun.first, begun.count) == (ip_address("10.0.0.4"), EIGHT, 1)
    assert isinstance(going_on, Flow)
    assert going_on.count == 0
    assert isinstance(denied, Flow)
    assert (denied.protocol, denied.verdict) == ("UDP", "dropped")
    assert isinstance(came_in, SkippedRecord)
    assert isinstance(old, Flow)
    assert (old.port, old.verdict) == (443, "forwarded")
    assert isinstance(bad, UnreadableRecord)


WHISKER: dict[str, Any] = {
    "start_time": "2026-11-20T08:00:00Z",
    "end_time": "2026-11-20T08:00:15Z",
    "action": "Allow",
    "source_name": "web-6d4b75cb6d-*",
    "source_namespace": "research",
    "source_labels": "app=web | job-name=train",
    "dest_name": "catalogue-*",
    "dest_namespace": "data",
    "dest_labels": "app=catalogue",
    "protocol": "tcp",
    "dest_port": 8080,
    "reporter": "Src",
    "policies": {
        "enforced": [{"kind": "Profile", "name": "kns.research", "action": "Allow"}],
        "pending": [
            {
                "kind": "EndOfTier",
                "tier": "default",
                "action": "Deny",
                "trigger": {"kind": "StagedKubernetesNetworkPolicy", "name": "default-deny"},
            }
        ],
    },
    "packets_in": 3,
    "packets_out": 4,
    "bytes_in": 300,
    "bytes_out": 400,
}
"""What Whisker's backend answers of one flow (flows.go, FlowResponse)."""

ENTERPRISE: dict[str, Any] = {
    "start_time": 1795161600,
    "end_time": 1795161615,
    "source_ip": "10.244.1.10",
    "source_name": "web-6d4b75cb6d-hwk2l",
    "source_name_aggr": "web-6d4b75cb6d-*",
    "source_namespace": "research",
    "source_type": "wep",
    "source_labels": {"labels": ["app=web"]},
    "dest_ip": "203.0.113.7",
    "dest_name": "-",
    "dest_name_aggr": "pub",
    "dest_namespace": "-",
    "dest_type": "net",
    "dest_port": 443,
    "dest_service_name": "-",
    "dest_service_namespace": "-",
    "dest_service_port_num": None,
    "dest_domains": ["Packages.example.org"],
    "proto": "tcp",
    "action": "allow",
    "reporter": "src",
    "policies": {
        "all_policies": ["0|__PROFILE__|__PROFILE__.kns.research|allow|0"],
        "enforced_policies": ["0|__PROFILE__|__PROFILE__.kns.research|allow|0"],
        "pending_policies": ["0|default|research/default.staged:default-deny|deny|-1"],
    },
    "num_flows_started": 12,
}
"""Fields by Tigera's page on data types of flow logs."""


@pytest.mark.parametrize("form", [_as_array, _as_lines, lambda rows: json.dumps({"items": rows})])
def test_flow_of_whisker_is_read(form: Callable[[list[dict[str, Any]]], str]) -> None:
    """Names of many Pods are what their names begin with; a staged policy would deny it."""
    (flow,) = read_calico([form([WHISKER])])
    assert isinstance(flow, Flow)
    assert (flow.namespace, flow.pod, flow.stem) == ("research", "", "web-6d4b75cb6d")
    assert (flow.to_namespace, flow.to_pod, flow.to_stem) == ("data", "", "catalogue")
    assert (flow.protocol, flow.port, flow.gang) == ("TCP", 8080, "job-name=train")
    assert (flow.verdict, flow.first, flow.last) == ("audited", EIGHT, EIGHT + 15)


def test_flow_of_calico_enterprise_is_read() -> None:
    """With addresses, names of the DNS, and how many connections it stands for."""
    (flow,) = read_calico([_as_lines([ENTERPRISE])])
    assert isinstance(flow, Flow)
    assert (flow.pod, flow.names) == ("web-6d4b75cb6d-hwk2l", ("packages.example.org",))
    assert (flow.address, flow.to_namespace) == (ip_address("203.0.113.7"), "")
    assert (flow.count, flow.verdict, flow.first) == (12, "audited", EIGHT)


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"action": "deny"}, "dropped"),
        ({"policies": {"pending_policies": ["0|default|research/default.x|allow|0"]}}, "forwarded"),
        ({"policies": {"pending_policies": ["broken"]}}, "forwarded"),
        ({"policies": None}, "forwarded"),
        ({"action": "log"}, "unknown"),
    ],
)
def test_verdicts_of_calico(fields: dict[str, Any], verdict: str) -> None:
    """What was done counts before what would be."""
    (flow,) = read_calico([_as_lines([{**ENTERPRISE, **fields}])])
    assert isinstance(flow, Flow)
    assert flow.verdict == verdict


def test_service_of_calico_is_named_with_its_own_port() -> None:
    """Where the log has that port; else the Pod is."""
    named = {
        "dest_type": "wep",
        "dest_name": "catalogue-0",
        "dest_name_aggr": "catalogue-*",
        "dest_namespace": "data",
        "dest_port": 8080,
        "dest_service_name": "catalogue",
        "dest_service_namespace": "data",
    }
    (flow,) = read_calico([_as_lines([{**ENTERPRISE, **named, "dest_service_port_num": 80}])])
    assert isinstance(flow, Flow)
    assert (flow.to_namespace, flow.to_service, flow.port) == ("data", "catalogue", 80)
    (flow,) = read_calico([_as_lines([{**ENTERPRISE, **named}])])
    assert isinstance(flow, Flow)
    assert (flow.to_service, flow.to_pod, flow.port) == ("", "catalogue-0", 8080)


@pytest.mark.parametrize(
    "fields",
    [
        {"reporter": "dst"},
        {"source_type": "net", "source_namespace": "-"},
        {"source_type": "hep"},
        {"proto": "icmp"},
    ],
)
def test_flows_of_calico_that_no_pod_began_are_passed_over(fields: dict[str, Any]) -> None:
    """Seen where they arrive, of nodes, of networks, of other protocols."""
    (found,) = read_calico([_as_lines([{**ENTERPRISE, **fields}])])
    assert isinstance(found, SkippedRecord)


@pytest.mark.parametrize(
    "text",
    ["{}\n[", '{"reporter": 3}', _as_lines([{**ENTERPRISE, "dest_ip": "x"}]), '{"items": 3}', "["],
)
def test_broken_flows_of_calico_are_counted(text: str) -> None:
    """Nothing is raised."""
    assert any(isinstance(each, UnreadableRecord) for each in read_calico([text]))


def test_verdicts_of_ciliums_audit_mode() -> None:
    """`hubble observe -t policy-verdict` in audit mode: let through, and would be dropped."""
    flow = {
        "time": "2026-11-20T08:00:00Z",
        "verdict": "AUDIT",
        "IP": {"source": "10.0.0.1", "destination": "203.0.113.7", "ipVersion": "IPv4"},
        "l4": {"TCP": {"source_port": 40000, "destination_port": 443, "flags": {"SYN": True}}},
        "source": {"identity": 1234, "namespace": "research", "pod_name": "train-0"},
        "destination": {"identity": 2, "labels": ["reserved:world"]},
        "Type": "L3_L4",
        "event_type": {"type": 5},
        "traffic_direction": "EGRESS",
        "policy_match_type": 0,
        "Summary": "TCP Flags: SYN",
    }
    (found,) = read_hubble([json.dumps({"flow": flow})])
    assert isinstance(found, Flow)
    assert found.verdict == "audited"


def _mutated(row: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    values: st.SearchStrategy[Any] = (
        st.none() | st.integers() | st.text() | st.lists(st.text()) | st.just({})
    )
    return st.dictionaries(st.sampled_from(sorted(row)), values, max_size=4).map(
        lambda changed: {**row, **changed}
    )


def _only_records(found: Iterator[FlowRecord]) -> bool:
    kinds = (Flow, DnsAnswer, SkippedRecord, UnreadableRecord)
    return all(isinstance(each, kinds) for each in found)


@given(_mutated(ROW), _mutated(AGGREGATED), _mutated(WHISKER), _mutated(ENTERPRISE))
def test_no_value_raises(
    row: dict[str, Any],
    aggregated: dict[str, Any],
    whisker: dict[str, Any],
    enterprise: dict[str, Any],
) -> None:
    """Whatever somebody stored in a column."""
    for form in (_as_array, _as_lines):
        assert _only_records(read_acns([form([row, aggregated])]))
        assert _only_records(read_calico([form([whisker, enterprise])]))


@given(st.text())
def test_no_text_raises(text: str) -> None:
    """Whatever somebody gives."""
    for reader in (read_acns, read_calico):
        assert _only_records(reader([text]))
