"""The egress that an open BreakGlass opens: which Pods of its namespaces, and until when. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from core.approvals.break_glass import BreakGlass
from core.base import names
from core.base.safe_text import shorten
from core.base.times import time_text
from core.egress.pod_labels import workload_label
from core.kubernetes.label_selectors import Requirement, Requirements

_NAMED: Final = 4
"""So many workloads a text names, and how many more there are."""
_LONGEST: Final = 120


class BreakGlassOpening(msgspec.Struct, frozen=True):
    """Pods of a namespace connect everywhere but to reserved ranges, for a time."""

    name: str
    """The BreakGlass."""
    ends: float
    """Unix seconds."""
    workloads: tuple[str, ...] = ()
    """As the gate's label says them; none of them for all Pods."""
    named: tuple[str, ...] = ()
    """The same workloads as texts name them, such as `Job/fetch`."""

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether it opens a Pod with these labels."""
        return not self.workloads or labels.get(names.EGRESS_WORKLOAD_LABEL) in self.workloads

    def concerns(self, workloads: Iterable[tuple[str, str]]) -> bool:
        """Return whether it opens Pods of one of these workloads (kind, name); none: of any."""
        labels = {workload_label(*each) for each in workloads}
        return not self.workloads or not labels or not labels.isdisjoint(self.workloads)

    @property
    def pods(self) -> str:
        """Whose Pods it opens, in words."""
        if not self.workloads:
            return "all Pods"
        told = [shorten(each, _LONGEST, "…") for each in self.named[:_NAMED]]
        more = len(self.named) - _NAMED
        return f"Pods of {', '.join(told)}{f' and {more} more' if more > 0 else ''}"

    @property
    def reach(self) -> str:
        """Where one of its Pods connects, by what and until when."""
        until = time_text(self.ends)
        return f"everywhere but to reserved ranges, by BreakGlass {self.name} until {until}"

    def __str__(self) -> str:
        """Say whose Pods connect where, by what and until when."""
        return f"{self.pods} connect {self.reach}"


def egress_opening(one: BreakGlass) -> BreakGlassOpening | None:
    """Return what a BreakGlass opens once it is in force; None where that is no egress."""
    if one.spec.egress is None:
        return None
    named = tuple(sorted(set(one.spec.egress.workloads or ())))
    workloads = (each.partition("/") for each in named)
    labels = {workload_label(kind, name) for kind, _, name in workloads}
    return BreakGlassOpening(one.meta.name, one.ends, tuple(sorted(labels)), named)


def opened_pods(openings: Sequence[BreakGlassOpening]) -> Requirements | None:
    """Return which Pods some BreakGlass opens: `()` for all of them, None for none."""
    if not openings:
        return None
    if not all(each.workloads for each in openings):
        return ()
    labels = {label for each in openings for label in each.workloads}
    return (Requirement(names.EGRESS_WORKLOAD_LABEL, "In", tuple(sorted(labels))),)


def describe_openings(openings: Iterable[BreakGlassOpening]) -> str:
    """Say what BreakGlasses open, and until when; empty for none."""
    return "; ".join(map(str, openings))
