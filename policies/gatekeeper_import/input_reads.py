"""Finds which places of its input a policy reads, by following its references.

It errs on one side: what it cannot follow, it takes as read. Nothing is evaluated.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from core.base.errors import BundleRefusedError
from policies.gatekeeper_import.clauses import Clause
from policies.gatekeeper_import.names import Names, Package
from policies.gatekeeper_import.reading import Reading, T
from policies.gatekeeper_import.rego_values import NOTHING, Value, whole
from policies.gatekeeper_import.syntax import Tree, package_of

_DEEPEST: Final = 60


def follow(trees: Sequence[Tree], rule: str = "violation") -> Reading:
    """Give what a rule of the first of the trees reads.

    Raises:
        BundleRefusedError: it replaces its input (`with`), or is too deep to be followed.
    """
    follower = _Follower(trees)
    follower.read(follower.called(package_of(trees[0]), rule, ()))
    return follower.reading


class _Follower:
    def __init__(self, trees: Sequence[Tree]) -> None:
        self.reading = Reading()
        self._known: dict[tuple[Any, ...], tuple[Value, Reading]] = {}
        self._depth = 0
        self.names = Names(trees)

    def read(self, value: Value) -> None:
        self.reading.whole |= whole(value)

    def called(self, package: Package, name: str, given: tuple[Value, ...]) -> Value:
        """Give what a rule may be; of a function, with these arguments."""
        key = (package, name, given)
        if key not in self._known:
            self._known[key] = (NOTHING, Reading())
            self._known[key] = self.apart(lambda: self._evaluated(package, name, given))
        value, reading = self._known[key]
        self.reading.add(reading)
        return value

    def apart(self, work: Callable[[], T]) -> tuple[T, Reading]:
        """Give what some work gives, and what it reads, which does not count yet."""
        before, self.reading = self.reading, Reading()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BundleRefusedError("its calls lie too deep to be followed")
        try:
            return work(), self.reading
        finally:
            self.reading = before
            self._depth -= 1

    def _evaluated(self, package: Package, name: str, given: tuple[Value, ...]) -> Value:
        rules = self.names.rules(package, name)
        found = [Clause(self, package, rule, given).value() for rule in rules]
        joined: Value = frozenset().union(*found)
        return joined
