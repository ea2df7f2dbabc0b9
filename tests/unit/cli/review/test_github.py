"""Annotations: workflow commands, of which a manifest can make no second one."""

import re

from hypothesis import given

from cli.output import as_unicode
from cli.review.github import github_commands
from cli.review.report import Located, Report
from cli.review.yaml_positions import Position
from cli.shared.results import Reviewed
from core.base.safe_text import safe_text
from core.decision.decision import Action, Finding, Verdict
from tests.unit.cli.review.reports import HOSTILE, files, finding, located, report, result, texts


def commands(*each: Located) -> list[str]:
    """Return the lines, as the runner splits them."""
    text = github_commands(report(*(one.result for one in each)), each)
    assert text.endswith("\n")
    return re.split(r"\r\n|\r|\n", text[:-1])


def parse(line: str) -> tuple[str, dict[str, str], str]:
    """Read a command as the runner does (actions/runner, ActionCommand.TryParseV2)."""
    head, message = line.removeprefix("::").split("::", 1)
    name, _, listed = head.partition(" ")
    pairs = (item.partition("=") for item in listed.split(","))
    return name, {key: _unescape(value) for key, _, value in pairs}, _unescape(message)


def _unescape(text: str) -> str:
    for char, escaped in ((",", "%2C"), (":", "%3A"), ("\n", "%0A"), ("\r", "%0D"), ("%", "%25")):
        text = text.replace(escaped, char)
    return text


def test_whole_command() -> None:
    """File, line and column, so that it stands beside the line of the pull request."""
    (line,) = commands(located(result(finding()), "deploy/a.yaml", Position(7, 3)))
    assert line == (
        "::error file=deploy/a.yaml,line=7,col=3,title=Pod train/x%3A privileges/host/network::"
        "spec.hostNetwork: shares the network of the node%0AFix: Remove it."
    )


def test_warning_is_a_warning() -> None:
    """And what has no file or place has none."""
    (line,) = commands(located(result(finding(action=Action.WARN), verdict=Verdict.WARN), None))
    name, properties, _ = parse(line)
    assert (name, properties) == ("warning", {"title": "Pod train/x: privileges/host/network"})


def test_gone_object_is_a_notice() -> None:
    """It fails nothing."""
    gone = Reviewed(file="old/a.yaml", kind="Pod", namespace="train", name="g")
    text = github_commands(Report([], {}, "old", [gone]), [])
    assert text == (
        "::notice title=Pod train/g is gone::Pod train/g is gone: it was in old/a.yaml\n"
    )


def test_nothing_found_is_nothing_said() -> None:
    """An admitted object has no annotation."""
    assert github_commands(report(result()), [located(result())]) == ""


def test_hostile_text_is_one_command() -> None:
    """Line ends, percent signs and commas of a name stay a name's."""
    hostile = result(finding(HOSTILE, message=HOSTILE), name=HOSTILE)
    (line,) = commands(located(hostile, HOSTILE))
    name, properties, message = parse(line)
    assert (name, list(properties)) == ("error", ["file", "title"])
    assert properties["title"] == safe_text(f"Pod train/{HOSTILE}: privileges/host/network")
    assert message == safe_text(f"{HOSTILE}: {HOSTILE}\nFix: Remove it.")


@given(texts, texts, texts, files)
def test_any_text_comes_back_as_it_was(name: str, path: str, message: str, file: str) -> None:
    """One command for a finding, whose parts the runner reads as they were written."""
    found = Finding("r", Action.DENY, path, message, "f")
    (line,) = commands(located(result(found, name=name), file, Position(1, 2)))
    command, properties, said = parse(line)
    assert command == "error"
    assert properties["file"] == safe_text(as_unicode(file))
    assert (properties["line"], properties["col"]) == ("1", "2")
    assert said == safe_text(f"{path}: {message}\nFix: f" if path else f"{message}\nFix: f")
