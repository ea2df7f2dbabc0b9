"""Forms for programs: valid by their standards' own schemas, and true to the report."""

import csv
import hashlib
import io
import json
import zipfile

import jsonschema
import pytest
from ocsf_json_schema import (  # type: ignore[import-untyped]
    OcsfJsonSchemaEmbedded,
    get_ocsf_schema,
)
from trestle.oscal.assessment_results import Model

from audit.reports.builder import canonical_json, digest_of
from audit.reports.forms.ocsf import VERSION, render_ocsf
from audit.reports.forms.oscal import render_oscal
from audit.reports.forms.tables import guard_cell, render_tables
from audit.reports.model import Report
from cli.report.forms import sarif
from cli.report.openreports import openreports
from tests.harness.published.openreports import crds
from tests.harness.published.sarif import sarif_schema
from tests.unit.audit.reports.records import HUMAN, READER


def test_json_has_the_digest_over_itself(report: Report) -> None:
    """As the page says: keys sorted, the digest left empty. Anybody can compute it again."""
    document = json.loads(canonical_json(report))
    said = document["digest"]
    document["digest"] = ""
    again = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert said == f"sha256:{hashlib.sha256(again.encode()).hexdigest()}" == digest_of(report)


def test_tables_hold_every_row(report: Report) -> None:
    """One file each; sums are columns of their own."""
    with zipfile.ZipFile(io.BytesIO(render_tables(report))) as archive:
        names = archive.namelist()
        rows = list(csv.DictReader(io.StringIO(archive.read("principals.csv").decode())))
    assert {"sources.csv", "gaps.csv", "quarantine.csv", "about.csv", "cases.csv"} <= set(names)
    assert names == sorted(names)
    assert {row["who"]: row["reads"] for row in rows}[f"oid:{READER}"] == "5"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    """Numbers stay numbers, also negative ones."""
    assert not guard_cell(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert guard_cell(-1) == "-1"


def test_oscal_is_valid_and_says_what_does_not_hold(report: Report) -> None:
    """By compliance-trestle's models of 1.2, which allow nothing else."""
    content = render_oscal(report)
    results = Model.model_validate_json(content).assessment_results.results[0]
    findings = json.loads(content)["assessment-results"]["results"][0]["findings"]
    states = {
        found["target"]["target-id"]: found["target"]["status"]["state"] for found in findings
    }
    assert states == {
        "ac-3_obj": "not-satisfied",
        "ac-6_obj": "satisfied",
        "au-10_obj": "not-satisfied",
        "au-12_obj": "not-satisfied",
        "au-9_obj": "not-satisfied",
        "si-4_obj": "not-satisfied",
    }
    assert len(results.observations or ()) == len(states) + len(report.findings)


def test_ocsf_events_are_valid(report: Report) -> None:
    """By OCSF's own schema; a class for findings, for accesses, and for entries of other logs."""
    schemas = OcsfJsonSchemaEmbedded(get_ocsf_schema(version=VERSION))
    events = [json.loads(line) for line in render_ocsf(report).splitlines()]
    validators = {
        uid: jsonschema.Draft202012Validator(
            schemas.get_class_schema(class_name=schemas.lookup_class_name_from_uid(class_uid=uid))
        )
        for uid in (2004, 6003, 6005)
    }
    for event in events:
        validators[event["class_uid"]].validate(event)
    kinds = [event["class_uid"] for event in events]
    assert kinds.count(2004) == len(report.findings)
    assert (kinds.count(6005), kinds.count(6003)) == (3, 1)
    found = next(event for event in events if event["class_uid"] == 2004)
    assert found["evidences"][0]["actor"]["user"]["uid"].startswith("sas:")
    assert found["evidences"][0]["src_endpoint"] == {"ip": "203.0.113.9"}
    assert found["resources"] == [
        {
            "uid": "frontier",
            "name": "frontier",
            "type": "WeightStore",
            "labels": ["cluster:production"],
        }
    ]
    assert "203.0.113.9" in {one["value"] for one in found["observables"]}
    read = next(event for event in events if event["type_uid"] == 600501)
    assert (read["count"], read["databucket"]["name"]) == (5, "frontier")


def test_sarif_is_valid(report: Report) -> None:
    """By the standard's schema: a rule for each detection, a result for each finding."""
    log = sarif(report, "1.0")
    jsonschema.validate(log, sarif_schema(), jsonschema.Draft7Validator)
    (run,) = log["runs"]
    for rule in run["tool"]["driver"]["rules"]:  # GitHub takes no rule without these.
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
    for result in run["results"]:  # Nor a result without a file and a line.
        (place,) = result["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "weightstores/frontier"
        assert place["physicalLocation"]["region"]["startLine"] == 1
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["key-or-anonymous-read"]
    assert len(run["results"]) == len(report.findings)


def test_openreports_are_valid_and_name_nobody(report: Report) -> None:
    """By their own CRDs. Many may read them: no principal, no human, no address."""
    made = openreports(report)
    schemas = {
        crd["spec"]["names"]["kind"]: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for crd in crds()
    }
    for each in made:
        jsonschema.validate(each, schemas[each["kind"]])
    assert [each["kind"] for each in made] == ["ClusterReport"]
    assert made[0]["summary"] == {"pass": 0, "warn": 1, "fail": 2, "error": 0, "skip": 0}
    text = json.dumps(made)
    assert not [word for word in (HUMAN, READER, "203.0.113.9", "sas:") if word in text]
