"""SARIF 2.1.0: valid by its own schema, and stable enough for code scanning."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from jsonschema import Draft4Validator

from cli.review.report import Located, Report
from cli.review.sarif import FINGERPRINT, sarif_log
from cli.review.yaml_positions import Position
from cli.shared.results import Reviewed
from core.base.safe_text import safe_text
from core.decision.decision import Action, Finding, Verdict
from tests.harness.published.sarif import sarif_schema
from tests.unit.cli.review.reports import (
    HOSTILE,
    RULE,
    files,
    finding,
    located,
    report,
    result,
    texts,
)


@pytest.fixture(scope="session")
def schema() -> Draft4Validator:
    """The validator of SARIF's own schema."""
    return Draft4Validator(sarif_schema())


def log(*each: Located, of: Report | None = None) -> dict[str, Any]:
    """Return the log, as a program reads it from JSON."""
    whole = of or report(*(one.result for one in each))
    decoded: dict[str, Any] = json.loads(msgspec.json.encode(sarif_log(whole, each, "1.2.3")))
    return decoded


def only(made: dict[str, Any]) -> dict[str, Any]:
    """Return the only result of a log."""
    ((found,),) = (run["results"] for run in made["runs"])
    return dict(found)


def prints(*each: Located) -> list[str]:
    """Return the fingerprints of all results."""
    return [found["partialFingerprints"][FINGERPRINT] for found in log(*each)["runs"][0]["results"]]


