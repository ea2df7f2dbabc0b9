"""Functions that the host supplies do what OPA's own do: made-up calls, answered by both."""

import pytest

from policies.builtins.fallible import CAN_FAIL
from policies.builtins.registry import SUPPLIED
from tests.harness.sizes import size
from tests.unit.policies.builtins.opa_arguments import MAKERS
from tests.unit.policies.builtins.opa_calls import (
    UNDEFINED_TEXT,
    UNSUPPLIED_TEXT,
    calls,
    opa_answers,
    our_answer,
)

CASTS = {name for name in SUPPLIED if name.startswith("cast_")}
"""Of Rego before 1.0, which `opa eval` does not know; OPA's cases have them."""

COUNT = size(ci=150, proof=3000)


@pytest.fixture(scope="module")
def theirs() -> dict[str, list[str]]:
    """What OPA answers to all calls, in one process."""
    return opa_answers({name: calls(name, COUNT) for name in sorted(MAKERS)})


def test_every_function_is_called() -> None:
    """None is supplied without being compared."""
    assert set(MAKERS) == SUPPLIED.keys() - CASTS


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_function_agrees_with_opa(name: str, theirs: dict[str, list[str]]) -> None:
    """The same answer, or none where OPA has none; or an error that says it is not supplied."""
    asked = calls(name, COUNT)
    ours = [our_answer(name, arguments) for arguments in asked]
    differ = [
        (arguments, wanted, given)
        for arguments, wanted, given in zip(asked, theirs[name], ours, strict=True)
        if given not in {wanted, UNSUPPLIED_TEXT}
    ]
    assert differ == []
    answered = [given for given in ours if given not in {UNDEFINED_TEXT, UNSUPPLIED_TEXT}]
    assert len(answered) >= COUNT // 20
    assert ours.count(UNSUPPLIED_TEXT) <= COUNT // 10


def test_functions_that_fail_on_text_are_listed(theirs: dict[str, list[str]]) -> None:
    """What OPA leaves undefined for a text that it does not like, the linter knows of."""
    failing = {
        name
        for name, answers in theirs.items()
        for arguments, answer in zip(calls(name, COUNT), answers, strict=True)
        if answer == UNDEFINED_TEXT and all(isinstance(each, str) for each in arguments)
    }
    assert {"units.parse", "semver.compare"} <= failing <= CAN_FAIL.keys()
