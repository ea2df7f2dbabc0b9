"""What BreakGlasses open to model weights, as the gate is told it."""

import pytest

from core.approvals.break_glass_egress import BreakGlassOpening
from core.egress.enrolment import MOST_WORKLOADS, NOTHING_CLOSED, WHOLLY_CLOSED, Closure
from core.weights.egress_openings import (
    EVERY_STORE,
    WeightOpening,
    decode_openings,
    encode_openings,
)
from egress.compiler.weight_openings import glass_to_weights

AUDITED = Closure(labels_pods=True, workloads=("Job.a", "Job.b"))


def opening(*workloads: str) -> BreakGlassOpening:
    """Return what a BreakGlass opens."""
    return BreakGlassOpening("fire", 1_800_000_000.0, workloads)


@pytest.mark.parametrize(
    ("workloads", "closure", "told"),
    [
        ((), WHOLLY_CLOSED, [()]),
        (("Job.a",), WHOLLY_CLOSED, [("Job.a",)]),
        ((), AUDITED, [("Job.a", "Job.b")]),
        (("Job.b", "Job.c"), AUDITED, [("Job.b",)]),
        (("Job.c",), AUDITED, []),
        ((), NOTHING_CLOSED, []),
    ],
    ids=["all", "one", "audited", "one that is audited", "one that is left open", "none closed"],
)
def test_what_is_closed_is_opened_in_one_entry_for_every_store(
    workloads: tuple[str, ...], closure: Closure, told: list[tuple[str, ...]]
) -> None:
    """Of what an audit does not close, nothing is opened."""
    found = glass_to_weights([opening(*workloads)], closure)
    assert [each.workloads for each in found] == told
    assert {each.store for each in found} <= {EVERY_STORE}


def test_hundred_namespaces_with_all_their_workloads_fit_into_the_summary() -> None:
    """It is one ConfigMap, whose data has no more than 1 MiB; however many stores there are."""
    names = tuple(f"Job.{number:02}".ljust(63, "x") for number in range(MOST_WORKLOADS))
    (one,) = glass_to_weights([opening(*names)], WHOLLY_CLOSED)
    assert 100 * len(encode_openings((one,))) < 1 << 20


def test_an_entry_of_before_names_one_store_and_asks_a_grant_of_every_pod() -> None:
    """It had one workload; whoever does not know the field asks for more, not for less."""
    text = (
        '{"format":1,"openings":[{"account":"","store":"llama",'
        '"to":"everywhere by BreakGlass fire","allowlist":"",'
        '"breakGlass":"fire","workload":"Job.a"}]}'
    )
    (one,) = decode_openings(text, "it")
    assert one == WeightOpening(
        "", "llama", "everywhere by BreakGlass fire", "", break_glass="fire"
    )
    assert one.is_of("other", "Job.b")
