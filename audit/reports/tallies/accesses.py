"""Tallies of the accesses of a period: by store, principal, human, and what no Pod answers for."""

from collections import Counter, defaultdict
from typing import Final

from audit.reports.model import (
    MOST_ROWS,
    MOST_SHOWN,
    AccessSums,
    PictureData,
    PrincipalRow,
    ReachRow,
    StoreRow,
    TimelineRow,
    UnattributedRow,
)
from audit.reports.periods import Period, day_text
from audit.reports.tallies.bounded_rows import MOST_KEYS, BoundedRows, DistinctTexts, cut_rows
from core.base.ids import uuid7_unix_ms
from core.base.times import DAY_MS
from core.weights.documents.access import Access, Act, Confidence

MOST_LINES: Final = 12
"""Principals that the timeline tells apart, half of them odd ones at most."""

_MOST_ADDRESSES = 3
_SUREST = (Confidence.EXACT, Confidence.NODE, Confidence.ONE_OF, Confidence.UNATTRIBUTED)
_FIELDS = {Act.READ: "reads", Act.COPY: "reads", Act.LIST: "lists", Act.WRITE: "writes"}

_HOUR_MS: Final = 3_600_000

_THURSDAY: Final = 3
"""The day of the week on which the epoch began, Monday being 0."""


class AccessSum:
    """What accesses come to."""

    __slots__ = ("bytes_in", "bytes_out", "counts")

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.bytes_out = 0
        self.bytes_in = 0

    def add(self, access: Access) -> None:
        """Count one; a copy is a read, of which three records tell."""
        if not access.succeeded:
            self.counts["failed"] += 1
            return
        if access.act is Act.COPY and access.operation_count:
            return
        deletes = access.act is Act.DELETE
        self.counts["deletes" if deletes else _FIELDS.get(access.act, "others")] += 1
        self.bytes_out += access.bytes_out
        self.bytes_in += access.bytes_in

    def sums(self) -> AccessSums:
        """Return the sums."""
        return AccessSums(bytes_out=self.bytes_out, bytes_in=self.bytes_in, **self.counts)


class PrincipalTally:
    """What one principal did with one store."""

    def __init__(self, key: tuple[str, str]) -> None:
        self.who, self.store = key
        self.summed = AccessSum()
        self.first = self.last = ""
        self.days: set[int] = set()
        self.signed_by, self.callers = DistinctTexts(), DistinctTexts()
        self.addresses, self.grants, self.humans = DistinctTexts(), DistinctTexts(), DistinctTexts()
        self.pods, self.accounts = DistinctTexts(1000), DistinctTexts()
        self.confidence = Counter[str]()
        self.ungranted = 0

    def add(self, access: Access, day: int) -> None:
        """Count an access."""
        self.summed.add(access)
        self.first = min(self.first or access.time, access.time)
        self.last = max(self.last, access.time)
        self.days.add(day)
        self.signed_by.add(access.signed_by.value)
        self.callers.add(access.caller.value)
        self.addresses.add(access.address)
        self.grants.add(access.grant)
        self.confidence[access.attribution.confidence.value] += 1
        for pod in access.attribution.pods:
            self.humans.add(pod.requester)
            self.pods.add(pod.uid)
            self.accounts.add(pod.service_account)
        if access.succeeded and access.ungranted:
            self.ungranted += 1

    def row(self, approvers: dict[str, list[str]]) -> PrincipalRow:
        """Return the row; `approvers` are those of grants by their ids."""
        grants = self.grants.list()
        known = {name for grant in grants for name in approvers.get(grant, ())}
        return PrincipalRow(
            who=self.who,
            store=self.store,
            signed_by=self.signed_by.list(),
            sums=self.summed.sums(),
            first=self.first,
            last=self.last,
            days=len(self.days),
            callers=self.callers.list(),
            addresses=self.addresses.list(_MOST_ADDRESSES),
            more_addresses=max(len(self.addresses) - _MOST_ADDRESSES, 0),
            grants=grants[:MOST_SHOWN],
            approvers=sorted(known)[: 2 * MOST_SHOWN],
            humans=self.humans.list(MOST_SHOWN),
            service_accounts=self.accounts.list(MOST_SHOWN),
            pods=len(self.pods),
            confidence=dict(sorted(self.confidence.items())),
            ungranted=self.ungranted,
        )


class ReachTally:
    """What one human reached through one service account, as one principal."""

    def __init__(self, key: tuple[str, str, str, str]) -> None:
        self._key = key
        self._confidence = Confidence.UNATTRIBUTED
        self.accesses = self.bytes = 0
        self._images, self._decisions = DistinctTexts(16), DistinctTexts(16)

    def add(self, access: Access) -> None:
        """Count an access that succeeded."""
        self.accesses += 1
        self.bytes += access.bytes_out
        found = access.attribution.confidence
        if _SUREST.index(found) < _SUREST.index(self._confidence):
            self._confidence = found
        for pod in access.attribution.pods:
            self._decisions.add(pod.decision)
            for image in pod.images:
                self._images.add(image)

    def row(self) -> ReachRow:
        """Return the row."""
        human, account, who, store = self._key
        return ReachRow(
            human=human,
            service_account=account,
            who=who,
            store=store,
            confidence=self._confidence.value,
            accesses=self.accesses,
            bytes=self.bytes,
            images=self._images.list(MOST_SHOWN),
            decisions=self._decisions.list(MOST_SHOWN),
        )


