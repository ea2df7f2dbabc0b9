"""Every column of every table of a ledger, written over past the ledger in each way there is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from audit.ledger.log.problems import Problem
from audit.ledger.store.tables import METADATA, BytesColumn, UuidColumn

NOT_COVERED: Final[dict[str, str]] = {
    "places": "from where sources go on: no record; the auditor reads again, or leaves a gap",
    "checkpoints": "what was computed of the log: no record; the auditor computes it again",
    "quarantine.day": "when the row is forgotten; forgotten too early, its document is missing, "
    "which is found",
    "quarantine.reason": "the auditor's words beside the frame, which is in the log",
    "projections.cluster": "nothing in the log says of which clusters a projection was kept",
    "projections.last_day": "when the row is forgotten; no decision changes with it",
    "lives.day": "a later day keeps the row longer; an earlier one is found",
    "changes.day": "a later day keeps the row longer; an earlier one is found",
}
"""Tables and columns whose edits need not be found, and why. What is cut is found all the same."""


class UnchangedError(Exception):
    """The row holds already what would be written."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One value of one row that is written over."""

    table: sa.Table
    column: str
    way: str
    value: Any
    """What is written: a value or an expression of SQL."""

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.table.name}.{self.column} {self.way}"

    @property
    def is_covered(self) -> bool:
        """Whether it must be found; what is of another type always is, but for rows of no log."""
        names = {self.table.name, f"{self.table.name}.{self.column}"}
        return not names & NOT_COVERED.keys() or self.way.startswith("as ")

    def apply(self, connection: sa.Connection) -> int | None:
        """Write it into the last row of its table; give the position that the row had."""
        row = connection.execute(sa.select(self.table).order_by(*_order(self.table))).first()
        assert row is not None
        old = row._mapping  # noqa: SLF001  SQLAlchemy's own way.
        known = [column for column in self.table.columns if old[column.name] is not None]
        same = sa.and_(*(column == old[column.name] for column in known))
        value = self.value_of(old[self.column])
        if not isinstance(value, sa.TextClause) and value == old[self.column]:
            raise UnchangedError
        done = connection.execute(sa.update(self.table).where(same).values({self.column: value}))
        assert done.rowcount == 1
        position = old.get("position", old.get("size"))
        return position if self.table.name not in {"log", "checkpoints"} else None

    def value_of(self, old: Any) -> Any:
        """Return what is written in the place of a value."""
        return self.value(old) if callable(self.value) else self.value

    def is_located(self, problem: Problem, position: int | None) -> bool:
        """Return whether a problem names the row, its table or its place in the log."""
        same_place = position is not None and problem.position == position
        return same_place or problem.table == self.table.name or self._is_told(problem)

    def _is_told(self, problem: Problem) -> bool:
        """Return whether it is told by the record's id or the log, where no position is."""
        if self.table.name == "log":
            return bool(problem.table or problem.position is not None)
        return self.table.name == "rules" and bool(problem.id)


def edits(dialect: str) -> Iterator[Edit]:
    """Yield each edit that a database of this kind takes."""
    for table in METADATA.sorted_tables:
        for column in table.columns:
            ways = _ways(column) | (_other_types(column) if dialect == "sqlite" else {})
            for way, value in ways.items():
                yield Edit(table, column.name, way, value)


def _ways(column: sa.Column[Any]) -> dict[str, Any]:
    if isinstance(column.type, UuidColumn):
        return {"another": _flipped}
    if isinstance(column.type, BytesColumn):
        return {"another": _flipped, "a byte short": lambda old: old[:-1], "emptied": b""}
    if isinstance(column.type, sa.Boolean):
        return {"another": lambda old: not old}
    if isinstance(column.type, sa.Text):
        long = {"of 300 letters": "x" * 300} if column.table.name == "leaves" else {}
        return {"another": lambda old: f"{old or ''}x", "emptied": ""} | long
    return {
        "another": lambda old: (old or 0) + 1,
        "one less": lambda old: (old or 0) - 1,
        "huge": 2**62 if isinstance(column.type, sa.BigInteger) else 2**31 - 1,
    }


def _other_types(column: sa.Column[Any]) -> dict[str, Any]:
    """Return what SQLite stores in a column of any type, but for its keys of rows."""
    name = f'"{column.name}"'
    if isinstance(column.type, BytesColumn | UuidColumn):
        return {
            "as a text": sa.text(f"CAST({name} AS TEXT)"),
            "as a number": sa.text("1000000000000"),
        }
    if isinstance(column.type, sa.Text):
        return {
            "as bytes": sa.text(f"CAST({name} AS BLOB)"),
            "no UTF-8": sa.text("CAST(x'ff' AS TEXT)"),
        }
    if (column.table.name, column.name) == ("leaves", "position"):
        return {}
    return {"as a text": sa.text("'abc'"), "as bytes": sa.text("x'ff'")}


def _flipped(old: bytes) -> bytes:
    return old[:-1] + bytes([old[-1] ^ 1]) if old else b"\x01"


def _order(table: sa.Table) -> list[sa.ColumnElement[Any]]:
    """Return an order in which the row that is edited comes first."""
    if table.name == "decisions":
        return [table.c.time_ms.desc()]
    if table.name in {"leaves", "heads"}:
        return [sa.func.abs(table.c[table.columns.keys()[0]] - 200)]
    return [column.desc() for column in table.columns[:2]]
