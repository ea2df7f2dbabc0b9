"""What a namespace's label and annotation close."""

import pytest

from core.base import names
from core.base.errors import NamespaceMarkError
from core.decision.namespaces import Namespace
from core.egress.enrolment import (
    NOTHING_CLOSED,
    WHOLLY_CLOSED,
    Closure,
    Enrolment,
    closed_workloads,
)
from core.egress.pod_labels import workload_label
from core.kubernetes.label_selectors import Requirement

OWN = frozenset({"own"})


def _namespace(label: str | None, listed: str = "") -> Namespace:
    labels = {} if label is None else {names.EGRESS_LABEL: label}
    return Namespace("a", labels, {names.EGRESS_WORKLOADS_ANNOTATION: listed} if listed else {})


@pytest.mark.parametrize(
    ("label", "closure"),
    [
        (None, NOTHING_CLOSED),
        ("open", NOTHING_CLOSED),
        ("audit", Closure(labels_pods=True)),
        ("deny", WHOLLY_CLOSED),
        ("Audit", WHOLLY_CLOSED),
        ("", WHOLLY_CLOSED),
    ],
)
def test_the_label_says_what_is_closed(label: str | None, closure: Closure) -> None:
    """An unknown word closes everything: a typing error opens nothing."""
    assert Enrolment().closure(_namespace(label)) == closure


def test_without_the_label_the_default_counts() -> None:
    """But for those that it leaves out."""
    assert Enrolment(default=True).closure(Namespace("a")) == WHOLLY_CLOSED
    assert Enrolment(default=True, excluded=OWN).closure(Namespace("own")) == NOTHING_CLOSED
    assert Enrolment(default=True).closure(_namespace("audit")) == Closure(labels_pods=True)


def test_an_audited_namespace_closes_the_workloads_that_it_lists() -> None:
    """By the labels that the gate gives their Pods; of a closed one the list says nothing."""
    found = Enrolment().closure(_namespace("audit", "Deployment/web, Job/fetch,"))
    assert (found.closes, found.is_whole, found.labels_pods) == (True, False, True)
    values = (workload_label("Deployment", "web"), workload_label("Job", "fetch"))
    assert found.selects == (Requirement(names.EGRESS_WORKLOAD_LABEL, "In", values),)
    assert Enrolment().closure(_namespace("deny", "Job/fetch")) == WHOLLY_CLOSED
    assert Enrolment().closure(_namespace("open", "Job/fetch")) == NOTHING_CLOSED


@pytest.mark.parametrize("listed", ["web", "Deployment/", "/web", "deployment/web", "Job/a b", "*"])
def test_a_list_that_cannot_be_read_closes_everything(listed: str) -> None:
    """The gate refuses it with the field; where somebody went past it, nothing stays open."""
    with pytest.raises(NamespaceMarkError, match=r"egress-workloads\]: .* Write KIND/NAME"):
        closed_workloads(_namespace("audit", listed))
    assert Enrolment().closure(_namespace("audit", listed)) == WHOLLY_CLOSED


def test_more_workloads_than_a_selector_lists_are_refused() -> None:
    """The whole namespace can be closed instead."""
    many = ",".join(f"Job/a{index}" for index in range(65))
    with pytest.raises(NamespaceMarkError, match="lists 65 workloads"):
        closed_workloads(_namespace("audit", many))
