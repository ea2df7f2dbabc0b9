"""Which namespaces are enrolled, and what of each is closed but for what allowlists open. Pure.

A namespace is enrolled by its label `sallyport.dev/egress`: `deny` closes all of it; `audit` has
its Pods labelled and closes the workloads alone that an annotation lists; `open` leaves it out.
"""

from typing import Final

import msgspec

from core.base import names
from core.base.errors import NamespaceMarkError
from core.base.safe_text import printable
from core.decision.namespaces import Namespace
from core.egress.pod_labels import workload_label
from core.kubernetes.label_selectors import Requirement, Requirements
from core.kubernetes.names import KIND, SUBDOMAIN

OPEN: Final = "open"
AUDIT: Final = "audit"

MOST_WORKLOADS: Final = 64
"""That are closed one by one: as many values as a selector of an allowlist lists."""


class Closure(msgspec.Struct, frozen=True):
    """What of a namespace is closed but for what allowlists open."""

    labels_pods: bool = False
    """Whether its Pods get the labels to which openings attach."""
    is_whole: bool = False
    """Whether all of its Pods are closed."""
    workloads: tuple[str, ...] = ()
    """Of one that is audited: labels of the workloads whose Pods are closed; sorted."""

    @property
    def closes(self) -> bool:
        """Whether Pods are closed, all of them or some."""
        return self.is_whole or bool(self.workloads)

    @property
    def selects(self) -> Requirements:
        """What the labels of Pods that are closed must be; none of them for all Pods."""
        if self.is_whole or not self.workloads:
            return ()
        return (Requirement(names.EGRESS_WORKLOAD_LABEL, "In", self.workloads),)


NOTHING_CLOSED: Final = Closure()
WHOLLY_CLOSED: Final = Closure(labels_pods=True, is_whole=True)


class Enrolment(msgspec.Struct, frozen=True):
    """Which namespaces are enrolled: their Pods connect only where EgressAllowlists say."""

    default: bool = False
    """Whether those without the label are."""
    excluded: frozenset[str] = frozenset()
    """Names that `default` does not count for: those of the cluster itself."""

    def enrols(self, namespace: Namespace) -> bool:
        """Return whether all of a namespace is closed: any other word of its label counts so."""
        return self.closure(namespace).is_whole

    def closure(self, namespace: Namespace) -> Closure:
        """Return what of a namespace is closed."""
        label = namespace.labels.get(names.EGRESS_LABEL)
        if label is None:
            closed = self.default and namespace.name not in self.excluded
            return WHOLLY_CLOSED if closed else NOTHING_CLOSED
        if label == OPEN:
            return NOTHING_CLOSED
        if label != AUDIT:
            return WHOLLY_CLOSED
        try:
            workloads = closed_workloads(namespace)
        except NamespaceMarkError:  # The gate refuses it; whoever went past the gate closes all.
            return WHOLLY_CLOSED
        return Closure(
            labels_pods=True, workloads=tuple(sorted({workload_label(*each) for each in workloads}))
        )


def closed_workloads(namespace: Namespace) -> tuple[tuple[str, str], ...]:
    """Return the workloads that an audited namespace closes already, each by kind and name.

    Raises:
        NamespaceMarkError: the annotation lists something else; says what it must be.
    """
    text = namespace.annotations.get(names.EGRESS_WORKLOADS_ANNOTATION, "")
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        kind, slash, name = part.partition("/")
        if not slash or KIND.fullmatch(kind) is None or SUBDOMAIN.fullmatch(name) is None:
            problem = f"{printable(part, 80)} is no workload. Write KIND/NAME, such as Job/fetch"
            raise _broken(namespace, problem)
        found.append((kind, name))
    if len(found) > MOST_WORKLOADS:
        raise _broken(
            namespace,
            f"it lists {len(found)} workloads. Close the whole namespace in place of more than "
            f"{MOST_WORKLOADS}",
        )
    return tuple(dict.fromkeys(found))


def _broken(namespace: Namespace, problem: str) -> NamespaceMarkError:
    path = f"metadata.annotations[{names.EGRESS_WORKLOADS_ANNOTATION}]"
    return NamespaceMarkError(f"Namespace {namespace.name}: {path}: {problem}.")
