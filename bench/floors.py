"""What must hold, and whether it did. A report and never a timed test: machines differ."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bench.contenders import GANG_GATE, GO_CHECK, UNCACHED_GATE

Measures = Mapping[str, Mapping[str, float]]
"""By contender: the median of each measure."""


@dataclass(frozen=True)
class Floor:
    """One thing that must hold."""

    what: str
    measured: float | None
    """None where it could not be measured."""
    wanted: float
    at_least: bool
    unit: str

    @property
    def holds(self) -> bool | None:
        """Whether it held; None where it could not be measured."""
        if self.measured is None:
            return None
        return self.measured >= self.wanted if self.at_least else self.measured < self.wanted

    def line(self) -> str:
        """Say so in one line."""
        word = "at least" if self.at_least else "under"
        wanted = f"{self.what}: {word} {self.wanted:,g} {self.unit}".rstrip()
        if self.measured is None:
            return f"NOT MEASURED  {wanted}"
        verdict = "holds        " if self.holds else "DOES NOT HOLD"
        return f"{verdict} {wanted}; measured {self.measured:,.4g}"


_UNCACHED: Final = "uncached"


def floors(measures: Measures, memory: Mapping[str, float]) -> list[Floor]:
    """Return the floors of issue "Profiles in depth" (docs/performance.md says what each means)."""
    ours, gang, go = measures[UNCACHED_GATE], measures[GANG_GATE], measures.get(GO_CHECK)
    ratio = go["cpu_ms"] / ours["cpu_ms"] if go else None
    growth = memory["after_mib"] - memory["half_mib"]
    return [
        Floor(f"{_UNCACHED} reviews/s", ours["reviews_per_second"], 1500, at_least=True, unit=""),
        Floor(f"{_UNCACHED} p99", ours["p99_ms"], 25, at_least=False, unit="ms"),
        Floor("gang reviews/s", gang["reviews_per_second"], 6000, at_least=True, unit=""),
        Floor("CPU of the Go check / ours", ratio, 1.2, at_least=True, unit=""),
        Floor("RSS", memory["after_mib"], 250, at_least=False, unit="MiB"),
        Floor("RSS gained in the second half", growth, 8, at_least=False, unit="MiB"),
    ]


def report(all_floors: Iterable[Floor]) -> list[str]:
    """Return a line for each."""
    return [floor.line() for floor in all_floors]
