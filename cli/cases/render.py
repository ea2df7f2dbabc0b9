"""Prints cases for people."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from audit.reports.attention import plural
from audit.reports.display_text import size_text
from audit.reports.model import CaseRow
from cli.cases.run import CaseList
from cli.output import SEVERITY_COLOURS
from core.base.safe_text import safe_line


def print_list(listed: CaseList, console: Console) -> None:
    """Print a table, the gravest first."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("SEVERITY", "FIRST", "LAST", "FINDINGS", "TITLE", "ID"):
        table.add_column(column, overflow="fold", no_wrap=column != "TITLE")
    for one in listed.cases:
        severity = one.severity.value
        words = (f"{one.first[:16]}Z", f"{one.last[:16]}Z", str(one.findings), one.title, one.id)
        table.add_row(
            Text(severity, style=SEVERITY_COLOURS[severity]),
            *(Text(safe_line(each)) for each in words),
        )
    console.print(table)
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
