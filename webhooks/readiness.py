"""Whether the process is ready, and if not, what is missing."""

from collections.abc import Callable, Mapping

Check = Callable[[], list[str]]
"""Names what is missing, for a person; empty when nothing is."""


class Readiness:
    """The checks behind `/readyz`, and the word that the process is on its way out."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = dict(checks)
        self.draining = False

    def report(self) -> dict[str, list[str]]:
        """Return for each check what it misses."""
        report = {name: check() for name, check in self._checks.items()}
        report["shutdown"] = ["this process is shutting down"] if self.draining else []
        return report

    def missing(self) -> list[str]:
        """Return everything that is missing, each with its check's name."""
        return [f"{name}: {what}" for name, found in self.report().items() for what in found]
