"""Which profiles may be tried for what an object needs, and what each lacks. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from itertools import chain, islice
from operator import or_
from typing import Final

from core.decision.decision import Need
from core.decision.namespaces import Namespace
from core.profiles.container_profiles import Profile, ProfileSet
from policies.bundle.format import Rule

MAX_PRIVILEGES: Final = 256
"""The most different privileges that are judged: a refusal shows them all, with the profiles that
cover each. The neediest node agents need about 30."""

MOST_NEAREST: Final = 8
"""Profiles looked at of those that lack something, to word a refusal and for the record."""

_MOST_REMEMBERED: Final = 512
_MOST_OF_REMEMBERED: Final = 32
"""Different privileges of one object; of more it is worked out anew."""
_LONGEST_REMEMBERED: Final = 8192
"""Characters of them all: one may name an image, as long as its author likes."""

_OF_EVERY_POD: Final = "image/from/"

_NOTHING: Final[frozenset[str]] = frozenset()


def is_special(privilege: str) -> bool:
    """Return whether a Pod can do without a privilege: each pulls its image from somewhere."""
    return not privilege.startswith(_OF_EVERY_POD)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A profile, and what it lacks of what an object needs: the answer to "why not?"."""

    profile: Profile
    gaps: frozenset[str]
    later: frozenset[str] = frozenset()
    """What it lacks of privileges that were added after the catalogue it was written for: they
    are warnings until its author raises `spec.catalogue`."""

    @property
    def name(self) -> str:
        """The profile's name."""
        return self.profile.name


@dataclass(frozen=True)
class Candidates:
    """The profiles that may be tried for what an object needs, in the order in which they are.

    Profiles are bits of `profiles.index`, so that what is asked of all of them at once costs the
    same with 3 and with 300; a Candidate is made only of those that somebody looks at.
    """

    profiles: ProfileSet
    within: int
    """Those that the ceiling leaves."""
    lacking: Mapping[str, int]
    """For each privilege that is needed: those that lack it."""
    gaps: Mapping[str, int]
    """The same without those that were written for an older catalogue."""
    _made: dict[int, Candidate] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By the place of each profile, those that somebody has looked at."""

    def __len__(self) -> int:
        return self.within.bit_count()

    def covering(self) -> Iterator[Candidate]:
        """Yield those that lack nothing, in their order."""
        return self._each(_without(self.within, self._with_gaps))

    def covering_names(self) -> list[str]:
        """Name them."""
        return self._names(_without(self.within, self._with_gaps))

    @cached_property
    def nearest(self) -> tuple[Candidate, ...]:
        """Those that lack something, the fewest gaps first; at most MOST_NEAREST."""
        at_least = [self.within]
        for lacking in filter(None, self.gaps.values()):
            at_least.append(0)
            for count in range(len(at_least) - 1, 0, -1):
                at_least[count] |= at_least[count - 1] & lacking
        exactly = map(_without, at_least, [*at_least[1:], 0])
        places = chain.from_iterable(map(_places, islice(exactly, 1, None)))
        return tuple(map(self._candidate, islice(places, MOST_NEAREST)))

    def covering_names_of(self, privilege: str) -> list[str]:
        """Name those that cover one of the privileges that are needed."""
        return self._names(self._having(privilege))

    def uncovered_privileges(self) -> set[str]:
        """Return the privileges that none of them covers."""
        return {privilege for privilege in self.lacking if not self._having(privilege)}

    def only(self, name: str) -> "Candidates":
        """Return the same of one profile; of none, if it is not among them."""
        return replace(self, within=self.within & self.profiles.bit(name))

    def first(self) -> Candidate | None:
        """Return the first, whatever it lacks."""
        return next(self._each(self.within), None)

    def _having(self, privilege: str) -> int:
        return _without(self.within, self.lacking[privilege])

    def _each(self, bits: int) -> Iterator[Candidate]:
        return map(self._candidate, _places(bits))

    def _names(self, bits: int) -> list[str]:
        return [self.profiles.ordered[place].name for place in _places(bits)]

    def _candidate(self, place: int) -> Candidate:
        found = self._made.get(place)
        if found is None:
            found = self._made[place] = self._make(place)
        return found

    def _make(self, place: int) -> Candidate:
        profile = self.profiles.ordered[place]
        if not (self._lacking_any >> place & 1):
            return Candidate(profile, _NOTHING)
        gaps, lacks = (
            frozenset(privilege for privilege, bits in each.items() if bits >> place & 1)
            for each in (self.gaps, self.lacking)
        )
        return Candidate(profile, gaps, lacks - gaps)

    @cached_property
    def _with_gaps(self) -> int:
        return reduce(or_, self.gaps.values(), 0)

    @cached_property
    def _lacking_any(self) -> int:
        return reduce(or_, self.lacking.values(), 0)


def _without(bits: int, others: int) -> int:
    return bits & ~others


def _places(bits: int) -> Iterator[int]:
    """Yield the places of the bits that are set, the lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def candidates(
    profiles: ProfileSet, namespace: Namespace | None, privileges: Mapping[str, int]
) -> Candidates:
    """Return the profiles that the namespace's ceiling leaves (all without one), as they are tried.

    `privileges` are given with the version of the catalogue that each appeared in. More of them
    than MAX_PRIVILEGES have no candidates. What few privileges lack, and which profiles are nearest
    to them, is worked out once: the same few are asked for again and again.
    """
    if len(privileges) > MAX_PRIVILEGES:
        return Candidates(profiles, 0, {}, {})
    ceiling = namespace.ceiling if namespace else None
    wanted = tuple(privileges.items())
    few = len(wanted) <= _MOST_OF_REMEMBERED and sum(map(len, privileges)) <= _LONGEST_REMEMBERED
    return (_remembered_candidates if few else _candidates)(profiles, ceiling, wanted)


def _candidates(
    profiles: ProfileSet, ceiling: frozenset[str] | None, privileges: tuple[tuple[str, int], ...]
) -> Candidates:
    within = profiles.bits(ceiling)
    covering = profiles.index.covering
    lacking = {privilege: within & ~covering(privilege) for privilege, _ in privileges}
    gaps = {
        privilege: lacking[privilege] & profiles.demanding(since) for privilege, since in privileges
    }
    return Candidates(profiles, within, lacking, gaps)


_remembered_candidates = lru_cache(_MOST_REMEMBERED)(_candidates)


def find_privileges(needs: Iterable[Need], rules: Mapping[str, Rule]) -> dict[str, int]:
    """Return the different privileges, each with the catalogue in which it appeared."""
    found: dict[str, int] = {}
    for name, privilege in dict.fromkeys([(need.rule, need.privilege) for need in needs]):
        rule = rules.get(name)
        version = rule.since if rule else 1
        found[privilege] = min(version, found.get(privilege, version))
    return found
