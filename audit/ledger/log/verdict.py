"""What the verifier found, as programs read it (`sallyport ledger verify -o json`)."""

from typing import Final

import msgspec

from audit.ledger.log.problems import (
    MOST_PROBLEMS,
    Flaw,
    Problem,
    RecordPlace,
    id_text,
    id_time_text,
    kind_name,
)
from audit.ledger.log.verifier import Verifier

FORMAT: Final = 1

_LATER: Final = {Flaw.HEAD: 1, Flaw.FORK: 1, Flaw.REMOVAL: 2}


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Frozen, camelCase."""


class AnchorVerdict(_Part, frozen=True, kw_only=True):
    """What one anchor knows, and how much of it the log has."""

    name: str
    reached: int
    """Records that it knows of."""
    proven: int
    """Records up to which the log is what it says."""
    heads: int
    """Heads that were compared."""
    last: str
    """RFC 3339, of its last head; empty without one."""
    torn: int
    """Lines that a crash cut short."""
    timestamped: str
    """RFC 3339: when an authority saw its last head (RFC 3161); empty where none did."""
    most_delay_seconds: int
    """Seconds between the time that a head says and its timestamp: the most of all heads."""


class LateRecord(_Part, frozen=True, kw_only=True):
    """A record that came over an hour late, though only a spool can have kept it."""

    position: int
    kind: str
    cluster: str
    id: str
    time: str


class Verdict(_Part, frozen=True, kw_only=True):
    """All that was found."""

    format: int
    sound: bool
    log: str
    first: int
    """Position of the first record that is here."""
    size: int
    """Records of the log before the end."""
    heads: int
    last_head: str
    """RFC 3339; empty without one."""
    keys: list[str]
    """Ids of the keys that anchored heads are signed with."""
    clusters: dict[str, int]
    kinds: dict[str, int]
    anchors: list[AnchorVerdict]
    anchored: int
    """Records up to which an anchor proves them."""
    not_anchored: int
    """Records that no anchor knows of: their own key vouches for them, and nobody else."""
    documents_removed: int
    """By retention, or else it is a problem."""
    refusals_removed: int
    """Of these documents, refusals that went for want of room; the log proves their kind."""
    leaves_removed: int
    keep_days: int | None
    """The fewest days that a retention record kept; None without one."""
    aside: int
    """Records in quarantine."""
    adopted: int
    """Records that an upgrade took in: of what was before it, nothing is proven of them."""
    waiting: int
    """Of a ledger: rows of an earlier release that the upgrade is yet to take in."""
    late: int
    late_examples: list[LateRecord]
    first_bad: Problem | None
    """The problem of the first record; of a head, or an unexplained removal, only without one."""
    problems: list[Problem]
    """At most MOST_PROBLEMS, by position."""
    more_problems: int


def verdict_of(verifier: Verifier) -> Verdict:
    """Return what a verifier found that has seen the whole log."""
    problems = sorted(verifier.problems, key=_rank)
    contents, opening = verifier.contents, verifier.opening
    known = max((anchor.reached for anchor in verifier.vouching), default=0)
    kinds = sorted(contents.kinds.items())
    return Verdict(
        format=FORMAT,
        sound=not problems,
        log=opening.log,
        first=opening.first,
        size=verifier.size,
        heads=verifier.heads,
        last_head=verifier.last_head.time if verifier.last_head else "",
        keys=list(verifier.keys.anchored),
        clusters=dict(sorted(contents.clusters.items())),
        kinds={kind_name(kind): count for kind, count in kinds},
        anchors=_anchors(verifier),
        anchored=verifier.anchored,
        not_anchored=max(verifier.size - max(known, opening.first), 0),
        documents_removed=verifier.removals.leaves,
        refusals_removed=verifier.removals.refusals,
        leaves_removed=verifier.removals.prefix,
        keep_days=verifier.removals.keep_days,
        aside=contents.aside,
        adopted=verifier.adoptions.records,
        waiting=verifier.waiting,
        late=contents.late,
        late_examples=list(map(_late, contents.examples)),
        first_bad=problems[0] if problems and problems[0].position is not None else None,
        problems=problems[:MOST_PROBLEMS],
        more_problems=max(len(problems) - MOST_PROBLEMS, 0),
    )


def _rank(each: Problem) -> tuple[bool, int, int, bool]:
    """Return the order of problems: those of records first, by position; then those of heads.

    A removal is without its reason also where the record that gives it is what is missing.
    """
    of = _LATER.get(each.wrong, 0)
    return each.position is None, of, each.position or 0, each.end is not None


def _anchors(verifier: Verifier) -> list[AnchorVerdict]:
    return [
        AnchorVerdict(
            name=anchor.name,
            reached=anchor.reached,
            proven=min(anchor.proven, verifier.anchored),
            heads=anchor.heads,
            last=anchor.last.time if anchor.last else "",
            torn=reading.torn,
            timestamped=reading.timestamped,
            most_delay_seconds=reading.most_delay_seconds,
        )
        for anchor, reading in zip(verifier.anchors, verifier.readings, strict=True)
    ]


def _late(where: RecordPlace) -> LateRecord:
    return LateRecord(
        position=where.at,
        kind=kind_name(where.kind),
        cluster=where.cluster,
        id=id_text(where.id),
        time=id_time_text(where.id),
    )
