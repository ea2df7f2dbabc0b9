"""SARIF 2.1.0, as code scanning reads it (OASIS, Static Analysis Results Interchange Format).

What GitHub makes of each property: "SARIF support for code scanning" in its documentation.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from admission.objects import namespace_labels
from admission.profiles.check import MANY_RULE, MORE_RULE, NAMED_RULE, NONE_RULE
from cli.review.report import Located, Report, identity
from cli.review.yaml_positions import Position
from cli.shared.results import Result, name_result
from cli.shared.sarif import SCHEMA, Json, plain, weight
from core.base.safe_text import safe_text
from core.decision.decision import Action, Finding, Verdict
from policies.bundle.format import Rule

ROOT: Final = "%SRCROOT%"
"""The name that code scanning knows for the root of the sources: here the working directory."""

FINGERPRINT: Final = "sallyportFinding/v1"


_CHECKS: Final = MappingProxyType(
    {
        NAMED_RULE: "The profile that is named cannot be had",
        NONE_RULE: "No profile may be used",
        MORE_RULE: "There are more findings than are shown",
        MANY_RULE: "More privileges are needed than are judged",
        namespace_labels.RULE: "Guarded labels of a namespace are changed",
    }
)
"""What is judged in Python, and so has no METADATA."""


def sarif_log(report: Report, located: Sequence[Located], version: str) -> Json:
    """Return the log: one run, a result for each finding."""
    found = [
        (each, finding, place)
        for each in located
        for finding, place in zip(each.result.element.findings, each.places, strict=True)
    ]
    rules = {finding.rule: None for _, finding, _ in found}
    indices = {rule: index for index, rule in enumerate(rules)}
    prints = Counter[str]()
    results = []
    for each, finding, place in found:
        mark = _fingerprint(each.result, finding)
        prints[mark] += 1
        result = _result(each, finding, place) | {"ruleIndex": indices[finding.rule]}
        result["partialFingerprints"] = {FINGERPRINT: f"{mark}:{prints[mark]}"}
        results.append(result if report.old is None else result | {"baselineState": "new"})
    descriptors = [_descriptor(rule, report.rules.get(rule)) for rule in rules]
    driver = {"name": "Sallyport", "version": version, "rules": descriptors}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report, driver, results)]}


def _run(report: Report, driver: Json, results: list[Json]) -> Json:
    judged = all(result.verdict is not Verdict.ERROR for result in report.results)
    run: Json = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The working directory."}}},
        "invocations": [{"executionSuccessful": judged}],
        "results": results,
    }
    if report.old is not None:
        gone = [safe_text(name_result(each)) for each in report.gone]
        run["properties"] = {"comparedWith": safe_text(report.old), "gone": gone}
    return run


def _descriptor(rule: str, metadata: Rule | None) -> Json:
    """Describe a rule for people; of those in Python there is the title alone."""
    if metadata is None:
        title = _CHECKS.get(rule, "It could not be judged")
        return {"id": rule, "shortDescription": {"text": title}} | weight("high")
    sources = [source for source in metadata.sources if source.startswith("https://")]
    links = "\n".join(f"- <{source}>" for source in sources)
    described: Json = {
        "id": rule,
        "shortDescription": {"text": metadata.title},
        "fullDescription": {"text": metadata.description.strip()},
        "help": {
            "text": f"{metadata.description.strip()}\n\nFix: {metadata.remedy.strip()}",
            "markdown": f"{metadata.description.strip()}\n\n**Fix**: {metadata.remedy.strip()}"
            f"\n\n{links}".rstrip(),
        },
    }
    described |= {"helpUri": sources[0]} if sources else {}
    return described | weight(metadata.severity)


def _result(each: Located, finding: Finding, place: Position | None) -> Json:
    element = each.result.element
    what = name_result(element, each.result.place)
    where = f"{finding.path}: " if finding.path else ""
    text = f"{what}: {where}{finding.message}. Fix: {finding.remedy}"
    full = f"{element.api_version} {what} {finding.path}".strip()
    logical = {"fullyQualifiedName": safe_text(full), "kind": "object"}
    location: Json = {"logicalLocations": [logical]}
    if each.path is not None:
        location["physicalLocation"] = _physical(each.path, place)
    result: Json = {
        "ruleId": finding.rule,
        "level": "error" if finding.action is Action.DENY else "warning",
        "message": {"text": plain(safe_text(text))},
        "locations": [location],
    }
    if finding.privilege is not None:
        bag = {"privilege": finding.privilege, "coveredBy": finding.covered_by}
        result["properties"] = bag
    return result


def _physical(path: str, place: Position | None) -> Json:
    """Return the file as a URI of its very bytes, and the region where it is known."""
    uri = quote(os.fsencode(path))
    artifact = {"uri": f"file://{uri}"} if path.startswith("/") else {"uri": uri, "uriBaseId": ROOT}
    physical: Json = {"artifactLocation": artifact}
    if place is not None:
        physical["region"] = {"startLine": place.line, "startColumn": place.column}
    return physical


def _fingerprint(result: Result, finding: Finding) -> str:
    """Digest what stays when lines move, and when containers or list items change places."""
    element = result.element
    what = (element.api_version, element.kind, element.namespace, element.name)
    text = "\0".join((*what, *identity(finding)))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]
