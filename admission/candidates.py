"""Which profiles may be tried for what an object needs, and what each lacks. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from core.namespaces import Namespace
from core.profiles import Profile, ProfileSet

MAX_PRIVILEGES: Final = 256
"""The most different privileges that are judged: comparing them with 300 profiles takes up to
0.1 s, during which the gate answers nobody else. The neediest node agents need about 30."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A profile, and what it lacks of what an object needs: the answer to "why not?"."""

    profile: Profile
    gaps: frozenset[str]

    @property
    def name(self) -> str:
        """The profile's name."""
        return self.profile.name


def candidates(
    profiles: ProfileSet, namespace: Namespace | None, privileges: Collection[str]
) -> tuple[Candidate, ...]:
    """Give the profiles that the namespace's ceiling leaves (all without one), as they are tried.

    More privileges than MAX_PRIVILEGES have no candidates.
    """
    if len(privileges) > MAX_PRIVILEGES:
        return ()
    ceiling = namespace.ceiling if namespace else None
    return tuple(
        Candidate(profile, frozenset(p for p in privileges if not profile.covers(p)))
        for profile in profiles.ordered
        if ceiling is None or profile.name in ceiling
    )


def covering(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Give those that lack nothing, in their order."""
    return [candidate for candidate in candidates if not candidate.gaps]


def nearest(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Give those that lack something, the fewest gaps first."""
    return sorted(
        (candidate for candidate in candidates if candidate.gaps),
        key=lambda candidate: len(candidate.gaps),
    )
