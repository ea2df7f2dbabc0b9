"""One row of the table that says what risk does, and which requests it matches. Pure."""

from typing import Final

import msgspec

from core.risk.model import Effect, OperationClass, Role, Standing

ALL_STANDINGS: Final = frozenset(Standing)
ALL_OPERATIONS: Final = frozenset(OperationClass)
ALL_ROLES: Final = frozenset(Role)

SANDBOXED: Final = frozenset({OperationClass.CREATE_WORKLOAD, OperationClass.EXEC})
"""What can be isolated: nothing else runs anything, so `sandbox` would mean nothing there."""


class RiskRow(msgspec.Struct, frozen=True, kw_only=True):
    """What happens where all that it names holds."""

    name: str
    effect: Effect
    standings: frozenset[Standing] = ALL_STANDINGS
    operations: frozenset[OperationClass] = ALL_OPERATIONS
    roles: frozenset[Role] = ALL_ROLES
    namespaces: frozenset[str] | None = None
    """Words of the label `sallyport.dev/risk-class`, `""` for none; None for any."""
    groups: frozenset[str] = frozenset()
    """Object ids in lower case, one of which the requester is in; empty for whoever."""
    message: str = ""
    """What the site tells people whom it concerns."""

    def matches_place(self, namespace_class: str, groups: frozenset[str]) -> bool:
        """Return whether namespace and groups fit.

        The rest is looked up (`identity.risk.table`).
        """
        if self.namespaces is not None and namespace_class not in self.namespaces:
            return False
        return not self.groups or not self.groups.isdisjoint(groups)

    @property
    def written(self) -> tuple[str | list[str] | None, ...]:
        """All of it in a fixed order, to take a digest of."""
        places = None if self.namespaces is None else sorted(self.namespaces)
        words = (_words(self.standings), _words(self.operations), _words(self.roles))
        return (self.name, self.effect.value, *words, places, sorted(self.groups), self.message)

    def covers(self, other: "RiskRow") -> bool:
        """Return whether whatever the other row matches, this one matches too."""
        return (
            self.standings >= other.standings
            and self.operations >= other.operations
            and self.roles >= other.roles
            and _covers_places(self.namespaces, other.namespaces)
            and (not self.groups or (bool(other.groups) and self.groups >= other.groups))
        )


def _covers_places(mine: frozenset[str] | None, others: frozenset[str] | None) -> bool:
    return mine is None or (others is not None and mine >= others)


def _words(of: frozenset[Standing] | frozenset[OperationClass] | frozenset[Role]) -> list[str]:
    return sorted(each.value for each in of)
