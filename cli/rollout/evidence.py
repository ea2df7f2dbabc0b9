"""The evidence of `sallyport rollout`: the last sweep, what was asked for, what is missing."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from audit.ledger.store.decisions import MOST_ROWS, DecisionQuery
from audit.ledger.store.store import Store
from core.base.ids import uuid7_time, uuid7_unix_ms
from core.base.times import seconds_of
from core.decision.decision import Verdict
from core.decision.document import Asked, DecisionDocument, TracedRoot, decode_document
from core.decision.document_outlook import Outlook, document_workload, enforcement_outlook
from core.decision.sweep_document import SweepDocument

_NOT_ALLOWED: Final = frozenset({Verdict.WARN, Verdict.DENY, Verdict.ERROR})
_SWEEPS: Final = 1000
_LATER: Final = 20
"""Later decisions on the same object that are looked through for one that admits it."""

_SLACK_MS: Final = 3_600_000
"""The ledger need not begin to the minute where the period does."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Period:
    """What is looked at."""

    since_ms: int
    now_ms: int
    sweep_age_ms: int
    """The most that the last sweep may be old."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What the ledger holds of a cluster."""

    sweep: SweepDocument | None
    swept: dict[str, list[DecisionDocument]]
    """Decisions of the last sweep that are not simply allowed, by namespace."""
    asked: dict[str, list[DecisionDocument]]
    """Decisions of the gate in the period that enforcing would make a refusal, by namespace."""
    problems: list[str]
    """What is missing for every namespace."""


