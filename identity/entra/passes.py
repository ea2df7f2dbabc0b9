"""A pass: pages of one resource, one after the other, and what they come to. Pure."""

from dataclasses import dataclass, field

import msgspec

from core.risk.snapshot import Coverage
from identity.entra.application_ids import Asking
from identity.entra.graph_answers import Detected, Guest, PageRead, Risky
from identity.entra.graph_requests import Resource
from identity.entra.values import seconds_of
from identity.risk.entry_merge import MOST_AHEAD_S


@dataclass
class Pass:
    """One pass, and how far it has come."""

    resource: Resource
    url: str
    """Of the page that comes next."""
    full: bool
    """Whether it is over all of them."""
    asking: Asking | None = None
    """The client ids that it is about."""
    as_of: float | None = None
    """When it began, by Graph's clock: everything that changed before is in it. Unix seconds."""
    latest: str = ""
    """The latest change that it told of, as Graph wrote it."""
    listed: set[bytes] = field(default_factory=set)
    """Whom a full pass told of."""
    pages: int = 0
    failures: int = 0
    """In a row."""

    def take(self, page: PageRead, asked_at: float, now: float) -> None:
        """Take in a page: when it was asked for, and when Graph answered, by its own clock."""
        if self.as_of is None:
            self.as_of = asked_at
        self.pages += 1
        self.failures = 0
        for item in page.items:
            if isinstance(item, Risky | Detected) and (at := seconds_of(item.written)):
                self.latest = later(self.latest, item.written) if _is_past(at, now) else self.latest
            if self.full and isinstance(item, Risky | Guest):
                self.listed.add(item.key)


def _is_past(at: int, now: float) -> bool:
    return at <= now + MOST_AHEAD_S


def later(one: str, other: str) -> str:
    """Give the later of two times, as Graph wrote it; what is none comes first."""
    return max(one, other, key=lambda each: (seconds_of(each) or 0, each))


def covered(coverage: Coverage, found: Pass, through: str, changes_as_of: float | None) -> Coverage:
    """Give how far a resource is known after a pass that is complete.

    Before the first pass over all of them is, nothing is known to be complete.

    Args:
        coverage: how far it was known.
        found: the pass.
        through: where to go on.
        changes_as_of: when the last complete pass over what changed began, in this term.
    """
    if found.full:
        as_of = _latest(coverage.as_of, found.as_of)
        if changes_as_of and found.as_of and changes_as_of >= found.as_of:
            as_of = _latest(as_of, changes_as_of)
        return msgspec.structs.replace(coverage, as_of=as_of, through=through, full=found.as_of)
    as_of = None if coverage.full is None else _latest(coverage.as_of, found.as_of)
    return msgspec.structs.replace(coverage, as_of=as_of, through=through)


def _latest(one: float | None, other: float | None) -> float | None:
    return max((each for each in (one, other) if each is not None), default=None)
