"""Why something of Entra's is not kept up: said once in the log, and in the snapshot's head."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec
import structlog

from core.base.errors import EntraError
from core.risk.snapshot import Coverage
from identity.entra.graph_answers import RESTING
from identity.entra.graph_requests import Resource

_AT_ONCE: Final = frozenset({"token", "unauthorized", "redirected"})
"""Kinds that waiting does not mend either, but that concern every resource."""

_STRIKES: Final = 2
"""Failures in a row after which a trouble that may pass is spoken of."""

_log = structlog.get_logger(__name__)


class Problems:
    """What is wrong now, with one resource or with all of them."""

    def __init__(self) -> None:
        self._own: dict[Resource, EntraError] = {}
        self._unreadable: dict[Resource, str] = {}
        self._common = ""
        self._strikes: Counter[Resource] = Counter()
        """Failures of each since it was last answered."""
        self._common_strikes = 0
        """Failures of any since any was answered."""

    def add(self, resource: Resource, error: EntraError) -> None:
        """Take in that a request failed."""
        self._strikes[resource] += 1
        if error.kind in RESTING or self._strikes[resource] >= _STRIKES:
            self._say(resource.value, str(error), before=str(self._own.get(resource, "")))
            self._own[resource] = error
        if error.kind in RESTING:
            return
        self._common_strikes += 1
        if error.kind in _AT_ONCE or self._common_strikes >= _STRIKES:
            self._say("all", str(error), before=self._common)
            self._common = str(error)

    def remove(self, resource: Resource, unreadable: int = 0) -> None:
        """Take in that a request was answered, and how many of its objects could not be read."""
        if self._common or resource in self._own:
            _log.info("Graph is read again", resource=resource.value)
        self._common, self._common_strikes = "", 0
        self._strikes.pop(resource, None)
        self._own.pop(resource, None)
        before = self._unreadable.pop(resource, "")
        if unreadable:
            text = f"Graph, {resource.value}: objects that cannot be read were left out"
            self._say(resource.value, text, before)
            self._unreadable[resource] = text

    def clear(self) -> None:
        """Forget everything."""
        self._own.clear()
        self._unreadable.clear()
        self._strikes.clear()
        self._common, self._common_strikes = "", 0

    def told_in(self, coverages: Mapping[Resource, Coverage]) -> dict[Resource, Coverage]:
        """Give how far each resource is known, with what is wrong."""
        return {each: self._told(each, coverage) for each, coverage in coverages.items()}

    def _told(self, resource: Resource, coverage: Coverage) -> Coverage:
        own = self._own.get(resource)
        text = str(own) if own else self._common or self._unreadable.get(resource, "")
        unlicensed = own is not None and own.kind == "licence"
        return msgspec.structs.replace(coverage, problem=text, unlicensed=unlicensed)

    def _say(self, resource: str, text: str, before: str) -> None:
        if text != before:
            _log.warning("Graph is not read as it should be", resource=resource, problem=text)
