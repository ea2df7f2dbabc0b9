"""JUnit XML, as CI servers read it: a suite for each file, a test case for each object.

There is no standard; this is what Jenkins' plugin and GitLab's reports have in common.
"""

from collections.abc import Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cli.output import as_unicode, display_file
from cli.review.report import Report
from cli.shared.results import Result, name_result
from core.base.safe_text import safe_line, safe_text
from core.decision.decision import Action, Finding, Verdict


def junit_xml(report: Report) -> bytes:
    """Return the XML: what was refused has failed, what could not be judged is an error."""
    root = _suite_element("testsuites", "sallyport review", report.results)
    for file, results in groupby(report.results, key=lambda result: result.file):
        _add_suite(root, display_file(as_unicode(file)), list(results))
    if report.gone:
        gone = _suite_element("testsuite", "gone", [])
        lines = [f"{name_result(each)} was in {each.file}" for each in report.gone]
        SubElement(gone, "system-out").text = safe_text("\n".join(lines))
        root.append(gone)
    indent(root)
    xml: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return xml + b"\n"


def _add_suite(root: Element, file: str, results: Sequence[Result]) -> None:
    suite = _suite_element("testsuite", file, results)
    root.append(suite)
    for result in results:
        name = safe_line(name_result(result.element, result.place))
        attributes = {"name": name, "classname": safe_line(file), "file": safe_line(file)}
        _say(SubElement(suite, "testcase", attributes), result)


def _suite_element(tag: str, name: str, results: Sequence[Result]) -> Element:
    verdicts = [result.verdict for result in results]
    counts = {
        "tests": len(results),
        "failures": verdicts.count(Verdict.DENY),
        "errors": verdicts.count(Verdict.ERROR),
    }
    if tag == "testsuite":
        counts["skipped"] = sum(bool(result.unjudged) for result in results)
    counted = {key: str(count) for key, count in counts.items()}
    return Element(tag, {"name": safe_line(name)} | counted)


def _say(case: Element, result: Result) -> None:
    """Put into a test case what the review says of its object."""
    findings = result.element.findings
    if result.unjudged:
        SubElement(case, "skipped", {"message": result.unjudged.value})
    elif result.verdict in {Verdict.DENY, Verdict.ERROR}:
        tag = "failure" if result.verdict is Verdict.DENY else "error"
        bad = [finding for finding in findings if finding.action is Action.DENY]
        first = {"message": safe_line(_line(bad[0])), "type": bad[0].rule}
        SubElement(case, tag, first).text = safe_text("\n".join(map(_whole, bad)))
    if mild := [finding for finding in findings if finding.action is Action.WARN]:
        SubElement(case, "system-out").text = safe_text("\n".join(map(_whole, mild)))


def _line(finding: Finding) -> str:
    return f"{safe_line(finding.path)}: {finding.message}" if finding.path else finding.message


def _whole(finding: Finding) -> str:
    return f"{_line(finding)} ({finding.rule})\n  Fix: {finding.remedy}"
