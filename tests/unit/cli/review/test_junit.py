"""JUnit XML: one test case an object, and XML whatever the names are."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from cli.review.junit import junit_xml
from cli.review.report import Report
from cli.shared.results import Result, Reviewed, Unjudged
from core.decision.decision import Action, Finding, Verdict
from tests.unit.cli.review.reports import HOSTILE, files, finding, report, result, texts

ADMITTED = result(verdict=Verdict.ALLOW)
WARNED = result(finding(action=Action.WARN), verdict=Verdict.WARN)
REFUSED = result(finding(), finding("spec.mild", Action.WARN), finding("spec.hostPID"))
BROKEN = result(finding("", rule="error/object", privilege=None), verdict=Verdict.ERROR)
SKIPPED = Result(Reviewed(file="b.yaml", kind="Service", name="s"), Unjudged.KIND, file="b.yaml")


def xml(whole: Report) -> ET.Element:
    """Return the root, as a program reads it."""
    return ET.fromstring(junit_xml(whole))  # noqa: S314 (made here)


def test_one_case_an_object_and_one_suite_a_file() -> None:
    """In the order of the input, counted as CI servers count."""
    root = xml(report(ADMITTED, WARNED, REFUSED, BROKEN, SKIPPED))
    assert root.attrib == {"name": "sallyport review", "tests": "5", "failures": "1", "errors": "1"}
    first, second = root
    assert first.attrib == {
        "name": "a.yaml",
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
    }
    assert [[child.tag for child in case] for case in first] == [
        [],
        ["system-out"],
        ["failure", "system-out"],
        ["error"],
    ]
    assert [child.tag for case in second for child in case] == ["skipped"]
    assert first[0].attrib == {"name": "Pod train/x", "classname": "a.yaml", "file": "a.yaml"}


def test_failure_says_all_that_is_refused() -> None:
    """The first finding in the head, every one with its remedy in the text, warnings aside."""
    failure = xml(report(REFUSED)).find(".//failure")
    assert failure is not None
    assert failure.attrib == {
        "message": "spec.hostNetwork: shares the network of the node",
        "type": "privileges/host/network",
    }
    assert failure.text == (
        "spec.hostNetwork: shares the network of the node (privileges/host/network)\n"
        "  Fix: Remove it.\n"
        "spec.hostPID: shares the network of the node (privileges/host/network)\n"
        "  Fix: Remove it."
    )


def test_gone_objects_are_no_test() -> None:
    """They have a suite of their own, without a case."""
    gone = Reviewed(file="old/a.yaml", kind="Pod", namespace="train", name="g")
    suite = xml(Report([ADMITTED], {}, "old", [gone]))[-1]
    assert (suite.get("name"), suite.get("tests")) == ("gone", "0")
    assert [(child.tag, child.text) for child in suite] == [
        ("system-out", "Pod train/g was in old/a.yaml")
    ]


@pytest.mark.parametrize("tag", ["failure", "error"])
def test_hostile_text_stays_text(tag: str) -> None:
    """It ends no element, and what XML cannot hold is spelt out."""
    verdict = Verdict.DENY if tag == "failure" else Verdict.ERROR
    hostile = result(finding(HOSTILE, message=HOSTILE), name=HOSTILE, file=HOSTILE, verdict=verdict)
    root = xml(report(hostile))
    assert [child.tag for child in root.iter()] == ["testsuites", "testsuite", "testcase", tag]
    said = root.find(f".//{tag}")
    assert said is not None
    assert "]]><b>&\"'\\x00\\x1b[2J\\x85\\u2028\\udce9\\ufffe" in str(said.text)
    assert "\n" not in str(said.get("message"))


@given(texts, texts, texts, files)
def test_any_text_gives_xml(name: str, path: str, message: str, file: str) -> None:
    """Whatever a manifest and its file are called: one suite, one case, one failure."""
    found = Finding("r", Action.DENY, path, message, message)
    root = xml(report(result(found, name=name, file=file)))
    assert [child.tag for child in root.iter()] == [
        "testsuites",
        "testsuite",
        "testcase",
        "failure",
    ]
