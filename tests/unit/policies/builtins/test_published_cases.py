"""Functions that the host supplies pass OPA's published cases, compiled to WebAssembly."""

import collections
from collections.abc import Sequence
from pathlib import Path

import pytest

from policies.builtins.registry import SUPPLIED
from tests.harness.evidence import record
from tests.harness.oracles.opa_cases import Case, Compared, cases, compare
from tests.harness.sizes import PROOF

VERDICTS = ("agrees", "stricter", "differs", "left")
UNPUBLISHED = {name for name in SUPPLIED if name.startswith("cast_")} | {"time.diff"}
"""Of which no case is Rego of now that needs no clock; test_agreement.py has time.diff."""

HEAD = """
OPA's published cases (`v1/test/cases/testdata/v1` of OPA 1.22.0) that call a built-in function
which the gate supplies ([built-ins](../reference/builtins.md)), each compiled by OPA to WebAssembly
and evaluated by the engine. *Agrees*: the wanted result, or an error where one is wanted.
*Stricter*: an error that ends the evaluation, where OPA's default leaves the expression undefined
and OPA with `--strict-builtin-errors` gives an error too. Made by
`tests/unit/policies/builtins/test_published_cases.py`. Beside it, `test_agreement.py` compares each
function but the casts with OPA's own process on 3,000 made-up calls (150 in CI).

| Built-in | Cases | Agree | Stricter | Differ |
|---|---|---|---|---|"""


def some(found: Sequence[Case]) -> list[Case]:
    """Return all cases for the proof; else the first two of each function."""
    seen: collections.Counter[str] = collections.Counter()
    kept = []
    for case in found:
        if PROOF or min(seen[name] for name in case.builtins) < 2:
            kept.append(case)
        seen.update(case.builtins)
    return kept


@pytest.mark.proof
def test_published_cases_pass(tmp_path: Path) -> None:
    """None differs, and none is left out because it does not compile."""
    found = cases()
    called = {name for case in found for name in case.builtins}
    assert len(found) > 400
    assert SUPPLIED.keys() - called == UNPUBLISHED
    compared = compare(some(found), tmp_path)
    if PROOF:
        record("builtins", [HEAD.rstrip("\n"), *_rows(compared)])
    wrong = [each for each in compared if each.verdict in {"differs", "left"}]
    assert [(each.case.note, each.why) for each in wrong] == []


def _rows(compared: Sequence[Compared]) -> list[str]:
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for each in compared:
        counts.update((name, each.verdict) for name in each.builtins)
    rows = []
    for name in sorted({name for name, _ in counts}):
        agree, stricter, differ, left = (counts[name, verdict] for verdict in VERDICTS)
        total = agree + stricter + differ + left
        rows.append(f"| `{name}` | {total} | {agree} | {stricter} | {differ + left} |")
    totals = collections.Counter(each.verdict for each in compared)
    numbers = " | ".join(str(totals[verdict]) for verdict in VERDICTS[:3])
    return [*rows, f"| all | {len(compared)} | {numbers} |", "", *_stricter(compared)]


def _stricter(compared: Sequence[Compared]) -> list[str]:
    listed = [
        f"- `{each.case.note}`: {each.why}" for each in compared if each.verdict == "stricter"
    ]
    return ["Stricter:", *listed]
