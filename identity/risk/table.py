"""The table that says what risk does: the site's rows, then the shipped ones; the first counts."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Final

import msgspec

from core.risk.model import OperationClass, Role, Standing
from identity.risk.shipped_rows import ARGUED
from identity.risk.table_reading import read_rows
from identity.risk.table_rows import Row

_Cell = tuple[Standing, OperationClass, Role]

_OTHERWISE: Final = ARGUED[-1][0]


@dataclass(frozen=True)
class Table:
    """All rows, in their order."""

    rows: tuple[Row, ...]
    digest: str
    """`sha256:` and the digest of the rows: the table's revision in a decision."""
    _cells: Mapping[_Cell, tuple[Row, ...]] = field(repr=False, compare=False)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Table":
        """Make a table of rows."""
        every = tuple(rows)
        digest = hashlib.sha256(msgspec.json.encode([row.written for row in every])).hexdigest()
        cells: dict[_Cell, list[Row]] = {}
        for row in every:
            for cell in product(row.standings, row.operations, row.roles):
                cells.setdefault(cell, []).append(row)
        found = {cell: tuple(matching) for cell, matching in cells.items()}
        return cls(every, f"sha256:{digest}", found)

    def find(
        self,
        standing: Standing,
        operation: OperationClass,
        namespace_class: str,
        role: Role,
        groups: frozenset[str] = frozenset(),
    ) -> Row:
        """Give the row that decides; `groups` are object ids in lower case."""
        for row in self._cells.get((standing, operation, role), ()):
            if row.matches_place(namespace_class, groups):
                return row
        return _OTHERWISE


CONFIG_MAP: Final = "sallyport-risk-table"
"""Name of the ConfigMap, in Sallyport's namespace, that holds the site's table …"""

CONFIG_MAP_KEY: Final = "table.yaml"
"""… under this key."""

SHIPPED: Final = Table.of(row for row, _ in ARGUED)
"""The table of a site that has none."""


@lru_cache(maxsize=4)
def parse_table(text: str, what: str) -> Table:
    """Read a site's table and put the shipped rows below it; an empty text is no table.

    `what` names it in errors. The last few are remembered: a gate asks with each snapshot.

    Raises:
        InvalidObjectError: it is broken; the message names the field and the fix.
    """
    if not text:
        return SHIPPED
    return Table.of((*read_rows(text, what), *SHIPPED.rows))
