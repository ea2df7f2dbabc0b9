"""The accesses of a period, summed as they are read. Mutable, of one pass."""

from collections import Counter, defaultdict
from typing import Final

from audit.reports.model import Line, Pictured
from audit.reports.parts import MOST_ROWS, PrincipalRow, Reach, StoreRow, UnattributedRow
from audit.reports.periods import DAY_MS, Period, day_text
from audit.reports.tallies.bounded_rows import MOST_KEYS, Rows, Some, cut
from audit.reports.tallies.summing import Principal, Reached, Summed, Unattributed
from core.decision.document import uuid7_unix_ms
from core.weights.access import Access, Confidence

MOST_LINES: Final = 12
"""Principals that the timeline tells apart, half of them odd ones at most."""

_HOUR_MS: Final = 3_600_000
_THURSDAY: Final = 3
"""The day of the week on which the epoch began, Monday being 0."""


class _Store:
    def __init__(self, key: str) -> None:
        self.store = key
        self.account, self.last = "", ""
        self.summed = Summed()
        self.who = Some(MOST_KEYS)
        self.ungranted = self.unattributed = 0

    def add(self, access: Access) -> None:
        self.summed.add(access)
        self.account = self.account or access.account
        self.last = max(self.last, access.time)
        self.who.add(access.who)
        self.ungranted += bool(access.succeeded and access.ungranted)
        self.unattributed += access.attribution.confidence is Confidence.UNATTRIBUTED

    def row(self) -> StoreRow:
        return StoreRow(
            store=self.store,
            account=self.account,
            principals=len(self.who),
            sums=self.summed.sums(),
            ungranted=self.ungranted,
            unattributed=self.unattributed,
            last=self.last,
        )


class _Days:
    def __init__(self, key: str) -> None:
        self.who = key
        self.account = ""
        self.bytes = defaultdict[int, int](int)
        self.odd = defaultdict[int, int](int)

    @property
    def total(self) -> int:
        return sum(self.bytes.values())

    def line(self, days: int) -> Line:
        each, odd = (
            [counts.get(day, 0) for day in range(days)] for counts in (self.bytes, self.odd)
        )
        return Line(who=self.who, account=self.account, bytes=each, odd_bytes=odd)


