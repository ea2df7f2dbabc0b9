"""Functions that the host supplies do what OPA's own do, for all inputs that OPA accepts."""

import json
import subprocess
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from policies.engine.builtins import SUPPLIED
from tests.tools.provide import provide

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def opa(function: str, inputs: list[Any]) -> list[Any]:
    """Give what OPA's own function says of each input; None where it is undefined."""
    query = (
        f"[r | some x in input; ys := [y | y := {function}(x)]; r := array.concat(ys, [null])[0]]"
    )
    done = subprocess.run(
        [provide("opa"), "eval", "-I", "-f", "json", query],
        input=json.dumps(inputs, ensure_ascii=False).encode(),
        capture_output=True,
        check=True,
    )
    found: list[Any] = json.loads(done.stdout)["result"][0]["expressions"][0]["value"]
    return found


def test_urlquery_encode_agrees_on_every_text() -> None:
    """Each ASCII character, then 500 generated texts, in one run of OPA."""
    cases = [chr(code) for code in range(128)] + ["", "a b+c", "%2F", "\U0001f600é", "\ufffd"]

    @settings(max_examples=500, database=None, phases=[Phase.generate])
    @given(text=TEXTS)
    def collect(text: str) -> None:
        cases.append(text)

    collect()
    assert len(cases) > 500
    assert [SUPPLIED["urlquery.encode"](text) for text in cases] == opa("urlquery.encode", cases)


@pytest.mark.parametrize("value", [None, True, 1, 1.5, [], {}])
def test_urlquery_encode_fails_on_what_is_no_text(value: object) -> None:
    """OPA leaves it undefined; ours raises, which the engine makes undefined too."""
    assert opa("urlquery.encode", [value]) == [None]
    with pytest.raises(TypeError, match=r"urlquery\.encode: operand 1 must be string but got "):
        SUPPLIED["urlquery.encode"](value)
