"""`sallyport risk table`: what each standing comes to for each operation."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from cli.risk.words import effect_word, standing_word
from core.base.safe_text import safe_line
from core.risk.model import Effect, OperationClass, Role, Standing
from identity.risk.table import SHIPPED, RiskTable
from identity.risk.table_rows import RiskRow

_LONG: Final = 16
"""Characters of a standing that stand in one line of a narrow terminal."""

_WIDEST: Final = 100
"""Columns that the grid may take: a word that is cut off would say nothing."""

FORMAT: Final = 1
"""Version of what programs read."""


class Cell(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What happens for one standing and one operation."""

    standing: Standing
    operation: OperationClass
    effect: Effect
    row: str


class Matrix(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    source: str
    """Where the site's rows are from; `shipped` without any."""
    digest: str
    role: Role
    namespace_class: str
    groups: list[str]
    cells: list[Cell]
    site_rows: list[str]
    """Names of the site's rows, in their order."""


@dataclass(frozen=True)
class TableSelection:
    """For whom, and of what sort of namespace, the matrix is."""

    role: Role = Role.REQUESTER
    namespace_class: str = ""
    groups: frozenset[str] = frozenset()


def make_matrix(table: RiskTable, source: str, wanted: TableSelection) -> Matrix:
    """Ask the table for each standing and operation."""
    own = _own_rows(table)
    return Matrix(
        source=source if own else "shipped",
        digest=table.digest,
        role=wanted.role,
        namespace_class=wanted.namespace_class,
        groups=sorted(wanted.groups),
        cells=list(_cells(table, wanted)),
        site_rows=[row.name for row in own],
    )


def _own_rows(table: RiskTable) -> tuple[RiskRow, ...]:
    shipped = {row.name for row in SHIPPED.rows}
    return tuple(row for row in table.rows if row.name not in shipped)


def _cells(table: RiskTable, wanted: TableSelection) -> Iterator[Cell]:
    for standing in Standing:
        for operation in OperationClass:
            row = table.find(
                standing, operation, wanted.namespace_class, wanted.role, wanted.groups
            )
            yield Cell(standing=standing, operation=operation, effect=row.effect, row=row.name)


def print_matrix(matrix: Matrix, console: Console) -> None:
    """Print it for people; a `*` marks what a row of the site's own decides."""
    where = f"namespaces of class {matrix.namespace_class or '(none)'}"
    if matrix.groups:
        where += f", groups {', '.join(matrix.groups)}"
    console.print(Text(safe_line(f"{matrix.source}, for the {matrix.role.value}, {where}")))
    console.print()
    narrow = console.is_terminal and console.width < _WIDEST
    console.print(_grid(matrix, narrow=narrow), width=max(console.width, _WIDEST), crop=False)
    if matrix.site_rows:
        rows = ", ".join(matrix.site_rows)
        console.print(Text(f"\n* a row of the site's: {safe_line(rows)}"))
    console.print(Text("\nWhoever is at risk approves nothing, whatever a row says."))
    label = "sallyport.dev/when-risk-stale"
    console.print(
        Text(f"stale, create-workload and exec: the namespace's {label} goes before its row.")
    )
    console.print(Text(matrix.digest))


def _grid(matrix: Matrix, *, narrow: bool) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    grid.add_column("STANDING", vertical="bottom")
    for operation in OperationClass:
        grid.add_column(operation.value.replace("-", "-\n").upper(), vertical="bottom")
    for standing in Standing:
        cells = [cell for cell in matrix.cells if cell.standing is standing]
        word = standing_word(standing)
        if narrow and len(word) > _LONG:
            word.plain = word.plain.replace("-", "-\n", 1)
        grid.add_row(word, *(_shown(cell, matrix) for cell in cells))
    return grid


def _shown(cell: Cell, matrix: Matrix) -> Text:
    word = effect_word(cell.effect)
    return word.append("*") if cell.row in matrix.site_rows else word
