"""In which turn changed statuses are written, so that no namespace's changes keep others waiting.

One run writes a bounded number. Kinds take turns, and in each kind its namespaces: the one that was
tried longest ago comes first, and of its objects again that one. So what failed comes after all
that has not been tried since, and each run begins where the last one ended.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from control.approvals.evaluation_cache import FoundConditions


class StatusTurns:
    """Remembers when objects and namespaces were last tried."""

    def __init__(self) -> None:
        self._tries = 0
        self._objects: dict[str, int] = {}
        """Number of the last try, by UID; none where there was none."""
        self._places: dict[tuple[str, str], int] = {}
        """The same by kind and namespace."""

    def order(self, changed: Iterable[FoundConditions]) -> list[FoundConditions]:
        """Return them in the order in which they are tried."""
        kinds: dict[str, dict[str, list[FoundConditions]]] = {}
        for each in changed:
            kinds.setdefault(each.kind, {}).setdefault(each.head.namespace, []).append(each)
        return list(_by_turns(self._of_kind(kind, places) for kind, places in kinds.items()))

    def note(self, tried: FoundConditions) -> None:
        """Note that one is tried now."""
        self._tries += 1
        self._objects[tried.head.uid] = self._tries
        self._places[tried.kind, tried.head.namespace] = self._tries

    def keep(self, found: Iterable[FoundConditions]) -> None:
        """Forget objects and namespaces of which none of these is."""
        self._objects, objects = {}, self._objects
        self._places, places = {}, self._places
        for each in found:
            uid, place = each.head.uid, (each.kind, each.head.namespace)
            if uid in objects:
                self._objects[uid] = objects[uid]
            if place in places:
                self._places[place] = places[place]

    def _of_kind(
        self, kind: str, places: dict[str, list[FoundConditions]]
    ) -> Iterator[FoundConditions]:
        turns = sorted(places, key=lambda namespace: self._places.get((kind, namespace), 0))
        return _by_turns(
            sorted(places[each], key=lambda one: self._objects.get(one.head.uid, 0))
            for each in turns
        )


def _by_turns(rows: Iterable[Iterable[FoundConditions]]) -> Iterator[FoundConditions]:
    """Yield the first of each, then the second of each, and so on."""
    for turn in zip_longest(*rows):
        yield from (each for each in turn if each is not None)
