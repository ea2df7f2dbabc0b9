"""The gates in which one part does nothing: what is replaced is there, and is that part alone."""

import pytest

from admission.chain import CHAIN
from admission.gather import EVALUATED_STEPS, Gatherer
from bench.idle_part import WITHOUT
from bench.paired_gates import IDENTITY, PEOPLE, SANDBOX, WEIGHTS

LEFT_OUT = {"people": 2, "sandbox": 1, "identity": 0, "weights": 1}
"""Checks of each part."""


def test_there_is_a_gate_without_each_part_that_is_measured() -> None:
    """The names of both agree."""
    assert {pair.part for pair in (PEOPLE, SANDBOX, IDENTITY, WEIGHTS)} == set(WITHOUT)


@pytest.mark.parametrize("part", WITHOUT)
def test_what_is_replaced_exists(part: str) -> None:
    """`patch` refuses a name that is gone, and the gate would not start."""
    for each in WITHOUT[part]:
        assert hasattr(each.owner, each.name), each


@pytest.mark.parametrize(("part", "count"), LEFT_OUT.items())
def test_the_chain_lacks_the_checks_of_the_part_and_no_others(part: str, count: int) -> None:
    """A check that is compared wrongly would stay in the chain unnoticed."""
    chains = [each.value for each in WITHOUT[part] if each.name == "CHAIN"]
    assert len(chains) == (1 if count else 0)
    for chain in chains:
        assert len(chain) == len(CHAIN) - count
        assert set(chain) < set(CHAIN)


def test_only_the_sandbox_is_not_gathered_where_nobody_asks_for_one() -> None:
    """What the policies answered is gathered further as ever, in its order."""
    steps = [each.value for each in WITHOUT["sandbox"] if each.name == "EVALUATED_STEPS"]
    others = tuple(each for each in EVALUATED_STEPS if each.gather is not Gatherer.gather_sandbox)
    assert len(others) == len(EVALUATED_STEPS) - 1
    assert steps == [others]
