"""Logs that come piece by piece: the same as whole, and never more at once than one record."""

import json
from collections.abc import Iterator
from ipaddress import ip_address
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.egress.workload_names import WorkloadName
from egress.flows.azure import read_azure
from egress.flows.csv_file import read_csv
from egress.flows.hubble import read_hubble
from egress.flows.pieces import MAX_LINE, BrokenArrayError, lines_of, records_of
from egress.flows.records import DnsAnswer, Flow, SkippedRecord, UnreadableRecord

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def _cut(text: str, places: list[int]) -> Iterator[str]:
    ends = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    for start, end in pairwise(ends):
        yield text[start:end]


@given(st.text(), st.lists(st.integers(0, 1000)))
def test_lines_are_the_same_however_a_text_is_cut(text: str, places: list[int]) -> None:
    """Python's own lines, by line feeds alone, are the judge."""
    expected = text.split("\n")
    if not expected[-1]:
        expected.pop()
    assert [line for _, line in lines_of(_cut(text, places))] == [
        line.removesuffix("\r") if place < text.count("\n") else line
        for place, line in enumerate(expected)
    ]


@given(st.lists(_JSON), st.lists(st.integers(0, 1000)))
def test_records_are_the_same_however_a_text_is_cut(
    values: list[object], places: list[int]
) -> None:
    """Of an array by itself, and of one in a field."""
    for text in (json.dumps(values), json.dumps({"records": values, "more": 1})):
        assert list(records_of(_cut(text, places), ("records",))) == values


@pytest.mark.parametrize("text", ["", "{}", "[1, 2", "[1, }", '{"other": [1]}', "[" * 100_000])
def test_broken_arrays_are_told(text: str) -> None:
    """They end nothing else."""
    with pytest.raises(BrokenArrayError):
        list(records_of([text], ("records",)))


def test_line_without_an_end_is_left_out_and_told() -> None:
    """The next one is read."""
    flow = {"source": {"namespace": "a", "pod_name": "b"}, "l4": {"TCP": {"destination_port": 1}}}
    endless = ("x" * 1000 for _ in range(MAX_LINE // 1000 + 2))
    found = list(read_hubble([*endless, "\n", json.dumps(flow)]))
    assert isinstance(found[0], UnreadableRecord)
    assert (found[0].line, isinstance(found[1], Flow)) == (1, True)
    head = "namespace,pod,destination,port\n"
    rows = list(read_csv([head, "x" * (MAX_LINE + 1), "\n", "a,b,192.0.2.1,443\n"]))
    assert {type(each) for each in rows} == {UnreadableRecord, Flow}


def test_records_before_a_break_are_read() -> None:
    """What comes after it is told as left out."""
    record = {"flowLogVersion": 4, "flowRecords": {"flows": []}}
    found = list(read_azure([f'{{"records": [{json.dumps(record)}, {{"flow']))
    assert len(found) == 1
    assert isinstance(found[0], UnreadableRecord)
    assert "left out" in found[0].why


def test_hubble_names_workloads_and_runs() -> None:
    """Fields of flow.proto's Endpoint: `workloads`, and labels of Kubernetes."""
    end = {
        "namespace": "research",
        "pod_name": "pretrain-node-0-0-x7k2p",
        "labels": ["k8s:app=train", "k8s:jobset.sigs.k8s.io/jobset-name=pretrain"],
        "workloads": [{"name": "pretrain-node-0", "kind": "Job"}],
    }
    line = {
        "flow": {
            "time": "2026-11-20T08:00:00Z",
            "verdict": "FORWARDED",
            "IP": {"source": "10.0.0.1", "destination": "10.0.0.2"},
            "l4": {"TCP": {"source_port": 40_000, "destination_port": 45_123}},
            "source": end,
            "destination": {**end, "pod_name": "pretrain-node-0-1-q9d4m"},
            "traffic_direction": "EGRESS",
        }
    }
    (flow,) = read_hubble([json.dumps(line)])
    assert isinstance(flow, Flow)
    assert flow.workload == flow.to_workload == WorkloadName("Job", "pretrain-node-0")
    assert flow.gang == flow.to_gang == "jobset.sigs.k8s.io/jobset-name=pretrain"


def test_hubble_without_pods_answers_for_the_workload() -> None:
    """As ACNS stores flows: the workload stands for its Pods."""
    line = {
        "flow": {
            "is_reply": True,
            "source": {"namespace": "kube-system"},
            "destination": {
                "namespace": "research",
                "workloads": [{"name": "web", "kind": "Deployment"}],
            },
            "l7": {"dns": {"query": "a.example.org.", "ips": ["192.0.2.1"]}},
        }
    }
    assert list(read_hubble([json.dumps(line)])) == [
        DnsAnswer(
            "research",
            "",
            "a.example.org",
            (ip_address("192.0.2.1"),),
            WorkloadName("Deployment", "web"),
        )
    ]


@pytest.mark.parametrize(
    "line", ['{"lost_events": {"source": "HUBBLE_RING_BUFFER"}}', '{"node_status": {}}']
)
def test_hubbles_other_messages_are_no_broken_flows(line: str) -> None:
    """observer.proto's GetFlowsResponse has them beside flows."""
    (found,) = read_hubble([line])
    assert isinstance(found, SkippedRecord)
