"""Functions that OPA compiled in fail where OPA's strict built-in errors have them fail."""

import collections
import json
from typing import Any

import pytest

from policies.builtins.native import NATIVE
from tests.harness.evidence import record
from tests.harness.sizes import PROOF, size
from tests.unit.policies.builtins.opa_natives import FAILED, Call, compare

COUNT = size(ci=30, proof=500)

FAIL_HERE_ALONE = {
    "base64.decode": "what is no UTF-8",
    "base64url.decode": "what is no UTF-8",
    "format_int": "a number of more than 32 bits",
    "json.filter": "a path whose parts are no texts",
    "json.remove": "a path whose parts are no texts",
    "strings.replace_n": "an empty text in one with characters of more than a byte",
}
"""Never the other way round, but for what follows."""

ROUNDED = {"ceil", "floor"}
"""Of what lies between -1 and 0, OPA itself gives one more than its WebAssembly."""

SETS = {"object.keys", "walk"}
"""Whose answers have no order."""

HEAD = """
Calls made up for each of the {names} functions that OPA 1.22.0 compiles into WebAssembly, a third
of their arguments of any type, answered by an OPA server with `strict-builtin-errors` and by the
embedded engine: {calls} by each. Made by `tests/unit/policies/builtins/test_compiled_in.py`.
*Fails here alone*: what the engine refuses, though OPA goes on. *Silent*: what OPA refuses, and the
engine does not. Up to 400 more are of values that OPA's WebAssembly itself answers otherwise
(`tests/unit/policies/builtins/opa_native_values.py`).

| Function | Calls | Failures of both | Fails here alone | Silent | Other answers |
|---|---|---|---|---|---|"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    """All calls, with what came of them."""
    return list(compare(COUNT, tmp_path_factory.mktemp("natives")))


def _is_known(call: Call) -> bool:
    """What docs/reference/builtins.md says is not found out."""
    return call.name == "internal.template_string"  # Only OPA's compiler calls it.


def _is_rounded(call: Call) -> bool:
    first = call.arguments[0].get("v")
    return call.name in ROUNDED and isinstance(first, int | float) and -1 < first < 0


def _is_silent(call: Call) -> bool:
    return call.opa == FAILED and call.ours != FAILED and not _is_known(call)


def _is_otherwise(call: Call) -> bool:
    if FAILED in {call.opa, call.ours} or _is_rounded(call):
        return False
    free = call.name in SETS or any("s" in each for each in call.arguments)
    theirs, ours = (_normal(json.loads(each), free=free) for each in (call.opa, call.ours))
    return bool(theirs != ours)


def _normal(value: Any, *, free: bool) -> Any:
    """Return a value with numbers to twelve places, and without order where it has none."""
    if isinstance(value, list):
        made = [_normal(each, free=free) for each in value]
        return sorted(made, key=repr) if free else made
    if isinstance(value, dict):
        return {key: _normal(each, free=free) for key, each in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.12g}"
    return value


@pytest.mark.proof
def test_what_fails_in_opa_fails_here(calls: list[Call]) -> None:
    """Of arguments of the wrong type, and of bad ones: none is passed over in silence."""
    failing = {call.name for call in calls if call.opa == FAILED == call.ours}
    assert len(failing) > len(NATIVE) * 2 / 3
    if PROOF:
        record("compiled-in", _rows(calls))
    assert [call for call in calls if _is_silent(call)] == []


@pytest.mark.proof
def test_what_opa_answers_is_answered_alike(calls: list[Call]) -> None:
    """Or it is an error, of the functions that are known for that."""
    assert sum(call.opa == call.ours != FAILED for call in calls) > len(calls) / 3
    alone = {call.name for call in calls if call.ours == FAILED != call.opa}
    assert alone <= FAIL_HERE_ALONE.keys()
    assert [call for call in calls if _is_otherwise(call)] == []


def _rows(calls: list[Call]) -> list[str]:
    counts: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in NATIVE}
    for call in calls:
        found = {
            "calls": True,
            "both": call.opa == FAILED == call.ours,
            "alone": call.ours == FAILED != call.opa,
            "silent": _is_silent(call),
            "otherwise": _is_otherwise(call),
        }
        counts[call.name].update(key for key, holds in found.items() if holds)
    kinds = ("calls", "both", "alone", "silent", "otherwise")
    rows = [
        f"| `{name}` | " + " | ".join(str(counts[name][kind]) for kind in kinds) + " |"
        for name in sorted(counts)
    ]
    head = HEAD.format(names=len(NATIVE), calls=len(calls))
    return [*head.splitlines(), *rows, "", *_known()]


def _known() -> list[str]:
    alone = "; ".join(f"`{name}`: {what}" for name, what in sorted(FAIL_HERE_ALONE.items()))
    return [
        f"What fails here alone: {alone}.",
        "",
        "Not counted: `floor` and `ceil` of what lies between -1 and 0; the order of sets; "
        "`internal.template_string`, which only OPA's compiler calls.",
    ]
