"""Calls of built-in functions that can fail on their arguments: all is refused then."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from policies.authoring.lint.problems import Problem
from policies.authoring.lint.syntax import Node, Source, calls
from policies.builtins.fallible import CAN_FAIL

_DECIDES: Final[Mapping[str, int]] = {
    "div": 1,
    "format_int": 1,
    "glob.match": 0,
    "indexof": 1,
    "indexof_n": 1,
    "re_match": 0,
    "regex.find_all_string_submatch_n": 0,
    "regex.find_n": 0,
    "regex.match": 0,
    "regex.replace": 1,
    "regex.split": 0,
    "regex.template_match": 0,
    "rem": 1,
    "sprintf": 0,
}
"""Which argument it can fail on: one that is written out is right, or wrong in every test."""

_LITERALS: Final = frozenset({"string", "number", "boolean"})


def failing(source: Source) -> Iterator[Problem]:
    """Find calls that would end the evaluation for some values."""
    for name, arguments in calls(source.rules):
        called = ".".join(filter(None, source.steps(name)))
        if called in CAN_FAIL and not _is_sure(called, arguments):
            yield source.problem(
                name,
                "failing-builtin",
                f"{called} fails on {CAN_FAIL[called]}: the object is refused with an error then",
                "call a wrapper of data.sallyport.lib, or test the shape first and find "
                "something where it is wrong (docs/policies/lint.md)",
            )


def _is_sure(called: str, arguments: Sequence[Node]) -> bool:
    """Say whether what it can fail on is written out."""
    at = _DECIDES.get(called)
    deciding = arguments if at is None else arguments[at : at + 1]
    return bool(deciding) and all(each["type"] in _LITERALS for each in deciding)
