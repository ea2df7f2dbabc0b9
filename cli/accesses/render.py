"""Prints accesses for people."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from audit.reports.display_text import size_text
from cli.accesses.run import AccessList
from core.base.safe_text import safe_line
from core.weights.documents.access import Access


def print_list(listed: AccessList, console: Console) -> None:
    """Print a table, the oldest first."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("TIME", "WHO", "REQUEST", "STATUS", "PLACE", "BYTES", "FROM", "GRANT", "ID"):
        table.add_column(column, overflow="fold", no_wrap=column in {"TIME", "ID", "STATUS"})
    for one in listed.accesses:
        table.add_row(*(Text(safe_line(each)) for each in _row(one)))
    console.print(table)
    if listed.next:
        console.print(f"there are more: --after {listed.next}")


def _row(one: Access) -> tuple[str, ...]:
    place = "/".join(word for word in (one.account, one.container, one.blob) if word)
    return (
        f"{one.time[:19]}Z",
        one.who or "nobody",
        one.operation,
        str(one.status or "?"),
        place,
        size_text(one.bytes_out or one.bytes_in),
        f"{one.address or 'no address'} ({one.caller.value})",
        one.grant.partition("@")[0] or f"none: {one.ungranted}" * bool(one.ungranted) or "–",
        one.id,
    )
