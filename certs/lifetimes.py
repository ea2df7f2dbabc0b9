"""How long CAs and certificates are valid, and which lifetimes work together."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

_DISTRIBUTIONS_OF_A_LEAF: Final = 6
"""A new leaf is made when a third is left, which must be enough to reach every gate twice over."""

_LEAVES_OF_AN_AUTHORITY: Final = 2
"""So many leaves' lifetimes fit into that of a CA: else leaves would end early, with their CA."""


@dataclass(frozen=True)
class RotationSettings:
    """How long things are valid; a CA and a leaf are replaced after two thirds of it."""

    authority_lifetime: dt.timedelta = dt.timedelta(days=365)
    leaf_lifetime: dt.timedelta = dt.timedelta(days=90)
    distribution: dt.timedelta = dt.timedelta(minutes=10)
    """In which each party reads what changed: a kubelet brings a Secret's change to a volume
    within two minutes (its sync period of 1 minute and the age of its cache of another)."""

    def problem(self) -> str:
        """Say what of them cannot work together; empty where all can."""
        if self.leaf_lifetime < self.distribution * _DISTRIBUTIONS_OF_A_LEAF:
            return (
                f"leaves of {self.leaf_lifetime} would expire while new ones are on their way; "
                f"give them {_DISTRIBUTIONS_OF_A_LEAF} times the distribution of "
                f"{self.distribution} or more"
            )
        if self.authority_lifetime < self.leaf_lifetime * _LEAVES_OF_AN_AUTHORITY:
            return (
                f"a CA of {self.authority_lifetime} would cut leaves of {self.leaf_lifetime} "
                f"short; give it {_LEAVES_OF_AN_AUTHORITY} times that or more"
            )
        return ""
