"""The egress that an open BreakGlass opens: which Pods of its namespaces, and until when. Pure."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from core.approvals.break_glass import BreakGlass
from core.base import names
from core.base.times import time_text
from core.egress.pod_labels import workload_label
from core.kubernetes.label_selectors import Requirement, Requirements


class BreakGlassOpening(msgspec.Struct, frozen=True):
    """Pods of a namespace connect everywhere, for a time."""

    name: str
    """The BreakGlass."""
    ends: float
    """Unix seconds."""
    workloads: tuple[str, ...] = ()
    """As the gate's label says them; none of them for all Pods."""

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether it opens a Pod with these labels."""
        return not self.workloads or labels.get(names.EGRESS_WORKLOAD_LABEL) in self.workloads

    def __str__(self) -> str:
        """Say by what, and until when, it is open."""
        which = f" ({', '.join(self.workloads)})" if self.workloads else ""
        return f"open by BreakGlass {self.name} until {time_text(self.ends)}{which}"


def egress_opening(one: BreakGlass) -> BreakGlassOpening | None:
    """Return what a BreakGlass opens once it is in force; None where that is no egress."""
    if one.spec.egress is None:
        return None
    workloads = (each.partition("/") for each in one.spec.egress.workloads or ())
    labels = {workload_label(kind, name) for kind, _, name in workloads}
    return BreakGlassOpening(one.meta.name, one.ends, tuple(sorted(labels)))


def opened_pods(openings: Sequence[BreakGlassOpening]) -> Requirements | None:
    """Return which Pods some BreakGlass opens: `()` for all of them, None for none."""
    if not openings:
        return None
    if not all(each.workloads for each in openings):
        return ()
    labels = {label for each in openings for label in each.workloads}
    return (Requirement(names.EGRESS_WORKLOAD_LABEL, "In", tuple(sorted(labels))),)


def describe_openings(openings: Iterable[BreakGlassOpening]) -> str:
    """Say by which BreakGlasses something is open, and until when; empty for none."""
    return "; ".join(map(str, openings))
