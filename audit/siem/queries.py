"""What a query for a SIEM is, in words that KQL and Sigma share. Pure.

A query looks at rows of one table of Log Analytics by the table's own columns, and counts those
that match in a window of time. It has no memory of earlier days and knows no cluster: what a
detection sees beyond that, its query says that it leaves out.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Table(Enum):
    """Tables of Log Analytics (learn.microsoft.com/azure/azure-monitor/reference/tables)."""

    STORAGE = "StorageBlobLogs"
    ACTIVITY = "AzureActivity"
    ENTRA = "AuditLogs"


class Match(Enum):
    """How a column is compared: without case, as Sigma does, and KQL's `=~` and `contains`."""

    IS = "is"
    STARTS = "starts"
    CONTAINS = "contains"


@dataclass(frozen=True)
class Condition:
    """One column is one of some values."""

    column: str
    values: tuple[str, ...]
    match: Match = Match.IS
    negated: bool = False
    """Whether it must be none of them."""


@dataclass(frozen=True)
class Count:
    """How many rows of a group in a window make an alert."""

    by: tuple[str, ...]
    """Columns; an address counts without its port."""
    hours: int
    least: int
    distinct: str = ""
    """The column whose different values are counted, instead of rows."""
    total: str = ""
    """The column whose sum is taken, instead of rows."""


@dataclass(frozen=True)
class SiemQuery:
    """One query: all conditions hold of a row; without a count each row is an alert."""

    table: Table
    conditions: tuple[Condition, ...]
    count: Count | None = None
    says: str = ""
    """What it is about, where a detection has several: words that end its title."""


@dataclass(frozen=True)
class SiemRule:
    """A detection for a SIEM."""

    detection: str
    queries: tuple[SiemQuery, ...] = ()
    leaves_out: str = ""
    """What the detection sees besides, a sentence; where there is no query, why there is none."""


PLACES: Final = "weights"
"""Stands for where the weights lie: `/account/container/`, which whoever installs it fills in."""
ACCOUNTS: Final = "accounts"
"""Stands for the storage accounts that hold weights."""
EXPECTED: Final = "expected"
"""Stands for the object ids of those who are expected there."""
PARAMETERS: Final = frozenset({PLACES, ACCOUNTS, EXPECTED})
"""A condition whose only value is one of these is filled in by whoever installs the query."""
