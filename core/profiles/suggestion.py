"""The least list of privileges that covers what some objects need, with its evidence. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import msgspec

from core.decision.decision import Need
from core.profiles.privileges import ONE, REST

MOST_PLACES: Final = 20
"""Places kept of one line; the others are counted."""

FOLD_FROM: Final = 4
"""Fewer privileges than these are shorter as they are."""


@dataclass(frozen=True)
class ExaminedObject:
    """What the rules found that one object needs."""

    object: str
    """For people: `Deployment train/server`."""
    prefix: str
    """Where its Pod lies in the object, `spec.template`; empty where the object is the Pod."""
    needs: Sequence[Need]


class NeedPlace(msgspec.Struct, frozen=True):
    """A field that needs a privilege."""

    object: str
    path: str
    container: str | None = None


class SuggestedLine(msgspec.Struct, frozen=True, rename="camel"):
    """One line of a profile, and why it stands there."""

    privilege: str
    """A privilege; or, where it folds others, a pattern."""
    places: list[NeedPlace]
    """The first that were found."""
    more_places: int = 0
    folds: list[str] = []
    """The privileges that a pattern stands for; it covers others that nobody needs."""


class _Family(msgspec.Struct, frozen=True):
    """Privileges that may be folded, and how many segments a pattern must at least spell."""

    prefix: str
    spelt: int


_FAMILIES: Final = (
    _Family("host/port", 2),
    _Family("dns/host-alias", 2),
    _Family("volume/hostPath:ro", 4),
    _Family("volume/hostPath:rw", 4),
    _Family("image/from", 4),
)

_NEVER: Final = frozenset({"etc/kubernetes", "var/lib", "var/lib/kubelet", "var/run"})
"""Folders of a node below which the kubelet's and the container runtime's own lie."""


def suggest_privileges(examined: Iterable[ExaminedObject]) -> list[SuggestedLine]:
    """Return a line for each privilege that some object needs, sorted: no wider, each needed."""
    places: dict[str, list[NeedPlace]] = {}
    more: dict[str, int] = {}
    for one in examined:
        for need in one.needs:
            found = places.setdefault(need.privilege, [])
            if len(found) < MOST_PLACES:
                found.append(_place(one, need))
            else:
                more[need.privilege] = more.get(need.privilege, 0) + 1
    return [SuggestedLine(name, places[name], more.get(name, 0)) for name in sorted(places)]


def _place(one: ExaminedObject, need: Need) -> NeedPlace:
    path = ".".join(part for part in (one.prefix, need.path) if part)
    return NeedPlace(one.object, path, need.container)


def fold_lines(lines: Iterable[SuggestedLine]) -> list[SuggestedLine]:
    """Put a pattern for FOLD_FROM or more lines that lie below the same place, sorted.

    The narrowest pattern is taken; capabilities and the like, of which each has its own
    meaning, are never folded. Still covered is all that was, and each line is needed.
    """
    folded: list[SuggestedLine] = []
    for family, group in groupby(sorted(lines, key=_by_privilege), _family):
        alike = list(group)
        folded += _fold(alike, 0, family) if family else alike
    return sorted(folded, key=_by_privilege)


def _by_privilege(line: SuggestedLine) -> str:
    return line.privilege


def _family(line: SuggestedLine) -> _Family | None:
    return next((f for f in _FAMILIES if line.privilege.startswith(f"{f.prefix}/")), None)


def _fold(lines: list[SuggestedLine], depth: int, family: _Family) -> list[SuggestedLine]:
    """Fold lines that share their first `depth` segments, from the deepest place up."""
    here: list[SuggestedLine] = []
    below: list[SuggestedLine] = []
    for line in lines:
        (below if len(_segments(line)) > depth else here).append(line)
    below.sort(key=lambda line: _segments(line)[depth])
    result = [
        line
        for _, group in groupby(below, lambda line: _segments(line)[depth])
        for line in _fold(list(group), depth + 1, family)
    ]
    single = [line for line in result if not line.folds]
    if len(single) < FOLD_FROM or not _may_fold(_segments(result[0])[:depth], family):
        return here + result
    return [*here, _pattern(result, depth)]


def _may_fold(spelt: Sequence[str], family: _Family) -> bool:
    """Return whether a pattern may stand for all below these segments.

    Never for a path with `..`.
    """
    return (
        len(spelt) >= family.spelt and "%2E%2E" not in spelt and "/".join(spelt[2:]) not in _NEVER
    )


def _pattern(lines: Sequence[SuggestedLine], depth: int) -> SuggestedLine:
    folds = sorted(set(_folds(lines)))
    flat = all(privilege.count("/") == depth for privilege in folds)
    spelt = _segments(lines[0])[:depth]
    places = [place for line in lines for place in line.places]
    return SuggestedLine(
        "/".join([*spelt, ONE if flat else REST]),
        places[:MOST_PLACES],
        sum(line.more_places for line in lines) + max(len(places) - MOST_PLACES, 0),
        folds,
    )


def _folds(lines: Iterable[SuggestedLine]) -> Iterator[str]:
    for line in lines:
        yield from line.folds or [line.privilege]


def _segments(line: SuggestedLine) -> list[str]:
    return line.privilege.split("/")