class EvidenceReader:
    """Reads the ledger about one cluster."""

    def __init__(self, store: Store, cluster: str, period: Period, tell: Tell) -> None:
        self._store = store
        self._cluster = cluster
        self._period = period
        self._tell = tell

    async def read(self, namespaces: frozenset[str]) -> Evidence:
        """Read all that concerns these namespaces.

        Raises:
            LedgerError: the database fails.
        """
        problems: list[str] = []
        sweep = await self._last_sweep(problems)
        swept = await self._swept(sweep, namespaces, problems) if sweep else {}
        await self._look_for_gaps(problems)
        asked = await self._asked(namespaces)
        return Evidence(sweep=sweep, swept=swept, asked=asked, problems=problems)

    async def unrecorded(self, pods: Sequence[tuple[str, str]]) -> list[str]:
        """Return the names of Pods on whose creation the gate recorded nothing."""
        lost = []
        for name, uid in pods:
            query = DecisionQuery(cluster=self._cluster, object_uid=uid, source="validate", limit=1)
            if not await self._store.find(query):
                lost.append(name)
        return lost

    async def _last_sweep(self, problems: list[str]) -> SweepDocument | None:
        sweeps = await self._store.sweeps(_SWEEPS)
        last = next((each for each in sweeps if each.cluster == self._cluster), None)
        if last is None:
            problems.append("no finished sweep is in the ledger: nobody knows what runs")
            return None
        ended = seconds_of(last.finished) * 1000
        if self._period.now_ms - ended > self._period.sweep_age_ms:
            problems.append(f"the last sweep is too old: it ended {last.finished[:19]}Z")
        if ended > self._period.now_ms + _SLACK_MS:
            problems.append(
                f"the last sweep says that it ended {last.finished[:19]}Z, which is to come: "
                "a clock is or was off"
            )
        return last

    async def _swept(
        self, sweep: SweepDocument, namespaces: frozenset[str], problems: list[str]
    ) -> dict[str, list[DecisionDocument]]:
        at_ms = uuid7_unix_ms(sweep.id)  # All that a sweep decides has the time of its beginning.
        query = DecisionQuery(
            cluster=self._cluster, source="sweep", since_ms=at_ms, until_ms=at_ms + 1
        )
        found: dict[str, list[DecisionDocument]] = defaultdict(list)
        count = 0
        async for document in self._documents(query, "of the sweep"):
            count += 1
            place = document.request.namespace
            if place not in namespaces or enforcement_outlook(document) is Outlook.ADMITTED:
                continue
            if not await self._is_its_authors(document):
                found[place].append(document)
        expected = sum(sweep.verdicts.get(verdict.value, 0) for verdict in _NOT_ALLOWED)
        if count < expected:
            problems.append(
                f"{expected - count} of the last sweep's findings are not in the ledger"
            )
        return found

    async def _is_its_authors(self, document: DecisionDocument) -> bool:
        """Return whether the gate admitted a Pod that nothing made, by its author's rights.

        The sweep judges such a Pod by its service account where nothing is enforced, and its author
        would make it again; so the gate's word counts, as long as policies and profiles are the
        same (docs/adr/0013).
        """
        running, uid = document.running, document.request.object_uid
        if running is None or running.workload or not uid:
            return False
        if enforcement_outlook(document) is not Outlook.REFUSED:
            return False
        query = DecisionQuery(
            cluster=self._cluster,
            object_uid=uid,
            source="validate",
            oldest_first=True,
            limit=_LATER,
        )
        for made in map(decode_document, await self._store.find(query)):
            if made.request.operation == "CREATE" and not made.request.subresource:
                same = _policies(made) == _policies(document)
                return same and enforcement_outlook(made) is Outlook.ADMITTED
        return False

    async def _look_for_gaps(self, problems: list[str]) -> None:
        query = DecisionQuery(cluster=self._cluster, source="validate", oldest_first=True, limit=1)
        first = await self._store.find(query)
        if not first:
            problems.append("the gate has recorded nothing: nobody knows what is asked for")
            return
        began = uuid7_unix_ms(decode_document(first[0]).id)
        if began > self._period.since_ms + _SLACK_MS:
            since = uuid7_time(decode_document(first[0]).id)[:19]
            problems.append(f"the ledger begins at {since}Z, later than what --since asks for")
        elif not await self._store.find(
            DecisionQuery(
                cluster=self._cluster, source="validate", since_ms=self._period.since_ms, limit=1
            )
        ):
            problems.append("the gate has recorded nothing in the period: is it asked at all?")
        if outside := await self._store.outside():
            problems.append(f"{outside} records lie outside of the ledger's log, and do not count")

    async def _asked(self, namespaces: frozenset[str]) -> dict[str, list[DecisionDocument]]:
        query = DecisionQuery(
            cluster=self._cluster, source="validate", since_ms=self._period.since_ms
        )
        groups: dict[tuple[str, str], list[DecisionDocument]] = defaultdict(list)
        async for document in self._documents(query, "of what was asked for"):
            place = document.request.namespace
            # What was only tried is nobody's work: it is not made, and it stops nobody.
            if place not in namespaces or document.request.dry_run:
                continue
            if enforcement_outlook(document) is not Outlook.ADMITTED:
                groups[place, document_workload(document)].append(document)
        found: dict[str, list[DecisionDocument]] = defaultdict(list)
        for (place, _), documents in groups.items():
            if not await self._is_mended(documents):
                found[place] += documents
        return found

    async def _is_mended(self, documents: Sequence[DecisionDocument]) -> bool:
        """Return whether the same was submitted later, not only tried, and would be admitted."""
        latest = max(documents, key=lambda document: document.id)
        asked, root = latest.request, latest.root
        kind, name = (root.kind, root.name) if root else (asked.kind, asked.name)
        if not name:
            return False
        query = DecisionQuery(
            cluster=self._cluster,
            namespace=asked.namespace,
            source="validate",
            kind=kind,
            name=name,
            after=latest.id,
            limit=_LATER,
        )
        for later in map(decode_document, await self._store.find(query)):
            if later.left_alone or later.request.dry_run or not _same_kind(later, asked, root):
                continue
            return enforcement_outlook(later) is Outlook.ADMITTED
        return False

    async def _documents(self, query: DecisionQuery, what: str) -> AsyncIterator[DecisionDocument]:
        """Yield what a query means and is not simply allowed, the newest first."""
        query = msgspec.structs.replace(query, verdicts=_NOT_ALLOWED, limit=MOST_ROWS)
        count = 0
        while page := await self._store.find(query):
            for content in page:
                yield decode_document(content)
            count += len(page)
            self._tell(f"{count:,} decisions {what} read")
            query = msgspec.structs.replace(query, before=decode_document(page[-1]).id)


def _same_kind(later: DecisionDocument, asked: Asked, root: TracedRoot | None) -> bool:
    """Return whether it is as whole, and of the same API group: Volcano has a Job, too."""
    if root is not None:
        return not later.request.subresource
    found = later.request
    return (found.subresource, found.group) == (asked.subresource, asked.group)


def _policies(document: DecisionDocument) -> tuple[str, str]:
    return document.revisions.policy, document.revisions.profiles
