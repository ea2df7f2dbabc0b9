"""Which AccessGrants were live when: from the record of their changes, so for last month too."""

import math
from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from audit.access.attribution.lives import unix_seconds
from core.base.errors import InvalidObjectError
from core.base.sallyport_objects import Metadata, UntypedObject
from core.people.two_person import PEOPLE_NEEDED
from core.weights.access_grants import KIND, AccessGrant, grant_of
from core.weights.documents.object_change import ObjectChange

MOST_EVENTS: Final = 256
"""Of one grant; the oldest are forgotten."""

_ENDS: Final = frozenset({"ended", "deleted"})


@dataclass(frozen=True, slots=True)
class GrantTerm:
    """A grant as it was from one change to the next. Times are Unix seconds."""

    grant: AccessGrant
    begin: float
    end: float
    approved: bool
    """Whether two people's approval of it counted."""


class _GrantEvent(msgspec.Struct, frozen=True, order=True, array_like=True):
    at: float
    id: str
    event: str
    namespace: str
    name: str
    digest: str
    approvers: list[str]
    spec: Any = None

    @property
    def approves(self) -> bool:
        return self.event == "approved" and len(set(self.approvers)) >= PEOPLE_NEEDED


class GrantHistory:
    """The terms of every AccessGrant, by the WeightStore that it is about.

    Documents may come in any order, and again.
    """

    def __init__(self) -> None:
        self._events: dict[str, list[_GrantEvent]] = {}
        """By UID, in the order of their times."""
        self._terms: dict[str, tuple[GrantTerm, ...]] = {}
        self._about: dict[str, tuple[GrantTerm, ...]] = {}
        self._naming: dict[tuple[str, str, str], tuple[GrantTerm, ...]] = {}
        self.unreadable: dict[str, str] = {}
        """By UID: why a grant cannot be read. It grants nothing."""

    def take(self, change: ObjectChange) -> None:
        """Take in a change of a grant; of other kinds nothing.

        Raises:
            ValueError: its time is none.
        """
        if change.kind != KIND:
            return
        event = _GrantEvent(
            unix_seconds(change.time),
            change.id,
            change.event,
            change.namespace,
            change.name,
            change.digest,
            change.approvers,
            change.spec,
        )
        events = self._events.setdefault(change.uid, [])
        if any(each.id == event.id for each in events):
            return
        insort(events, event, key=lambda each: (each.at, each.id))
        del events[:-MOST_EVENTS]
        self._set_terms(change.uid)

    def about(self, store: str) -> tuple[GrantTerm, ...]:
        """Return the terms of grants of a store, in the order of their names and times."""
        if store not in self._about:
            of_store = (
                term
                for terms in self._terms.values()
                for term in terms
                if term.grant.spec.store == store
            )
            in_order = sorted(of_store, key=lambda term: (term.grant.id, term.begin))
            self._about[store] = tuple(in_order)
        return self._about[store]

    def naming(self, store: str, namespace: str, account: str) -> tuple[GrantTerm, ...]:
        """Return the terms of a store's grants of a namespace that name a service account of it."""
        key = (store, namespace, account)
        if key not in self._naming:
            self._naming[key] = tuple(
                term
                for term in self.about(store)
                if term.grant.meta.namespace == namespace
                and account in (term.grant.spec.service_accounts or ())
            )
        return self._naming[key]

    def forget(self, before_s: float) -> None:
        """Forget grants that were gone before a time."""
        for uid, terms in list(self._terms.items()):
            if all(min(term.end, term.grant.expires) < before_s for term in terms):
                del self._events[uid], self._terms[uid]
                self._clear()

    def saved(self) -> dict[str, Any]:
        """Return them as plain values."""
        return dict(self._events)

    def restore(self, saved: dict[str, Any]) -> None:
        """Take back what `saved` gave."""
        self._events = msgspec.convert(saved, dict[str, list[_GrantEvent]])
        for uid in self._events:
            self._set_terms(uid)

    def _clear(self) -> None:
        self._about.clear()
        self._naming.clear()

    def _set_terms(self, uid: str) -> None:
        self.unreadable.pop(uid, None)
        self._clear()
        self._terms[uid] = tuple(self._terms_of(uid))

    def _terms_of(self, uid: str) -> Iterator[GrantTerm]:
        events = self._events[uid]
        grant: AccessGrant | None = None
        approved = ""
        for place, event in enumerate(events):
            end = events[place + 1].at if place + 1 < len(events) else math.inf
            if event.spec is not None:
                grant = self._read(uid, event)
            if event.event in _ENDS:
                approved = ""
            elif event.event == "approved":
                approved = event.digest if event.approves else ""
            if grant is None or event.event == "deleted":
                continue
            counts = bool(approved) and approved == grant.approvable.digest
            yield GrantTerm(grant, event.at, end, counts)

    def _read(self, uid: str, event: _GrantEvent) -> AccessGrant | None:
        meta = Metadata(name=event.name, namespace=event.namespace, uid=uid)
        try:
            return grant_of(UntypedObject(meta, event.spec, event.digest))
        except InvalidObjectError as error:
            self.unreadable[uid] = str(error)
            return None
