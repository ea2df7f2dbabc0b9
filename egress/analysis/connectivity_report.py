"""What is open in a cluster, and what differs between two, as rows that are written. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

import msgspec

from core.base.networks import Span
from egress.analysis.connectivity import (
    CLOSED,
    Connectivity,
    Openness,
    OpenSpans,
    find_unknown_namespaces,
)
from egress.analysis.policy_cluster import PolicyCluster
from egress.model.address_spans import join_spans, show_span

FORMAT: Final = 1

Change = Literal["added", "removed", "changed"]


class ConnectionRow(msgspec.Struct, frozen=True, order=True, rename="camel"):
    """What is open from a source to a destination."""

    src: str
    """`namespace/name[Kind]`, or addresses: `10.0.0.0-10.255.255.255[External]`."""
    dst: str
    conn: str
    """`All Connections`, `TCP 80,443,UDP 53`, or `No Connections`."""
    by_address: str | None
    """The same on engines that match packets by addresses, where it differs there."""


class ConnectivityReport(msgspec.Struct, frozen=True, rename="camel"):
    """What `sallyport egress connlist -o json` prints."""

    format: int
    complete: bool
    """Whether all is judged; else what is open may be more, or less."""
    workloads: list[str]
    connections: list[ConnectionRow]
    not_judged: list[str]
    """What was left out, and why."""
    notes: list[str]


class ConnectionChange(msgspec.Struct, frozen=True, rename="camel"):
    """What differs from a source to a destination."""

    change: Change
    """Of what is open by identity; by address where that alone differs."""
    src: str
    dst: str
    before: str
    after: str
    before_by_address: str | None
    after_by_address: str | None
    workloads: str
    """Which of the two was added or removed, if one was."""


class ConnectivityDiff(msgspec.Struct, frozen=True, rename="camel"):
    """What `sallyport egress diff -o json` prints."""

    format: int
    complete: bool
    changes: list[ConnectionChange]
    not_judged: list[str]
    notes: list[str]


def report_connectivity(
    cluster: PolicyCluster, found: Connectivity, namespace: str | None = None
) -> ConnectivityReport:
    """Return what is open; of one namespace, what its workloads have a part in."""
    rows = sorted(
        ConnectionRow(src, dst, *_words(each))
        for (src, dst), each in _pairs(found)
        if namespace is None or any(end.startswith(f"{namespace}/") for end in (src, dst))
    )
    problems = find_problems(cluster)
    workloads = list(found.workloads)
    return ConnectivityReport(FORMAT, not problems, workloads, rows, problems, find_notes(cluster))


def compare_connectivity(
    before: tuple[PolicyCluster, Connectivity], after: tuple[PolicyCluster, Connectivity]
) -> ConnectivityDiff:
    """Return what opens, closes and changes between two clusters."""
    (old_cluster, old), (new_cluster, new) = before, after
    changes = [
        _change(key, *pair, _told(key, old, new))
        for key, pair in _joint(old, new)
        if pair[0] != pair[1]
    ]
    problems = [
        *(f"before: {each}" for each in find_problems(old_cluster)),
        *(f"after: {each}" for each in find_problems(new_cluster)),
    ]
    notes = list(dict.fromkeys((*find_notes(old_cluster), *find_notes(new_cluster))))
    changes.sort(key=lambda each: (each.change, each.src, each.dst))
    return ConnectivityDiff(FORMAT, not problems, changes, problems, notes)


def find_problems(cluster: PolicyCluster) -> list[str]:
    """Return what makes an answer incomplete."""
    unknown = find_unknown_namespaces(cluster)
    return [
        *(f"broken, and left out: {each}" for each in cluster.broken),
        *(f"not judged: {each}" for each in cluster.not_judged),
        *(
            f"not known: labels of namespace {each}, by which policies select: add its Namespace"
            for each in unknown
        ),
    ]


def find_notes(cluster: PolicyCluster) -> list[str]:
    """Return what should be known of an answer that is complete."""
    none = "no NetworkPolicy is there: all is open"
    return [
        *([none] if not cluster.policies else []),
        *_ways_in(cluster),
    ]


def _ways_in(cluster: PolicyCluster) -> list[str]:
    return [
        f"{each} lets in those outside through the Pods of its controller, which are rows of "
        "their own where they are known"
        for each in cluster.ways_in
    ]


def _pairs(found: Connectivity) -> Iterator[tuple[tuple[str, str], Openness]]:
    yield from found.between.items()
    for shown, spans in found.outwards.items():
        yield from (((shown, show_span(span)), each) for span, each in spans)
    for shown, spans in found.inwards.items():
        yield from (((show_span(span), shown), each) for span, each in spans)


def _joint(
    old: Connectivity, new: Connectivity
) -> Iterator[tuple[tuple[str, str], tuple[Openness, Openness]]]:
    """Yield sources and destinations, with what is open in either; addresses cut where they do."""
    for key in dict.fromkeys((*old.between, *new.between)):
        yield key, (old.between.get(key, CLOSED), new.between.get(key, CLOSED))
    for shown, span, pair in _joint_spans(old.outwards, new.outwards):
        yield (shown, show_span(span)), pair
    for shown, span, pair in _joint_spans(old.inwards, new.inwards):
        yield (show_span(span), shown), pair


def _joint_spans(
    old: Mapping[str, OpenSpans], new: Mapping[str, OpenSpans]
) -> Iterator[tuple[str, Span, tuple[Openness, Openness]]]:
    for shown in dict.fromkeys((*old, *new)):
        for span, pair in join_spans(old.get(shown, ()), new.get(shown, ()), empty=CLOSED):
            yield shown, span, pair


def _change(
    key: tuple[str, str], before: Openness, after: Openness, workloads: str
) -> ConnectionChange:
    was, becomes = before.by_identity, after.by_identity
    if was == becomes:
        was, becomes = before.by_address, after.by_address
    change: Change = "changed" if was and becomes else "added" if becomes else "removed"
    (old, old_by_address), (new, new_by_address) = _words(before), _words(after)
    return ConnectionChange(change, *key, old, new, old_by_address, new_by_address, workloads)


def _told(key: Iterable[str], old: Connectivity, new: Connectivity) -> str:
    were, are = set(old.workloads), set(new.workloads)
    return ", ".join(
        [f"workload {each} added" for each in key if each in are - were]
        + [f"workload {each} removed" for each in key if each in were - are]
    )


def _words(found: Openness) -> tuple[str, str | None]:
    same = found.by_identity == found.by_address
    return str(found.by_identity), None if same else str(found.by_address)
