"""Reading flows of Hubble, Azure and CSV: whatever a line holds, it is read or counted."""

import json
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from egress.flows.azure import read_azure
from egress.flows.csv_file import read_csv
from egress.flows.hubble import read_hubble
from egress.flows.records import DnsAnswer, Flow, SkippedRecord, UnreadableRecord


def _hubble(**fields: Any) -> str:
    flow = {
        "time": "2026-11-20T08:00:00Z",
        "verdict": "FORWARDED",
        "IP": {"source": "10.0.0.1", "destination": "203.0.113.7"},
        "l4": {"TCP": {"source_port": 1, "destination_port": 443}},
        "source": {
            "namespace": "research",
            "pod_name": "train-0",
            "labels": ["k8s:io.cilium.k8s.policy.serviceaccount=trainer"],
        },
        "destination": {"labels": ["reserved:world"]},
        **fields,
    }
    return json.dumps({"flow": flow})


def test_hubble_flow_is_read() -> None:
    """Who, where to by which name, and what became of it."""
    (flow,) = read_hubble([_hubble(destination_names=["Packages.Example.org."])])
    assert isinstance(flow, Flow)
    assert (flow.namespace, flow.account, flow.pod) == ("research", "trainer", "train-0")
    assert (flow.names, flow.address) == (("packages.example.org",), ip_address("203.0.113.7"))
    assert (flow.protocol, flow.port, flow.verdict) == ("TCP", 443, "forwarded")
    assert flow.first == flow.last == 1795161600.0


def test_hubble_without_its_envelope_is_read() -> None:
    """As older versions wrote it."""
    bare = json.dumps(json.loads(_hubble())["flow"])
    (flow,) = read_hubble([bare])
    assert isinstance(flow, Flow)


def test_hubble_answers_of_the_dns_are_read() -> None:
    """They name addresses for the Pod that asked."""
    text = _hubble(
        is_reply=True,
        source={"namespace": "kube-system"},
        destination={"namespace": "research", "pod_name": "train-0"},
        l7={"dns": {"query": "packages.example.org.", "ips": ["203.0.113.7"]}},
    )
    assert list(read_hubble([text])) == [
        DnsAnswer("research", "train-0", "packages.example.org", (ip_address("203.0.113.7"),))
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"is_reply": True},
        {"traffic_direction": "INGRESS"},
        {"l4": {"ICMPv4": {"type": 8}}},
        {"source": {"labels": ["reserved:world"]}},
        {"l7": {"http": {"url": "/"}}},
    ],
)
def test_hubble_passes_over_what_no_pod_began(fields: dict[str, Any]) -> None:
    """Answers, what comes in, other protocols, what is not a Pod's."""
    (found,) = read_hubble([_hubble(**fields)])
    assert isinstance(found, SkippedRecord)


def test_hubble_counts_broken_lines() -> None:
    """With their numbers, and goes on."""
    text = "\n".join(
        [
            "not json",
            "[]",
            _hubble(),
            _hubble(l4={"TCP": {"destination_port": 70000}}),
            _hubble(IP={"destination": "300.1.1.1"}),
            '{"flow": {"time": 3}}',
        ]
    )
    found = list(read_hubble([text]))
    assert [each.line for each in found if isinstance(each, UnreadableRecord)] == [1, 2, 4, 5, 6]
    assert sum(isinstance(each, Flow) for each in found) == 1


def _azure(*tuples: str, version: int = 4) -> str:
    group = {"rule": "r", "flowTuples": list(tuples)}
    flows = {"flows": [{"aclID": "a", "flowGroups": [group]}]}
    return json.dumps({"records": [{"flowLogVersion": version, "flowRecords": flows}]})


