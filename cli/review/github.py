"""Annotations of a pull request, as workflow commands that GitHub's runner reads."""

from collections.abc import Iterator, Sequence

from cli.output import as_unicode
from cli.review.report import Located, Report
from cli.review.yaml_positions import Position
from cli.shared.results import name_result
from core.base.safe_text import safe_text
from core.decision.decision import Action, Finding


def github_commands(report: Report, located: Sequence[Located]) -> str:
    """Return a line for each finding, and a notice for each object that is gone.

    Escaped as actions/toolkit does (packages/core/src/command.ts).
    """
    lines = [line for each in located for line in _of_result(each)]
    for each in report.gone:
        title = f"{name_result(each)} is gone"
        lines.append(_command("notice", {"title": title}, f"{title}: it was in {each.file}"))
    return "".join(f"{line}\n" for line in lines)


def _of_result(each: Located) -> Iterator[str]:
    for finding, place in zip(each.result.element.findings, each.places, strict=True):
        yield _of_finding(each, finding, place)


def _of_finding(each: Located, finding: Finding, place: Position | None) -> str:
    what = name_result(each.result.element, each.result.place)
    properties: dict[str, str] = {}
    if each.path is not None:
        properties["file"] = as_unicode(each.path)
    if place is not None:
        properties |= {"line": str(place.line), "col": str(place.column)}
    properties["title"] = f"{what}: {finding.rule}"
    where = f"{finding.path}: " if finding.path else ""
    name = "error" if finding.action is Action.DENY else "warning"
    return _command(name, properties, f"{where}{finding.message}\nFix: {finding.remedy}")


def _command(name: str, properties: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return safe_text(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