def test_whole_result(schema: Draft4Validator) -> None:
    """Rule, level, message, file, line and column, and what the finding is known by."""
    made = log(located(result(finding()), "deploy/a b.yaml", Position(7, 3)))
    schema.validate(made)
    found = only(made)
    assert found.pop("partialFingerprints").keys() == {FINGERPRINT}
    assert found == {
        "ruleId": "privileges/host/network",
        "ruleIndex": 0,
        "level": "error",
        "message": {
            "text": "Pod train/x: spec.hostNetwork: shares the network of the node. Fix: Remove it."
        },
        "locations": [
            {
                "logicalLocations": [
                    {"fullyQualifiedName": "v1 Pod train/x spec.hostNetwork", "kind": "object"}
                ],
                "physicalLocation": {
                    "artifactLocation": {"uri": "deploy/a%20b.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 7, "startColumn": 3},
                },
            }
        ],
        "properties": {"privilege": "host/network", "coveredBy": []},
    }


def test_rule_has_help_a_level_and_a_score(schema: Draft4Validator) -> None:
    """Once each, however often it is broken; the help page is a public one."""
    made = log(located(result(finding(), finding("spec.hostIPC"))))
    schema.validate(made)
    driver = made["runs"][0]["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("Sallyport", "1.2.3")
    assert driver["rules"] == [
        {
            "id": "privileges/host/network",
            "shortDescription": {"text": "Network of the node"},
            "fullDescription": {"text": "Sees the traffic of the node."},
            "help": {
                "text": "Sees the traffic of the node.\n\nFix: Remove it.",
                "markdown": "Sees the traffic of the node.\n\n**Fix**: Remove it.\n\n"
                "- <https://kubernetes.example/docs>",
            },
            "helpUri": "https://kubernetes.example/docs",
            "defaultConfiguration": {"level": "error"},
            "properties": {"security-severity": "8.0", "tags": ["security", "kubernetes"]},
        }
    ]


@pytest.mark.parametrize(
    ("severity", "level", "lowest", "below"),
    [
        ("critical", "error", 9.0, 10.1),
        ("high", "error", 7.0, 9.0),
        ("medium", "warning", 4.0, 7.0),
        ("low", "note", 0.1, 4.0),
    ],
)
def test_severity_has_its_band(severity: str, level: str, lowest: float, below: float) -> None:
    """GitHub names the score by these bands: they must give the rule's own word again."""
    rule = msgspec.structs.replace(RULE, severity=severity, sources=[])
    found = result(finding())
    (described,) = log(located(found), of=Report([found], {RULE.id: rule}))["runs"][0]["tool"][
        "driver"
    ]["rules"]
    assert described["defaultConfiguration"]["level"] == level
    assert lowest <= float(described["properties"]["security-severity"]) < below
    assert "helpUri" not in described


@pytest.mark.parametrize("rule", ["profiles/none", "error/object"])
def test_rule_without_metadata_is_described(schema: Draft4Validator, rule: str) -> None:
    """Checks in Python, and what could not be judged, are rules too."""
    made = log(located(result(finding("", rule=rule, privilege=None), verdict=Verdict.ERROR)))
    schema.validate(made)
    (described,) = made["runs"][0]["tool"]["driver"]["rules"]
    assert described["id"] == rule
    assert described["shortDescription"]["text"]
    assert made["runs"][0]["invocations"] == [{"executionSuccessful": False}]


def test_warning_is_no_error() -> None:
    """What is admitted all the same does not fail a check on errors."""
    mild = result(finding(action=Action.WARN), verdict=Verdict.WARN)
    made = log(located(mild))
    assert only(made)["level"] == "warning"
    assert made["runs"][0]["invocations"] == [{"executionSuccessful": True}]


@pytest.mark.parametrize(
    ("path", "artifact"),
    [
        ("/elsewhere/a.yaml", {"uri": "file:///elsewhere/a.yaml"}),
        ("a:b%.yaml", {"uri": "a%3Ab%25.yaml", "uriBaseId": "%SRCROOT%"}),
        ("caf\udce9.yaml", {"uri": "caf%E9.yaml", "uriBaseId": "%SRCROOT%"}),
    ],
)
def test_file_is_a_uri_of_its_bytes(path: str, artifact: dict[str, str]) -> None:
    """Relative to the working directory where it lies there; also where it is no UTF-8."""
    physical = only(log(located(result(finding()), path)))["locations"][0]["physicalLocation"]
    assert physical == {"artifactLocation": artifact}


def test_standard_input_is_no_file(schema: Draft4Validator) -> None:
    """It has the object's name alone."""
    made = log(located(result(finding()), None))
    schema.validate(made)
    assert only(made)["locations"][0].keys() == {"logicalLocations"}


def test_fingerprint_stays_when_lines_and_indices_move() -> None:
    """So that an alert that was dismissed does not come back."""
    path = "spec.containers[{}].ports[0].hostPort"
    before = result(finding(path.format(0), container="main"))
    after = result(finding(path.format(3), container="main", message="reworded"))
    assert prints(located(before, place=Position(3, 1))) == prints(
        located(after, place=Position(9, 9))
    )


@pytest.mark.parametrize(
    "other",
    [
        result(finding(), name="y"),
        result(finding(privilege="host/pid")),
        result(finding(rule="privileges/host/pid")),
        result(finding(container="main")),
        result(finding("spec.other", privilege=None)),
    ],
)
def test_fingerprints_of_others_differ(other: Any) -> None:
    """Another object, privilege, rule, container or field is another alert."""
    assert prints(located(result(finding()))) != prints(located(other))


def test_fingerprints_are_unique() -> None:
    """Two findings that are alike, and two objects of one name, are told apart by their order."""
    twice = located(result(finding(), finding("spec.other")))
    assert len(set(prints(twice, twice))) == 4


def test_difference_is_a_baseline(schema: Draft4Validator) -> None:
    """What is shown is new, and what is gone is named."""
    found = result(finding())
    gone = Reviewed(file="b.yaml", kind="Pod", namespace="train", name=HOSTILE)
    made = log(located(found), of=Report([found], {}, "git:main", [gone]))
    schema.validate(made)
    assert only(made)["baselineState"] == "new"
    bag = made["runs"][0]["properties"]
    assert bag["comparedWith"] == "git:main"
    assert [name.startswith("Pod train/a\n") for name in bag["gone"]] == [True]


def test_hostile_text_is_no_link_and_no_placeholder(schema: Draft4Validator) -> None:
    """Neither links nor placeholders nor control characters come out of a manifest."""
    hostile = finding(HOSTILE, message=HOSTILE, container=HOSTILE)
    made = log(located(result(hostile, name=HOSTILE), HOSTILE))
    schema.validate(made)
    text = only(made)["message"]["text"]
    assert "](" not in text
    assert "{0" not in text
    assert all(char.isprintable() or char == "\n" for char in text)


@given(texts, texts, texts, files)
def test_any_text_gives_valid_json(
    schema: Draft4Validator, name: str, path: str, message: str, file: str
) -> None:
    """Whatever a manifest and its file are called."""
    found = Finding("r", Action.DENY, path, message, message, safe_text(name), path)
    made = log(located(result(found, name=name), file))
    schema.validate(made)
