"""Engines that evaluate a bundle. All give the same needs for the same projection."""

from collections.abc import Mapping
from typing import Protocol

from core.decision import Need
from policies.bundle import Rule


class Engine(Protocol):
    """Evaluates the bundle it was made with."""

    @property
    def revision(self) -> str:
        """The revision of the bundle in force."""

    @property
    def rules(self) -> Mapping[str, Rule]:
        """What the METADATA of its rules says, by rule id."""

    async def needs(self, projection: bytes) -> list[Need]:
        """Give what an object needs, ordered by path, then by rule.

        Raises:
            EvaluationError: the policies failed, or exceeded their time or memory.
        """

    def close(self) -> None:
        """Free what the engine holds."""