def test_azure_flow_is_read() -> None:
    """Outbound alone; a flow that goes on is counted once."""
    text = _azure(
        "1795161600000,10.0.0.1,203.0.113.7,40000,443,6,O,B,NX,0,0,0,0",
        "1795161660000,10.0.0.1,203.0.113.7,40000,443,6,O,C,NX,1,2,3,4",
        "1795161661000,10.0.0.1,203.0.113.8,40000,53,17,O,D,NX,0,0,0,0",
        "1795161661000,198.51.100.1,10.0.0.1,4,22,6,I,D,NX,0,0,0,0",
        "1795161661000,10.0.0.1,203.0.113.8,0,0,1,O,B,NX,0,0,0,0",
    )
    begun, going_on, denied, came_in, icmp = read_azure([text])
    assert isinstance(begun, Flow)
    assert isinstance(going_on, Flow)
    assert isinstance(denied, Flow)
    assert (begun.source, begun.first) == (ip_address("10.0.0.1"), 1795161600.0)
    assert (begun.count, going_on.count) == (1, 0)
    assert (denied.protocol, denied.verdict) == ("UDP", "dropped")
    assert isinstance(came_in, SkippedRecord)
    assert isinstance(icmp, SkippedRecord)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"records": 3}',
        '{"records": [3]}',
        _azure("1,2"),
        _azure("x,10.0.0.1,203.0.113.7,40000,443,6,O,B,NX"),
        _azure("1,10.0.0.1,203.0.113.700,40000,443,6,O,B,NX"),
        _azure("1,10.0.0.1,203.0.113.7,40000,0,6,O,B,NX"),
        _azure("1,10.0.0.1,203.0.113.7,40000,443,6,O,B,NX", version=2),
    ],
)
def test_azure_counts_what_is_broken(text: str) -> None:
    """Nothing is raised, nothing is guessed."""
    (found,) = read_azure([text])
    assert isinstance(found, UnreadableRecord)


HEAD = "namespace,service_account,destination,port,protocol,verdict,count,time\n"


def test_csv_is_read() -> None:
    """Names, addresses, Pods and Services; counts and times."""
    text = HEAD + (
        "research,trainer,Packages.Example.org.,443,tcp,allowed,12,2026-11-20T08:00:00Z\n"
        "research,trainer,2001:db8::7,53,UDP,denied,,1795161600\n"
        "research,trainer,service/data/catalogue,80,,,,\n"
    )
    name, six, inside = read_csv([text])
    assert isinstance(name, Flow)
    assert isinstance(six, Flow)
    assert isinstance(inside, Flow)
    assert (name.names, name.count, name.verdict) == (("packages.example.org",), 12, "forwarded")
    assert (six.address, six.protocol, six.verdict) == (
        ip_address("2001:db8::7"),
        "UDP",
        "dropped",
    )
    assert name.first == six.first
    assert (inside.to_namespace, inside.to_service, inside.protocol) == (
        "data",
        "catalogue",
        "TCP",
    )


@pytest.mark.parametrize(
    "row",
    [
        "research,trainer,packages.example.org,0,tcp,,,",
        "research,trainer,packages.example.org,70000,tcp,,,",
        "research,trainer,packages.example.org,x,tcp,,,",
        "research,trainer,packages.example.org,443,icmp,,,",
        "research,trainer,not a name,443,tcp,,,",
        "research,trainer,packages.example.org,443,tcp,,,yesterday",
        "research,trainer,packages.example.org,443,tcp,,-1,",
    ],
)
def test_csv_counts_broken_lines(row: str) -> None:
    """With the line in the file."""
    (found,) = read_csv([f"{HEAD}{row}\n"])
    assert isinstance(found, UnreadableRecord)
    assert found.line == 2


def test_csv_without_its_columns_is_refused() -> None:
    """It says which there must be."""
    (found,) = read_csv(["a,b\n1,2\n"])
    assert isinstance(found, UnreadableRecord)
    assert "namespace" in found.why


@given(st.text())
def test_no_text_raises(text: str) -> None:
    """Whatever somebody gives."""
    for reader in (read_hubble, read_azure, read_csv):
        for each in reader([text]):
            assert isinstance(each, Flow | DnsAnswer | SkippedRecord | UnreadableRecord)
