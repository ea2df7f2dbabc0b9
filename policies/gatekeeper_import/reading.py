"""What a policy reads of its input."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from policies.gatekeeper_import.names import Names, Package
from policies.gatekeeper_import.rego_values import Path, Value

T = TypeVar("T")


class Reading:
    """What was read."""

    def __init__(self) -> None:
        self.whole: set[Path] = set()
        """Paths of which all that lies below counts."""
        self.seen: set[Path] = set()
        """Paths of which it counts whether there is something; one that ends in "", how much."""

    def add(self, other: "Reading") -> None:
        """Count what another one has, too."""
        self.whole |= other.whole
        self.seen |= other.seen


class Follower(Protocol):
    """Follows rules and functions, and notes what they read."""

    names: Names
    reading: Reading
    """What has been read so far."""

    def read(self, value: Value) -> None:
        """Note that all in a value is read."""

    def called(self, package: Package, name: str, given: tuple[Value, ...]) -> Value:
        """Give what a rule may be; of a function, with these arguments."""

    def apart(self, work: Callable[[], T]) -> tuple[T, Reading]:
        """Give what some work gives, and what it reads, which does not count yet."""
