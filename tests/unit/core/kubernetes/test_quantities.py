"""Quantities become the whole numbers that kube-scheduler counts in."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kubernetes.quantities import LARGEST, format_amount, parse_amount, parse_amounts

SUFFIXES: dict[str, int | Fraction] = {
    "": 1,
    "k": 1000,
    "M": 1000**2,
    "Ki": 1024,
    "Gi": 1024**3,
    "m": Fraction(1, 1000),
}


@pytest.mark.parametrize(
    ("resource", "quantity", "count"),
    [
        ("cpu", "500m", 500),
        ("cpu", "2", 2000),
        ("cpu", 2, 2000),
        ("cpu", 0.5, 500),
        ("cpu", "0.0001", 1),
        ("cpu", "100u", 1),
        ("memory", "1.5Gi", 1610612736),
        ("memory", "1e3", 1000),
        ("memory", "1E3", 1000),
        ("memory", "1E", 10**18),
        ("memory", "+.5k", 500),
        ("memory", "5.", 5),
        ("memory", "100m", 1),
        ("memory", "-5", 0),
        ("nvidia.com/gpu", "8", 8),
        ("memory", "99999Ei", LARGEST),
        ("memory", "1e999", LARGEST),
        ("memory", "1e-999", 1),
        ("memory", "0e9", 0),
    ],
)
def test_as_the_scheduler_counts(resource: str, quantity: str | float, count: int) -> None:
    """CPU in thousandths, all else in units, rounded up and capped (apimachinery, quantity.go)."""
    assert parse_amount(resource, quantity) == count


@pytest.mark.parametrize("text", ["", "x", "1 Gi", "1Gi ", "1e", ".", "Gi", "1KiB", "1e9999", "١"])
def test_what_is_none_is_named(text: str) -> None:
    """The resource, and what a quantity looks like."""
    with pytest.raises(ValueError, match=r"memory: .* is no quantity, such as 500m"):
        parse_amounts({"cpu": "1", "memory": text})


@given(
    number=st.integers(0, 10**12),
    suffix=st.sampled_from(sorted(SUFFIXES)),
    thousandths=st.booleans(),
)
def test_suffixes_multiply(number: int, suffix: str, *, thousandths: bool) -> None:
    """Whatever the number: exact, then rounded up."""
    value = Fraction(number) * SUFFIXES[suffix] * (1000 if thousandths else 1)
    resource = "cpu" if thousandths else "memory"
    assert parse_amount(resource, f"{number}{suffix}") == min(-(-value // 1), LARGEST)


def test_amounts_as_people_write_them() -> None:
    """Cores, bytes with a suffix, and counts."""
    said = [
        format_amount("cpu", 2500),
        format_amount("memory", 3 << 29),
        format_amount("nvidia.com/gpu", 8),
    ]
    assert said == ["2.5 cpu", "1.5Gi memory", "8 nvidia.com/gpu"]
    assert format_amount("memory", 12) == "12 memory"
