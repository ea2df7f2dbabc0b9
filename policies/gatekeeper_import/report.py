"""What became of each template and each Constraint."""

from typing import Literal

import msgspec


class Outcome(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What became of one."""

    kind: str
    """`ConstraintTemplate`, or the Constraint's kind."""
    name: str
    place: str
    """File and line."""
    outcome: Literal["carried-over", "refused"]
    rule: str = ""
    """Of a Constraint that was carried over, or of a template without one: the rule's id."""
    why: str = ""
    """Why it was refused."""
    differs: tuple[str, ...] = ()
    """What the rule does otherwise than it did."""
    fields: tuple[str, ...] = ()
    """What the rule declares to read."""

    @property
    def refused(self) -> bool:
        """Whether it was not carried over."""
        return self.outcome == "refused"


class Imported(msgspec.Struct, frozen=True):
    """All that was read, in its order."""

    outcomes: tuple[Outcome, ...]
    into: str
    rules_file: str
    passed_over: int = 0
    """Objects that are neither."""

    @property
    def complete(self) -> bool:
        """Whether all was carried over."""
        return not any(each.refused for each in self.outcomes)
