"""Tallies of what people decided: grants, exceptions and policies, as their changes are read."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from audit.reports.model import MOST_ROWS, MOST_SHOWN, ChangeRow, GrantRow, RoleRow
from audit.reports.periods import Period, unix_ms_of
from audit.reports.tallies.accesses import AccessSum
from audit.reports.tallies.bounded_rows import BoundedRows, DistinctTexts, cut_rows
from core.weights import audit_statements
from core.weights.documents.object_change import ObjectChange
from core.weights.documents.store_access import StoreAccess

GRANT: Final = "AccessGrant"
EXCEPTIONS: Final = frozenset({"PolicyException", "BreakGlass"})
STORE_ACCESS: Final = "StoreAccess"
"""Kind of changes that tell who can open a store (`core.weights.documents.store_access`)."""

UNTOLD: Final = frozenset(
    {"ServiceAccount", GRANT, *EXCEPTIONS, STORE_ACCESS, audit_statements.KIND}
)
"""Kinds that are no change of policy, or stand elsewhere in the report."""

_MOST_WORDS: Final = 300
"""Characters of what an object says."""

_TEXTS: Final = ("reason", "revision", "digest", "account", "store", "for", "owner")


class _Grant:
    def __init__(self, key: tuple[str, str]) -> None:
        self.cluster, self.id = key
        self.spec: Mapping[str, Any] = {}
        self.approved = self.ended = self.deleted = self.first = ""
        self.approvers, self.by = DistinctTexts(MOST_SHOWN), DistinctTexts(MOST_SHOWN)

    def add(self, change: ObjectChange) -> None:
        self.first = min(self.first or change.time, change.time)
        if isinstance(change.spec, dict):
            self.spec = change.spec
        for name in change.by:
            self.by.add(name)
        for name in change.approvers:
            self.approvers.add(name)
        if change.event == "approved" or (change.event == "there" and change.approvers):
            self.approved = self.approved or change.time
        elif change.event == "ended":
            self.ended = change.time
        elif change.event == "deleted":
            self.deleted = change.time

    def concerns(self, period: Period) -> bool:
        begin, end = unix_ms_of(self.approved or self.first), self._end_ms()
        return begin < period.end_ms and (not end or end > period.begin_ms)

    def row(self, period: Period, used: AccessSum | None) -> GrantRow:
        text = _texts(self.spec)
        sums = used.sums() if used is not None else None
        to = [
            *(f"serviceaccount:{name}" for name in _names(self.spec, "serviceAccounts")),
            *_names(self.spec, "people"),
            *(f"group:{name}" for name in _names(self.spec, "groups")),
        ]
        return GrantRow(
            id=self.id,
            cluster=self.cluster,
            store=text("store"),
            rights=_names(self.spec, "rights"),
            to=to[: 2 * MOST_SHOWN],
            reason=text("reason")[:_MOST_WORDS],
            approvers=self.approvers.list(),
            begins=text("notBefore") or self.approved,
            expires=text("expiresAt"),
            state=self._state(period.end_ms),
            given=bool(self.approved) and period.holds(unix_ms_of(self.approved)),
            accesses=sums.accesses if sums else 0,
            bytes=sums.bytes_out if sums else 0,
            by=self.by.list(),
        )

    def _end_ms(self) -> int:
        ends = (self.ended, self.deleted, _texts(self.spec)("expiresAt"))
        return min((unix_ms_of(end) for end in ends if end), default=0)

    def _state(self, at_ms: int) -> str:
        if not self.approved:
            return "not approved"
        if self.deleted and unix_ms_of(self.deleted) < at_ms:
            return "deleted"
        end = self._end_ms()
        return "ended" if end and end <= at_ms else "live"


class ObjectTally:
    """Takes changes of objects in the order of their times; gives the rows of a report.

    Grants of before the period are read too, for they may live in it.
    """

    def __init__(self, period: Period, store: str) -> None:
        self._period = period
        self._store = store
        self._grants: BoundedRows[tuple[str, str], _Grant] = BoundedRows(_Grant)
        self._exceptions, self._more_exceptions = list[ChangeRow](), 0
        self._changes, self._more_changes = list[ChangeRow](), 0
        self._access = BoundedRows[tuple[str, str], list[RoleRow]](lambda _: [], MOST_ROWS)
        """By cluster and store, as it was last read."""

    def add(self, change: ObjectChange, unix_ms: int) -> None:
        """Note a change."""
        if change.kind == GRANT:
            key = (change.cluster, f"{_name(change)}@{change.uid}")
            if (grant := self._grants.get(key)) is not None:
                grant.add(change)
        self._add_access(change)
        if not self._period.holds(unix_ms):
            return
        if change.kind in EXCEPTIONS:
            self._more_exceptions += not _keep(self._exceptions, _change(change))
        elif change.event != "there" and change.kind not in UNTOLD:
            self._more_changes += not _keep(self._changes, _change(change))

    def _add_access(self, change: ObjectChange) -> None:
        if change.kind != STORE_ACCESS or self._store not in {"", change.name}:
            return
        if (rows := self._access.get((change.cluster, change.name))) is not None:
            rows[:] = _roles(change)

    def approvers(self) -> dict[str, list[str]]:
        """Return who approved each grant, by its id."""
        return {grant: row.approvers.list() for (_, grant), row in self._grants.items()}

    def grants(self, used: BoundedRows[str, AccessSum]) -> tuple[list[GrantRow], int]:
        """Return the grants that concern the period, those that were used least first."""
        by_id = dict(used.items())
        rows = (
            row.row(self._period, by_id.get(row.id))
            for _, row in self._grants.items()
            if row.concerns(self._period)
        )
        wanted = (row for row in rows if not self._store or row.store == self._store)
        return cut_rows(sorted(wanted, key=lambda row: (row.store, row.id, row.cluster)), MOST_ROWS)

    def exceptions(self) -> tuple[list[ChangeRow], int]:
        """Return what was excused, in the order of time."""
        return self._exceptions, self._more_exceptions

    def changes(self) -> tuple[list[ChangeRow], int]:
        """Return what else changed, in the order of time."""
        return self._changes, self._more_changes

    def roles(self) -> tuple[list[RoleRow], int]:
        """Return the role assignments that differ."""
        return cut_rows(
            (row for _, rows in sorted(self._access.items()) for row in rows), MOST_ROWS
        )


def _keep(rows: list[Any], row: Any) -> bool:
    if len(rows) >= MOST_ROWS:
        return False
    rows.append(row)
    return True


def _change(change: ObjectChange) -> ChangeRow:
    spec = change.spec if isinstance(change.spec, dict) else {}
    text = _texts(spec)
    words = [f"{key}: {text(key)}" for key in _TEXTS if text(key)]
    return ChangeRow(
        time=change.time,
        cluster=change.cluster,
        event=change.event,
        kind=change.kind,
        name=_name(change),
        by=change.by[:MOST_SHOWN],
        approvers=change.approvers[:MOST_SHOWN],
        what="; ".join(filter(None, [change.why, *words]))[:_MOST_WORDS],
        expires=text("expiresAt"),
    )


def _roles(change: ObjectChange) -> list[RoleRow]:
    """Return how a store differed, and what could not be read of it: that is never nothing."""
    try:
        found = msgspec.convert(change.spec, StoreAccess)
    except msgspec.ValidationError:
        found = StoreAccess(format=1, store=change.name, resource="", at="", gaps=["its record"])
    row = partial(RoleRow, time=change.time, cluster=change.cluster, store=change.name)
    differing = [
        row(
            principal=one.principal and f"oid:{one.principal}",
            abilities=[ability.value for ability in one.abilities],
            difference=one.difference.value,
            detail=one.detail[:_MOST_WORDS],
            remedy=one.remedy[:_MOST_WORDS],
        )
        for one in found.differing
    ]
    unread = [
        row(principal="", abilities=[], difference="not-read", detail=gap[:_MOST_WORDS], remedy="")
        for gap in found.gaps
    ]
    return differing + unread


def _name(change: ObjectChange) -> str:
    return f"{change.namespace}/{change.name}" if change.namespace else change.name


def _texts(spec: Mapping[str, Any]) -> Callable[[str], str]:
    """Return what reads texts of a spec that anybody may have written anything into."""
    return lambda key: value if isinstance(value := spec.get(key), str) else ""


def _names(spec: Mapping[str, Any], key: str) -> list[str]:
    found = spec.get(key)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
