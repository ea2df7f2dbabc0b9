"""The document of a look back: what is listed, in which order, and what is only counted. Pure."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from core.base.times import second_text
from core.kubernetes.workload_kinds import GroupKind
from core.risk.look_back import FORMAT, MOST_ITEMS, Item, LookBackDocument, Sort, State, StoreReads
from identity.look_back.trails import TouchedObject, Trail

MOST_TEXT: Final = 253
"""Characters of a name: what Kubernetes allows at most."""

_MOST_NAMESPACES: Final = 2000
_MOST_SUSPENDED: Final = 200
_ORDER: Final = {sort: number for number, sort in enumerate(Sort)}


def document_of(  # noqa: PLR0913  Each is one thing that the document says.
    trail: Trail,
    *,
    document_id: str,
    cluster: str,
    end: int,
    unlisted: Collection[GroupKind],
    gaps: Sequence[str],
    reads: Sequence[StoreReads] = (),
) -> LookBackDocument:
    """Return what is known of an identity once everything is read.

    `end` is the window's, in Unix seconds; `unlisted` are the kinds that could not be listed,
    `gaps` say for people what could not be looked at, and `reads` what it read of the weights.
    """
    found = [(trace, _state(trace, unlisted)) for trace in trail.traces.values()]
    listed = [(trace, state) for trace, state in found if state is not None]
    listed.sort(key=lambda each: (_ORDER[each[0].sort], -each[0].at, each[0].decision))
    gone = Counter(trace.sort.value for trace, state in found if state is None)
    namespaces = Counter(trace.namespace for trace, _ in listed)
    risen = trail.risen
    return LookBackDocument(
        format=FORMAT,
        id=document_id,
        cluster=cluster,
        subject=risen.labels[0],
        standing=risen.standing.value if risen.standing else "",
        since=_text(risen.since) if risen.since else "",
        events=list(risen.events),
        event_types=list(risen.event_types),
        begin=_text(risen.begin),
        end=_text(end),
        items=[_item(trace, state) for trace, state in listed[:MOST_ITEMS]],
        more_items=max(len(listed) - MOST_ITEMS, 0),
        more_acts=trail.more_acts,
        gone=dict(sorted(gone.items())),
        older=trail.older,
        namespaces=dict(namespaces.most_common(_MOST_NAMESPACES)),
        suspended=sorted(set(trail.suspended))[:_MOST_SUSPENDED],
        gaps=list(gaps),
        reads=list(reads),
    )


def _state(trace: TouchedObject, unlisted: Collection[GroupKind]) -> State | None:
    """Return what became of an object; None where it is gone."""
    if trace.sort is Sort.CREDENTIAL:
        return State.OUTLIVES
    if trace.there:
        return State.THERE
    if trace.kind in unlisted or not (trace.name or trace.uid):
        return State.UNKNOWN
    return None


def _item(trace: TouchedObject, state: State) -> Item:
    group, kind = trace.kind
    return Item(
        sort=trace.sort,
        state=state,
        kind=kind[:MOST_TEXT],
        group=group[:MOST_TEXT],
        namespace=trace.namespace[:MOST_TEXT],
        name=trace.name[:MOST_TEXT],
        uid=trace.uid[:MOST_TEXT],
        at=_text(trace.at),
        how=trace.how,
        acts=trace.acts,
        decision=trace.decision,
        pods=trace.pods,
    )


def _text(seconds: int) -> str:
    return f"{second_text(seconds)}Z"
