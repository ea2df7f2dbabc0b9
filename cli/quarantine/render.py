"""Prints records in quarantine for people."""

from rich.console import Console
from rich.text import Text

from audit.reports.attention import plural
from cli.quarantine.run import QuarantineList, ShownRecord
from cli.shared.list_table import print_rows
from core.base.safe_text import safe_line, safe_text


def print_list(listed: QuarantineList, console: Console) -> None:
    """Print how many there are for each reason, and a list, the newest first."""
    for reason, count in listed.reasons.items():
        console.print(Text(safe_line(f"{plural(count, 'record')}: {reason}")))
    rows = [
        {
            "TIME": f"{one.time[:19]}Z",
            "SOURCE": one.source,
            "PLACE": one.place,
            "SIZE": f"{one.size:,} B",
            "REASON": one.reason,
            "ID": one.id,
        }
        for one in listed.records
    ]
    print_rows(console, rows, whole=frozenset({"TIME", "SIZE", "ID"}))
    if listed.more:
        console.print(f"and {plural(listed.more, 'older one')}: --limit, or another --until")


def print_record(shown: ShownRecord, console: Console) -> None:
    """Print one record: why, from where, and how it begins where that is asked for."""
    one = shown.record
    facts = {
        "id": one.id,
        "came": one.time,
        "source": one.source,
        "place": one.place,
        "reason": one.reason,
        "size": f"{one.size:,} bytes",
        "digest": one.digest,
    }
    for name, text in facts.items():
        console.print(Text.assemble(Text(f"{name:<8}", style="dim"), safe_line(text)))
    if shown.begins is None:
        console.print("--record prints how it begins: that may be anything, secrets too")
    else:
        console.print(Text(safe_text(shown.begins)))
