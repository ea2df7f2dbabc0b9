"""Which accesses a finding is about, so that whoever reads the ledger can count them. Pure.

A finding is written at the event that completes it, and is not written again: what follows on the
same day is seen in the ledger alone. Its detection says here which accesses it goes on about.
"""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from core.base.times import DAY_MS, milliseconds_of
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Finding


class Span(enum.Enum):
    """Of which days (UTC) a finding counts accesses."""

    FIRST_DAY = "first day"
    """That of its first event."""
    DAYS = "days"
    """Those from its first event to the one that completed it."""
    ONWARDS = "onwards"
    """That of its first event and all after it."""


class Same(enum.Enum):
    """What of an access is the same as in its finding."""

    ACCOUNT = "account"
    CONTAINER = "container"
    FOLDER = "folder"
    STORE = "store"
    WHO = "principal"
    IDENTITY = "identity"
    """Principal, application or the human of its Pods: whichever the finding names."""
    ADDRESS = "address"


def bytes_read(access: Access) -> int:
    """Return what left storage."""
    return access.bytes_out


def bytes_written(access: Access) -> int:
    """Return what was sent to storage."""
    return access.bytes_in


def is_read_of_bytes(access: Access) -> bool:
    """Return whether bytes of a blob left storage."""
    return access.act is Act.READ and access.succeeded and access.bytes_out > 0


@dataclass(frozen=True)
class Coverage:
    """Which accesses a finding is about."""

    concerns: Callable[[Access], bool]
    """Whether its detection counts such an access, wherever it is and whoever's."""
    same: frozenset[Same] = frozenset({Same.STORE, Same.WHO})
    span: Span = Span.FIRST_DAY
    bytes_of: Callable[[Access], int] = bytes_read


CoverageByAspect = Mapping[str, Coverage]
"""By `Finding.aspect`; the empty one for findings that have none."""

CoverageKey = tuple[frozenset[Same], str, tuple[str, ...]]
"""What is the same, the cluster, and its values in the order of `Same`."""


def folder_of(access: Access) -> str:
    """Return the folder in which a blob lies; empty for the container itself."""
    return access.blob.rpartition("/")[0]


def identities_of(access: Access) -> list[str]:
    """Return who is behind an access: principal, application, and the human of its Pods."""
    names = [access.who]
    if access.principal and access.application:
        names.append(f"client:{access.application}")
    pods = access.attribution.pods
    human = pods[0].requester if pods else ""
    if human and human not in names and all(one.requester == human for one in pods[1:]):
        names.append(human)
    return names


_OF_ACCESS: Final[Mapping[Same, Callable[[Access], Sequence[str]]]] = {
    Same.ACCOUNT: lambda access: (access.account,),
    Same.CONTAINER: lambda access: (access.container,),
    Same.FOLDER: lambda access: (folder_of(access),),
    Same.STORE: lambda access: (access.store,),
    Same.WHO: lambda access: (access.who,),
    Same.IDENTITY: identities_of,
    Same.ADDRESS: lambda access: (access.address,),
}

_OF_FINDING: Final[Mapping[Same, Callable[[Finding], Sequence[str]]]] = {
    Same.ACCOUNT: lambda finding: (finding.account,),
    Same.CONTAINER: lambda finding: (finding.container,),
    Same.FOLDER: lambda finding: (finding.folder,),
    Same.STORE: lambda finding: (finding.store,),
    Same.WHO: lambda finding: (finding.who,),
    Same.IDENTITY: lambda finding: (finding.who,),
    Same.ADDRESS: lambda finding: finding.addresses,
}


def coverage_of(finding: Finding, coverages: CoverageByAspect) -> Coverage | None:
    """Return which accesses a finding counts; None where it is about no accesses.

    A finding of a release that wrote no aspect counts by the coverage without one.
    """
    return coverages.get(finding.aspect)


def keys_of_finding(finding: Finding, same: frozenset[Same]) -> Iterator[CoverageKey]:
    """Yield the keys of the accesses that have the same."""
    values = (_OF_FINDING[each](finding) for each in Same if each in same)
    return ((same, finding.cluster, each) for each in product(*values))


def keys_of_access(access: Access, same: frozenset[Same]) -> Iterator[CoverageKey]:
    """Yield the keys of the findings that have the same."""
    values = (_OF_ACCESS[each](access) for each in Same if each in same)
    return ((same, access.cluster, each) for each in product(*values))


def days_of(finding: Finding, span: Span) -> range | None:
    """Return the days since 1970-01-01 (UTC) of which a finding counts accesses.

    None: from the first one on; `first_day_of` gives that.
    """
    first = first_day_of(finding)
    if span is Span.ONWARDS:
        return None
    last = first if span is Span.FIRST_DAY else milliseconds_of(finding.time) // DAY_MS
    return range(first, last + 1)


def first_day_of(finding: Finding) -> int:
    """Return the day of a finding's first event, since 1970-01-01 (UTC)."""
    return milliseconds_of(finding.first) // DAY_MS
