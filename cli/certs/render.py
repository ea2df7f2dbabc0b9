"""`sallyport certs status` for people."""

import datetime as dt
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.certs.run import CertificatesStatus
from core.base.safe_text import safe_line

_SHOWN = 12


def print_status(status: CertificatesStatus, console: Console) -> None:
    """Print it: what is wrong last, where the eye is."""
    wrong = len(status.troubles)
    word, style = ("well", "green") if not wrong else (f"{wrong} WRONG", "red")
    leads = safe_line(status.leader) or "nobody"
    head = f"; made by {status.source}; control: {leads} leads"
    console.print(Text.assemble("certificates: ", (word, style), head))
    for table in (_authorities(status), _leaves(status), _keys(status), _bundles(status)):
        if table.row_count:
            console.print()
            console.print(table)
    for line in _next(status):
        console.print()
        console.print(Text(line))
    for each in status.troubles:
        console.print()
        console.print(Text(safe_line(f"{each.where} {each.what}."), style="red"))
        does = "You" if each.person else "Sallyport"
        console.print(Text(safe_line(f"  {does}: {each.remedy}.")))


def _grid(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _row(table: Table, *cells: str) -> None:
    table.add_row(*(Text(safe_line(cell)) for cell in cells))


def _authorities(status: CertificatesStatus) -> Table:
    table = _grid("CA", "STAGE", "SINCE", "UNTIL", "CHANGES", "NOT TRUSTED IN")
    for one in status.authorities:
        absent = ", ".join(one.absent_from) or "–"
        _row(table, one.name, one.stage, *map(_time, (one.since, one.until, one.changes)), absent)
    return table


def _leaves(status: CertificatesStatus) -> Table:
    table = _grid("SECRET", "SIGNED BY", "SINCE", "UNTIL", "REPLACED")
    for one in status.leaves:
        _row(table, one.secret, one.issuer, *map(_time, (one.since, one.until, one.changes)))
    return table


def _keys(status: CertificatesStatus) -> Table:
    table = _grid("LEDGER KEY", "STAGE", "SINCE", "UNTIL")
    for one in status.keys:
        until = "–" if one.until is None else _time(one.until)
        _row(table, one.id[:_SHOWN], one.stage, _time(one.since), until)
    return table


def _bundles(status: CertificatesStatus) -> Table:
    table = _grid("WEBHOOK", "TRUSTS")
    for one in status.bundles:
        _row(table, one.webhook, ", ".join(one.authorities) or "nobody")
    return table


def _next(status: CertificatesStatus) -> Iterator[str]:
    coming = [
        *((one.changes, f"the pair in {one.secret} is replaced") for one in status.leaves),
        *(
            (
                one.changes,
                f"{one.name} leaves the bundles"
                if one.stage == "former"
                else f"a CA follows {one.name}",
            )
            for one in status.authorities
        ),
    ]
    if coming:
        when, what = min(coming)
        yield f"next: {_time(when)} UTC, {what}"


def _time(when: dt.datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M}"
