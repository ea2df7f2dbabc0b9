"""Sums over accesses while the ledger is read. Mutable, of one pass."""

from collections import Counter

from audit.reports.parts import MOST_SHOWN, PrincipalRow, Reach, Sums, UnattributedRow
from audit.reports.tallies.bounded_rows import Some
from core.weights.access import Access, Act, Confidence

_MOST_ADDRESSES = 3
_SUREST = (Confidence.EXACT, Confidence.NODE, Confidence.ONE_OF, Confidence.UNATTRIBUTED)
_FIELDS = {Act.READ: "reads", Act.COPY: "reads", Act.LIST: "lists", Act.WRITE: "writes"}


class Summed:
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

    def sums(self) -> Sums:
        """Give the sums."""
        return Sums(bytes_out=self.bytes_out, bytes_in=self.bytes_in, **self.counts)


class Principal:
    """What one principal did with one store."""

    def __init__(self, key: tuple[str, str]) -> None:
        self.who, self.store = key
        self.summed = Summed()
        self.first = self.last = ""
        self.days: set[int] = set()
        self.signed_by, self.callers = Some(), Some()
        self.addresses, self.grants, self.humans = Some(), Some(), Some()
        self.pods, self.accounts = Some(1000), Some()
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
        """Give the row; `approvers` are those of grants by their ids."""
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


class Reached:
    """What one human reached through one service account, as one principal."""

    def __init__(self, key: tuple[str, str, str, str]) -> None:
        self._key = key
        self._confidence = Confidence.UNATTRIBUTED
        self.accesses = self.bytes = 0
        self._images, self._decisions = Some(16), Some(16)

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

    def row(self) -> Reach:
        """Give the row."""
        human, account, who, store = self._key
        return Reach(
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


class Unattributed:
    """Accesses of one principal that no Pod answers for, for one reason."""

    def __init__(self, key: tuple[str, str, str]) -> None:
        self._key = key
        self.accesses = self.granted = self.bytes = 0
        self._first = self._last = ""
        self._addresses = Some(16)

    def add(self, access: Access) -> None:
        """Count an access."""
        self.accesses += 1
        self.granted += bool(access.grant)
        self.bytes += access.bytes_out
        self._first = min(self._first or access.time, access.time)
        self._last = max(self._last, access.time)
        self._addresses.add(access.address)

    def row(self) -> UnattributedRow:
        """Give the row."""
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
