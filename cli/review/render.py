"""Prints a report in the format that was asked for."""

import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Final

from rich.console import Console

from cli.output import ReviewFormat, print_json
from cli.review.difference import as_difference, print_difference
from cli.review.github import github_commands
from cli.review.junit import junit_xml
from cli.review.report import Report, locate
from cli.review.sarif import sarif_log
from cli.review.table import print_reviewed, skipped, told
from cli.shared.results import Unjudged
from cli.text import safe_line

_NOT_KNOWN: Final = frozenset(Unjudged) - {Unjudged.KIND, Unjudged.MARKS}


def show(report: Report, form: ReviewFormat, console: Console) -> None:
    """Print to standard output; the console is for tables.

    Where that has no words for what was not judged since nobody knows who submits it, or what it
    is, standard error has them: the verdict of such an object reads `allow`. So it is with what
    could not be known of an object.
    """
    has_words = form is ReviewFormat.JUNIT or (form is ReviewFormat.TABLE and report.old is None)
    if not has_words:
        unknown = [each for each in report.results if each.unjudged in _NOT_KNOWN]
        _warn(skipped(unknown))
    if form is not ReviewFormat.JSON and not (form is ReviewFormat.TABLE and report.old is None):
        _warn(told(report.results))
    if form is ReviewFormat.TABLE:
        if report.old is None:
            print_reviewed(report.results, console)
        else:
            print_difference(report, console)
    elif form is ReviewFormat.JSON:
        elements = [result.element for result in report.results]
        print_json(elements if report.old is None else as_difference(report))
    elif form is ReviewFormat.JUNIT:
        sys.stdout.buffer.write(junit_xml(report))
    else:
        located = locate(report.results, Path.cwd())
        if form is ReviewFormat.SARIF:
            print_json(sarif_log(report, located, version("sallyport")))
        else:
            sys.stdout.buffer.write(github_commands(report, located).encode())


def _warn(lines: Iterable[str]) -> None:
    sys.stderr.writelines(f"sallyport: {safe_line(line)}\n" for line in lines)