class UnattributedTally:
    """Accesses of one principal that no Pod answers for, for one reason."""

    def __init__(self, key: tuple[str, str, str]) -> None:
        self._key = key
        self.accesses = self.granted = self.bytes = 0
        self._first = self._last = ""
        self._addresses = DistinctTexts(16)

    def add(self, access: Access) -> None:
        """Count an access."""
        self.accesses += 1
        self.granted += bool(access.grant)
        self.bytes += access.bytes_out
        self._first = min(self._first or access.time, access.time)
        self._last = max(self._last, access.time)
        self._addresses.add(access.address)

    def row(self) -> UnattributedRow:
        """Return the row."""
        who, store, why = self._key
        return UnattributedRow(
            who=who,
            store=store,
            why=why,
            accesses=self.accesses,
            granted=self.granted,
            bytes=self.bytes,
            first=self._first,
            last=self._last,
            addresses=self._addresses.list(MOST_SHOWN),
        )


class _Store:
    def __init__(self, key: str) -> None:
        self.store = key
        self.account, self.last = "", ""
        self.summed = AccessSum()
        self.who = DistinctTexts(MOST_KEYS)
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

    def line(self, days: int) -> TimelineRow:
        each, odd = (
            [counts.get(day, 0) for day in range(days)] for counts in (self.bytes, self.odd)
        )
        return TimelineRow(who=self.who, account=self.account, bytes=each, odd_bytes=odd)


class AccessTally:
    """Takes accesses one by one; gives the rows and pictures of a report."""

    def __init__(self, period: Period) -> None:
        self._period = period
        self._stores: BoundedRows[str, _Store] = BoundedRows(_Store, 1000)
        self._principals: BoundedRows[tuple[str, str], PrincipalTally] = BoundedRows(PrincipalTally)
        self._reached: BoundedRows[tuple[str, str, str, str], ReachTally] = BoundedRows(ReachTally)
        self._unattributed: BoundedRows[tuple[str, str, str], UnattributedTally] = BoundedRows(
            UnattributedTally
        )
        self._days: BoundedRows[str, _Days] = BoundedRows(_Days)
        self._all_bytes = Counter[int]()
        self._hours = Counter[tuple[bool, int, int]]()
        self.days = Counter[int]()
        self.confidence = Counter[str]()
        self.grants = BoundedRows[str, AccessSum](lambda _: AccessSum())
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
        """Return a row for each store, by name."""
        return [row.row() for _, row in sorted(self._stores.items())]

    def principals(self, approvers: dict[str, list[str]]) -> tuple[list[PrincipalRow], int]:
        """Return the principals that read most, and how many more there are."""
        order = sorted(
            (row for _, row in self._principals.items()),
            key=lambda row: (-row.summed.bytes_out, -row.ungranted, row.who, row.store),
        )
        kept, more = cut_rows(order, MOST_ROWS)
        return [row.row(approvers) for row in kept], more

    def reached(self) -> tuple[list[ReachRow], int]:
        """Return who reached what, the most bytes first."""
        rows = (row.row() for _, row in self._reached.items())
        return cut_rows(
            sorted(rows, key=lambda row: (-row.bytes, row.human, row.service_account, row.who)),
            MOST_ROWS,
        )

    def unattributed(self) -> tuple[list[UnattributedRow], int]:
        """Return what nobody answers for, the most bytes first."""
        rows = (row.row() for _, row in self._unattributed.items())
        return cut_rows(
            sorted(rows, key=lambda row: (-row.bytes, -row.accesses, row.who, row.why)), MOST_ROWS
        )

    def pictured(self) -> PictureData:
        """Return what the pictures show."""
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
            lines.append(TimelineRow(who="", account="", bytes=rest, odd_bytes=[0] * count))
        days = [day_text(self._period.first_day + day) for day in range(count)]
        odd_hours = self._heat(odd=True)
        hours = [
            [some + more for some, more in zip(*rows, strict=True)]
            for rows in zip(odd_hours, self._heat(odd=False), strict=True)
        ]
        return PictureData(days=days, lines=lines, hours=hours, odd_hours=odd_hours)

    def _heat(self, *, odd: bool) -> list[list[int]]:
        return [[self._hours[odd, day, hour] for hour in range(24)] for day in range(7)]


def _behind(access: Access) -> tuple[str, str]:
    """Return the human and the service account, where all Pods that it can have been agree.

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
