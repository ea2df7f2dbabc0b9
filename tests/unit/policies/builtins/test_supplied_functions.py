"""Every built-in function of OPA is compiled in, supplied, refused, or its compiler's own."""

from policies.builtins.denylist import REFUSED, WRITTEN_AWAY, hint
from policies.builtins.fallible import CAN_FAIL
from policies.builtins.native import NATIVE
from policies.builtins.registry import SUPPLIED
from tests.harness.oracles.opa_cases import capabilities, native


def test_native_functions_are_those_that_opa_compiles() -> None:
    """The list is that of the compiler's source."""
    assert native() == NATIVE


def test_each_function_of_opa_is_exactly_one() -> None:
    """None is forgotten, and none is listed twice."""
    listed = [*NATIVE, *SUPPLIED, *REFUSED, *WRITTEN_AWAY]
    assert sorted(listed) == sorted(capabilities())


def test_only_functions_that_may_be_called_are_said_to_fail() -> None:
    """The linter's table is about what a bundle can call."""
    assert CAN_FAIL.keys() <= NATIVE.keys() | SUPPLIED.keys()


def test_refusal_says_what_to_use_instead() -> None:
    """Where there is something; else it says nothing."""
    assert hint("strings.render_template") == '; instead: sprintf, or $"…{value}…"'
    assert hint("io.jwt.verify_hs256") == hint("no.such_function") == ""
