"""Says of people, by the marks of the two-person rule, whether they are at risk now."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from core.people.two_person import AtRisk
from core.risk.model import LATEST_DETECTION_S, RiskSource, RiskState, identity_key
from core.risk.snapshot import RiskSnapshot
from identity.risk.standings import at_risk, says_at_risk

_EVER: Final = 2**32


@dataclass(frozen=True)
class PeopleAtRisk:
    """Answers `core.people.two_person.RiskOf` from the snapshot of now, however old it is."""

    snapshot: Callable[[], RiskSnapshot | None]
    """None where nothing is decided by risk."""

    def __call__(self, marks: Collection[str]) -> AtRisk | None:
        """Say whether whoever is known by any of these marks is at risk."""
        snapshot = self.snapshot()
        if snapshot is None:
            return None
        risky = [key for key in map(identity_key, marks) if at_risk(snapshot, key)]
        if not risky:
            return None
        return AtRisk(min(_sure_before(snapshot, key) for key in risky))


def _sure_before(snapshot: RiskSnapshot, key: bytes) -> float:
    """Give before when whoever has an identity was certainly its owner; 0 for never.

    Entra reports what happened at most 48 hours before the risk arose, and says of some of it when
    that was. Whose account somebody has confirmed to be compromised, nobody says since when: so
    then nothing is certain, and neither is it where it is not known since when the risk lasts.
    """
    earliest = min(
        0
        if entry.state is RiskState.CONFIRMED_COMPROMISED
        else min(entry.since, entry.active or _EVER)
        for family in RiskSource
        if (entry := snapshot.entry(family, key)) and says_at_risk(entry)
    )
    return max(float(earliest - LATEST_DETECTION_S), 0.0)
