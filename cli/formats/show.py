"""Prints a report in the format that was asked for."""

import sys
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from cli.formats.difference import as_difference, print_difference
from cli.formats.github import github_commands
from cli.formats.junit import junit_xml
from cli.formats.report import Report, locate
from cli.formats.sarif import sarif_log
from cli.output import ReviewFormat, Unjudged, print_json, print_reviewed, skipped


def show(report: Report, form: ReviewFormat, console: Console) -> None:
    """Print to standard output; the console is for tables.

    Where that has no words for what was not judged since nobody knows who submits it, standard
    error has them: the verdict of such an object reads `allow`.
    """
    has_words = form is ReviewFormat.JUNIT or (form is ReviewFormat.TABLE and report.old is None)
    if not has_words:
        unknown = [each for each in report.results if each.unjudged is Unjudged.SUBMITTER]
        sys.stderr.writelines(f"sallyport: {line}\n" for line in skipped(unknown))
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
