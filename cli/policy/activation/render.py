"""Prints `sallyport policy status` for people."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.policy.activation.status import GateStanding, Standing
from core.base.safe_text import safe_line


def print_standing(found: Standing, console: Console) -> None:
    """Print it for people: what is refused last."""
    style = "green" if found.is_settled else "red"
    console.print(Text.assemble("active: ", (safe_line(found.active), style)), end="")
    waits = f"; wanted: {found.wanted}" if found.wanted != found.active else ""
    console.print(Text(safe_line(f"{waits}; before: {found.previous}")))
    for table in (_bundles(found), _gates(found)):
        if table.row_count:
            console.print()
            console.print(table)
    if found.gone:
        console.print()
        said = f"gone, nobody waits for them (nothing heard for 75 s): {', '.join(found.gone)}"
        console.print(Text(safe_line(said)))
    if found.source:
        console.print()
        console.print(Text(safe_line(f"control follows {found.source}{_too_old(found)}")))
    if found.source_problem:
        said = f"control does not take what is there: {found.source_problem}"
        console.print(Text(safe_line(said), style="red"))
    for gate in [*found.gates, *([found.control] if found.control else [])]:
        if gate.foreign:
            console.print()
            console.print(Text(safe_line(_foreign(gate)), style="yellow"))
        lines = [f"{gate.name} refuses {name}: {why}" for name, why in gate.refused.items()]
        lines += [f"{gate.name} tries again: {gate.problem}"] if gate.problem else []
        for line in lines:
            console.print()
            console.print(Text(safe_line(line), style="red"))


def _too_old(found: Standing) -> str:
    return f", but to nothing that was built before {found.not_before}" if found.not_before else ""


def _foreign(gate: GateStanding) -> str:
    return (
        f"{gate.name}: {gate.revision} was built by another release: {gate.foreign} files of its "
        "built-in policies are in force in place of this release's: build it again"
    )


def _bundles(found: Standing) -> Table:
    table = _grid("BUNDLE", "BUILT", "PUBLISHED", "FROM")
    for one in found.bundles:
        table.add_row(
            *map(_cell, (one.revision, one.built or "–", one.published or "–", one.source or "–"))
        )
    return table


def _gates(found: Standing) -> Table:
    table = _grid("GATE", "IN FORCE", "REVISION", "READY", "SEEN")
    for one in found.gates:
        ready = ", ".join(each for each in one.loaded if each != one.in_force) or "–"
        table.add_row(*map(_cell, (one.name, one.in_force, one.revision, ready, one.seen)))
    return table


def _grid(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _cell(text: str) -> Text:
    return Text(safe_line(text))
