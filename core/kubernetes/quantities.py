"""Kubernetes' quantities as whole numbers: what schedulers count in. Pure.

CPU is counted in thousandths, all else in units, as kube-scheduler does (k8s.io/kubernetes
pkg/scheduler/framework/types.go, Resource.Add); what is between two numbers counts as the higher.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final

Amounts = Mapping[str, int]
"""How much there is of each resource, by its name: `cpu` in thousandths, `memory` in bytes."""

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"

LARGEST: Final = 2**63 - 1
"""No quantity is larger (k8s.io/apimachinery pkg/api/resource/quantity.go)."""

_FORM: Final = re.compile(
    r"([+-]?)(\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:(|[numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))",
    re.ASCII,
)
_SUFFIXES: Final[Mapping[str, Fraction]] = {
    "": Fraction(1),
    **{suffix: Fraction(1, 1000**power) for power, suffix in enumerate("mun", 1)},
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", 1)},
}
_BINARY: Final = (("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))
_BYTES: Final = frozenset({MEMORY, "ephemeral-storage"})
_MOST_REMEMBERED: Final = 4096


def parse_amount(resource: str, quantity: str | float) -> int:
    """Return how much a quantity is of a resource: not below zero, capped at LARGEST.

    Raises:
        ValueError: it is no quantity.
    """
    return _amount(resource == CPU, str(quantity))


@lru_cache(_MOST_REMEMBERED)
def _amount(thousandths: bool, text: str) -> int:  # noqa: FBT001  A key of what is remembered.
    found = _FORM.fullmatch(text)
    if found is None:
        message = f"{text[:40]!r} is no quantity, such as 500m, 2 or 1.5Gi"
        raise ValueError(message)
    sign, number, suffix, exponent = found.groups()
    if sign == "-":
        return 0
    whole, _, rest = number.partition(".")
    value = Fraction(int(f"0{whole}{rest}"), 10 ** len(rest))
    value *= _SUFFIXES[suffix] if exponent is None else Fraction(10) ** int(exponent)
    value *= 1000 if thousandths else 1
    return min(-(-value.numerator // value.denominator), LARGEST)


def parse_amounts(quantities: Mapping[str, str | float] | None) -> dict[str, int]:
    """Return how much there is of each resource.

    Raises:
        ValueError: one is no quantity; names the resource.
    """
    found = {}
    for resource, quantity in (quantities or {}).items():
        try:
            found[resource] = parse_amount(resource, quantity)
        except ValueError as error:
            message = f"{resource}: {error}"
            raise ValueError(message) from None
    return found


def format_amount(resource: str, value: int) -> str:
    """Return an amount as people write it: `2.5 cpu`, `16Gi memory`, `8 nvidia.com/gpu`."""
    if resource == CPU:
        return f"{value / 1000:g} cpu"
    if resource in _BYTES or resource.startswith("hugepages-"):
        for suffix, bits in _BINARY:
            if value >> bits:
                return f"{value / 2**bits:.3g}{suffix} {resource}"
    return f"{value} {resource}"