class AccessTally:
    """Takes accesses one by one; gives the rows and pictures of a report."""

    def __init__(self, period: Period) -> None:
        self._period = period
        self._stores: Rows[str, _Store] = Rows(_Store, 1000)
        self._principals: Rows[tuple[str, str], Principal] = Rows(Principal)
        self._reached: Rows[tuple[str, str, str, str], Reached] = Rows(Reached)
        self._unattributed: Rows[tuple[str, str, str], Unattributed] = Rows(Unattributed)
        self._days: Rows[str, _Days] = Rows(_Days)
        self._all_bytes = Counter[int]()
        self._hours = Counter[tuple[bool, int, int]]()
        self.days = Counter[int]()
        self.confidence = Counter[str]()
        self.grants = Rows[str, Summed](lambda _: Summed())
        self.shaken = self.elsewhere = self.accesses = 0

    def add(self, access: Access) -> None:
        """Count an access; one of no WeightStore is only counted."""
        if not access.store:
            self.elsewhere += 1
            return
        self.accesses += 1
        at_ms = uuid7_unix_ms(access.id)
        day = at_ms // DAY_MS - self._period.first_day
        self.days[day] += 1
        self.confidence[access.attribution.confidence.value] += 1
        self.shaken += access.attribution.gaps
        if (store := self._stores.get(access.store)) is not None:
            store.add(access)
        if (principal := self._principals.get((access.who, access.store))) is not None:
            principal.add(access, day)
        if access.succeeded:
            self._add_picture(access, at_ms, day)
            self._add_reached(access)

    @property
    def overflowed(self) -> int:
        """Accesses of principals that are in no row."""
        return self._principals.overflowed

    def _add_picture(self, access: Access, at_ms: int, day: int) -> None:
        odd = not access.grant
        self._hours[odd, (at_ms // DAY_MS + _THURSDAY) % 7, at_ms % DAY_MS // _HOUR_MS] += 1
        self._all_bytes[day] += access.bytes_out
        if (days := self._days.get(access.who)) is not None:
            days.bytes[day] += access.bytes_out
            if odd:
                days.odd[day] += access.bytes_out
            if not days.account and access.attribution.pods:
                days.account = access.attribution.pods[0].service_account
        if access.grant and (grant := self.grants.get(access.grant)) is not None:
            grant.add(access)

    def _add_reached(self, access: Access) -> None:
        attribution = access.attribution
        key = (*_behind(access), access.who, access.store)
        if (reached := self._reached.get(key)) is not None:
            reached.add(access)
        if attribution.confidence is Confidence.UNATTRIBUTED:
            row = self._unattributed.get((access.who, access.store, attribution.why))
            if row is not None:
                row.add(access)

    def stores(self) -> list[StoreRow]:
        """Give a row for each store, by name."""
        return [row.row() for _, row in sorted(self._stores.items())]

    def principals(self, approvers: dict[str, list[str]]) -> tuple[list[PrincipalRow], int]:
        """Give the principals that read most, and how many more there are."""
        order = sorted(
            (row for _, row in self._principals.items()),
            key=lambda row: (-row.summed.bytes_out, -row.ungranted, row.who, row.store),
        )
        kept, more = cut(order, MOST_ROWS)
        return [row.row(approvers) for row in kept], more

    def reached(self) -> tuple[list[Reach], int]:
        """Give who reached what, the most bytes first."""
        rows = (row.row() for _, row in self._reached.items())
        return cut(
            sorted(rows, key=lambda row: (-row.bytes, row.human, row.service_account, row.who)),
            MOST_ROWS,
        )

    def unattributed(self) -> tuple[list[UnattributedRow], int]:
        """Give what nobody answers for, the most bytes first."""
        rows = (row.row() for _, row in self._unattributed.items())
        return cut(
            sorted(rows, key=lambda row: (-row.bytes, -row.accesses, row.who, row.why)), MOST_ROWS
        )

    def pictured(self) -> Pictured:
        """Give what the pictures show."""
        count = self._period.days
        order = sorted(
            (row for _, row in self._days.items()), key=lambda row: (-row.total, row.who)
        )
        odd = [row for row in order if row.odd][: MOST_LINES // 2]
        chosen = [*odd, *(row for row in order if row not in odd)][:MOST_LINES]
        lines = [row.line(count) for row in chosen if row.total]
        rest = [
            self._all_bytes[day] - sum(line.bytes[day] for line in lines) for day in range(count)
        ]
        if any(rest):
            lines.append(Line(who="", account="", bytes=rest, odd_bytes=[0] * count))
        days = [day_text(self._period.first_day + day) for day in range(count)]
        odd_hours = self._heat(odd=True)
        hours = [
            [some + more for some, more in zip(*rows, strict=True)]
            for rows in zip(odd_hours, self._heat(odd=False), strict=True)
        ]
        return Pictured(days=days, lines=lines, hours=hours, odd_hours=odd_hours)

    def _heat(self, *, odd: bool) -> list[list[int]]:
        return [[self._hours[odd, day, hour] for hour in range(24)] for day in range(7)]


def _behind(access: Access) -> tuple[str, str]:
    """Give the human and the service account, where all Pods that it can have been agree.

    What a grant covers without a Pod is read by one of the people it names: the principal.
    """
    attribution = access.attribution
    if not attribution.pods and access.grant and access.principal:
        return f"oid:{access.principal}", ""
    whole = attribution.among <= len(attribution.pods)
    humans = {pod.requester for pod in attribution.pods}
    accounts = {pod.service_account for pod in attribution.pods}
    human = humans.pop() if whole and len(humans) == 1 else ""
    return human, accounts.pop() if len(accounts) == 1 else ""
