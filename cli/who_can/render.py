"""Prints who may use a profile."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.who_can.run import UsersOfProfile
from core.base.safe_text import safe_line
from identity.rights.holders import Holder


def print_users(answer: UsersOfProfile, console: Console) -> None:
    """Print a table, then what is to be known of it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("WHO", "IN", "HOW", "WHY"):
        table.add_column(column, overflow="fold")
    for user in answer.users:
        who = Holder(user.kind, user.name, user.namespace)
        how = "direct" if user.direct else "through others"
        cells = (str(who), user.where or "all namespaces", how, user.why)
        table.add_row(*(Text(safe_line(cell)) for cell in cells))
    console.print(table)
    console.print()
    for warning in answer.warnings:
        console.print(Text(f"Warning: {safe_line(warning)}", style="yellow"))
    console.print(Text(f"Not seen here: {'; '.join(answer.not_seen)}.", style="dim"))
