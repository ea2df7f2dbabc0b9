"""Prints cases for people."""

from rich.console import Console
from rich.text import Text

from audit.reports.attention import plural
from audit.reports.display_text import size_text
from audit.reports.model import CaseRow
from cli.cases.run import CaseList
from cli.output import SEVERITY_COLOURS
from cli.shared.list_table import print_rows
from core.base.safe_text import safe_line


def print_list(listed: CaseList, console: Console) -> None:
    """Print a list, the gravest first; there is at least one."""
    rows = [
        {
            "SEVERITY": one.severity.value,
            "FIRST": f"{one.first[:16]}Z",
            "LAST": f"{one.last[:16]}Z",
            "FINDINGS": str(one.findings),
            "TITLE": one.title,
            "ID": one.id,
        }
        for one in listed.cases
    ]
    whole = frozenset({"SEVERITY", "FIRST", "LAST", "FINDINGS", "ID"})
    print_rows(console, rows, whole=whole)
    if listed.more:
        console.print(f"and {plural(listed.more, 'less grave one')}: --limit")


def print_case(case: CaseRow, console: Console) -> None:
    """Print one case whole."""
    console.print(
        Text.assemble(
            Text(f"{case.severity}  ", style=SEVERITY_COLOURS[case.severity]),
            Text(safe_line(case.title), style="bold"),
        )
    )
    console.print(Text(safe_line(case.summary)))
    size = f", {size_text(case.bytes)}" if case.bytes else ""
    told = "" if case.counted else " (when found)"
    facts = {
        "id": case.id,
        "comes to": f"{plural(case.events, 'event')}{size}, {case.first} to {case.last}{told}",
        "findings": f"{case.findings}, {case.open_findings} of them open",
        "stores": ", ".join(case.stores),
        "who": ", ".join(case.who),
        "humans": ", ".join(case.requesters),
        "from": ", ".join(case.addresses),
        "techniques": " ".join(case.techniques),
        "one story": "; ".join(case.joined_by),
    }
    for name, text in facts.items():
        if text:
            console.print(Text.assemble(Text(f"{name:<11}", style="dim"), safe_line(text)))
    for moment in case.timeline:
        console.print(
            Text.assemble(
                f"  {moment.time[:19]}Z  ",
                Text(f"{moment.severity:<9}", style=SEVERITY_COLOURS[moment.severity]),
                f"{safe_line(moment.title)}  ",
                Text(moment.finding, style="dim"),
            )
        )
    if case.more:
        console.print(f"  and {plural(case.more, 'more finding')}")
