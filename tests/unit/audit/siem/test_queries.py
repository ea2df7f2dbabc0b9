"""Each detection has a query for a SIEM, or says why not; the queries find the traces of harm."""

import json
import re

import pytest
import yaml

from audit.access.detections.catalogue import DETECTIONS
from audit.access.parsers.operations import OPERATIONS
from audit.siem.catalogue import RULES
from audit.siem.kql import render_kql, render_query
from audit.siem.queries import ACCOUNTS, EXPECTED, PARAMETERS, PLACES, SiemRule, Table
from audit.siem.sigma import render_sigma
from tests.unit.audit.access.traces.traces import TRACES, Trace
from tests.unit.audit.siem.log_analytics import Row, is_alerted, row_of

BY_ID = {each.id: each for each in DETECTIONS}
WITH_QUERIES = [each for each in RULES if each.queries]
FILLED = {PLACES: ["/weightsprod/llama/"], ACCOUNTS: ["weightsprod"], EXPECTED: []}
LEFT_OUT = {
    "Evaluator deletes the served checkpoint of the trainer": "16 deletes; who wrote is not known",
}
"""Traces that detections find and no query does, with the reason."""


def test_every_detection_has_a_rule() -> None:
    """In the order of the catalogue; one without a query says why."""
    assert [each.detection for each in RULES] == [each.id for each in DETECTIONS]
    assert all(each.leaves_out for each in RULES if not each.queries)


def rows(trace: Trace) -> list[tuple[Table, Row]]:
    """Return a trace's rows as a workspace has them."""
    return [row_of(json.loads(record)) for record in trace.records()]


@pytest.mark.parametrize(
    "trace", [each for each in TRACES if not each.missed], ids=lambda one: one.name
)
def test_a_query_finds_what_a_detection_finds(trace: Trace) -> None:
    """Of one of the detections that are expected of the trace, where one has queries."""
    expected = [each for each in RULES if each.detection in trace.expects]
    queries = [query for rule in expected for query in rule.queries]
    if not queries:
        pytest.skip("; ".join(each.leaves_out for each in expected))
    found = rows(trace)
    seen = any(is_alerted(each, found, FILLED) for each in queries)
    assert seen is (trace.name not in LEFT_OUT), found[:2]


@pytest.mark.parametrize("rule", WITH_QUERIES, ids=lambda one: one.detection)
def test_sigma_rules_are_as_the_specification_says(rule: SiemRule) -> None:
    """Titles, levels, ids of their own; a correlation names a rule of its file."""
    documents = [
        one for one in yaml.safe_load_all(render_sigma(rule, BY_ID[rule.detection])) if one
    ]
    assert len({each["id"] for each in documents}) == len(documents)
    names = [each["name"] for each in documents]
    for each in documents:
        assert len(each["title"]) <= 256
        assert each["level"] in {"informational", "low", "medium", "high", "critical"}
        assert all(re.fullmatch(r"attack\.t\d{4}(\.\d{3})?", tag) for tag in each.get("tags", []))
        assert ("correlation" in each) != ("detection" in each)
        if "correlation" in each:
            assert set(each["correlation"]["rules"]) <= set(names)
        else:
            assert each["logsource"]["product"] == "azure"


@pytest.mark.parametrize("rule", WITH_QUERIES, ids=lambda one: one.detection)
def test_kql_names_what_is_to_be_filled_in(rule: SiemRule) -> None:
    """Each parameter that a query uses is given by a line before it, and no other."""
    for query in rule.queries:
        text = render_query(query)
        given = set(re.findall(r"^let (\w+) =", text, re.MULTILINE))
        used = {value for each in query.conditions for value in each.values} & PARAMETERS
        assert given == used
        assert all(f"({name})" in text for name in given)


def test_values_are_literals_of_kql() -> None:
    """Quotes and backslashes of a value end no literal."""
    (query,) = [
        each
        for rule in RULES
        for each in rule.queries
        if any("allowSharedKeyAccess" in value for one in each.conditions for value in one.values)
    ]
    assert r'Properties contains "allowSharedKeyAccess\\\":true"' in render_query(query)


def test_files_name_the_detection_and_what_it_sees_besides() -> None:
    """Whoever reads a query knows what it is worth."""
    for rule in WITH_QUERIES:
        detection = BY_ID[rule.detection]
        texts = (render_kql(rule, detection), render_sigma(rule, detection))
        for text in filter(None, texts):
            assert rule.detection in text
            assert detection.title.split(",")[0] in text


def test_operations_are_those_that_storage_logs() -> None:
    """None is invented: each is in the table that the parsers read by."""
    for rule in RULES:
        for query in rule.queries:
            if query.table is Table.STORAGE:
                for each in query.conditions:
                    if each.column == "OperationName":
                        assert set(each.values) <= OPERATIONS.keys(), rule.detection


@pytest.mark.parametrize(
    ("user_agent", "alerts"), [("Azure-Storage/2.0 (copy)", 1), ("AzCopy/10.24", 0)]
)
def test_a_copy_into_another_account_is_seen_where_it_is_read(user_agent: str, alerts: int) -> None:
    """The log of the source has a read by Azure's copy."""
    (rule,) = [each for each in RULES if each.detection == "copy-out"]
    row = {
        "Category": "StorageRead",
        "OperationName": "GetBlob",
        "StatusCode": "200",
        "ObjectKey": "/weightsprod/llama/shard-1",
        "RequesterObjectId": "",
        "UserAgentHeader": user_agent,
    }
    rows = [(Table.STORAGE, row)]
    assert sum(is_alerted(each, rows, FILLED) for each in rule.queries) == alerts


def test_sigma_counts_no_address() -> None:
    """The column has the port, which Sigma cannot take off."""
    for rule in WITH_QUERIES:
        for each in yaml.safe_load_all(render_sigma(rule, BY_ID[rule.detection])):
            assert "CallerIpAddress" not in json.dumps((each or {}).get("correlation", {}))
