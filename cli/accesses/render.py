"""Prints accesses for people."""

from rich.console import Console

from audit.reports.display_text import size_text
from cli.accesses.run import AccessList
from cli.shared.list_table import NOTHING, print_rows
from core.weights.documents.access import Access


def print_list(listed: AccessList, console: Console) -> None:
    """Print a list, the oldest first; there is at least one."""
    rows = [_row(one) for one in listed.accesses]
    print_rows(console, rows, whole=frozenset({"TIME", "STATUS", "ID"}))
    if listed.next:
        console.print(f"there are more: --after {listed.next}")


def _row(one: Access) -> dict[str, str]:
    place = "/".join(word for word in (one.account, one.container, one.blob) if word)
    why_not = f"none: {one.ungranted}" if one.ungranted else NOTHING
    return {
        "TIME": f"{one.time[:19]}Z",
        "WHO": one.who,
        "REQUEST": one.operation,
        "STATUS": str(one.status or "?"),
        "PLACE": place,
        "BYTES": size_text(one.bytes_out or one.bytes_in),
        "FROM": f"{one.address or 'no address'} ({one.caller.value})",
        "GRANT": one.grant.partition("@")[0] or why_not,
        "ID": one.id,
    }
