"""Both engines say the same of everything: in CI of a thousand, in a proof of tens of thousands."""

import time
from collections.abc import Iterator

import pytest

from policies.bundle.format import Bundle, read_bundle
from policies.clients.opa_server.engine import OpaServerEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.opa_endpoint import OpaServer
from tests.harness.evidence import record
from tests.harness.programs.opa_server import OpaProgram
from tests.harness.sizes import PROOF, size
from tests.unit.policies.engine import parity, parity_types

LIMITS = EvaluationLimits(seconds=10)
"""A busy machine is no difference."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """All there is: built-in, the sites of the examples, the library."""
    return read_bundle(parity.build_all(tmp_path_factory.mktemp("all")))


@pytest.fixture(scope="module")
def embedded(bundle: Bundle) -> Iterator[EmbeddedEngine]:
    """The embedded engine on it."""
    engine = EmbeddedEngine(bundle, LIMITS)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def opa(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpaServerEngine]:
    """An OPA server that the same bundle was put on."""
    with OpaProgram(tmp_path_factory.mktemp("opa")) as server:
        engine = OpaServerEngine(bundle, OpaServer(server.url), LIMITS)
        yield engine
        engine.close()


@pytest.mark.proof
def test_both_engines_say_the_same(embedded: EmbeddedEngine, opa: OpaServerEngine) -> None:
    """Of each example, of generated Pods, and of wrong types in all fields that rules declare."""
    reads = embedded.reads
    cases = [
        *parity.examples(),
        *parity.generated(size(100, 3000)),
        *parity.generated_pods(size(100, 4000), reads),
        *parity.of_library(size(100, 4000), reads),
        *parity_types.in_fields(reads, size(1, len(parity_types.WRONG)), size(50, 6000)),
        *parity_types.in_projections(size(100, 4000)),
    ]
    start = time.monotonic()
    tally = parity.run(embedded, opa, cases)
    assert tally.differences == []
    assert tally.evaluations.total() >= size(1000, 20_000)
    assert min(tally.findings[group] for group in tally.evaluations) > 0
    if PROOF:
        _record(tally, time.monotonic() - start)


def _record(tally: parity.Tally, seconds: float) -> None:
    rows = [
        f"| {group} | {count} | {tally.findings[group]} | {tally.errors[group]} | 0 |"
        for group, count in tally.evaluations.items()
    ]
    record(
        "engine-parity",
        [
            "- The embedded engine and an OPA server (1.22.0, `strict-builtin-errors`), asked the "
            "same: the built-in policies, the sites of `examples/` and every rule of the library "
            "in one bundle",
            f"- {tally.evaluations.total()} evaluations by each, in {seconds:.0f} s; "
            f"{len(tally.differences)} differences",
            "- Wrong types: each of null, true, -1.5, a text, a list and an object at each field "
            "that a rule declares and at each that it lies in, then anywhere in examples and in "
            "projections",
            "",
            "| Group | Evaluations | Findings | Errors of both | Differences |",
            "| --- | --- | --- | --- | --- |",
            *rows,
        ],
    )
