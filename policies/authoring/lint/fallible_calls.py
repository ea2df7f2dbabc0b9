"""Calls of built-in functions that can fail on their arguments: all is refused then.

They can also fail where a field of a custom kind has another type than the author thought of.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from policies.authoring.lint.problems import Problem
from policies.authoring.lint.syntax import Node, RegoSource, Steps, calls
from policies.builtins.fallible import CAN_FAIL
from policies.bundle.opa_runner import run_opa
from policies.site.kubernetes_kinds import are_built_in

Signatures = Mapping[str, Sequence[str]]
"""By the name of a built-in function, the types that it takes: `string`, `any` …."""

_FIELDS: Final = ("input", "fields")
_TESTS: Final = frozenset(
    {"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string"}
)
_BINDS: Final[Mapping[str, tuple[int, int]]] = {
    "assign": (0, 1),
    "internal.member_2": (0, 1),
    "internal.member_3": (1, 2),
}
"""`x := y`, `some x in y`, `some k, x in y`: which argument is bound, and of which."""

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


def signatures(opa: Path, folder: Path) -> Signatures:
    """Ask OPA what its functions take.

    Raises:
        BundleRefusedError: it does not say.
    """
    printed = run_opa(opa, folder, "capabilities", "--current")
    found = msgspec.json.decode(printed)["builtins"]
    return {
        each["name"]: [str(kind["type"]) for kind in each["decl"].get("args", ())] for each in found
    }


def find_untyped_calls(
    sources: Sequence[RegoSource], custom: Mapping[str, Any], takes: Signatures
) -> Iterator[Problem]:
    """Find calls with fields that nothing has tested, of a rule for kinds that are not built in."""
    if are_built_in(map(str, custom.get("kinds") or ("Pod",))):
        return  # The API server has checked the types.
    for source in sources:
        for rule in source.rules:
            yield from _of_rule(source, rule, takes)


def _of_rule(source: RegoSource, rule: Node, takes: Signatures) -> Iterator[Problem]:
    made = [
        (".".join(filter(None, source.steps(name))), name, given) for name, given in calls(rule)
    ]
    local = _locals(source, made)
    tested = {_steps(source, given[0]) for called, _, given in made if called in _TESTS and given}
    for called, name, given in made:
        for kind, argument in zip(takes.get(called, ()), given, strict=False):
            steps = _steps(source, argument)
            if kind == "any" or steps in {_FIELDS, *tested} or not _is_field(steps, local):
                continue
            yield source.warning(
                name,
                "untyped-field",
                f"{called} takes another type than {_named(steps)} may have: an object of a custom "
                "kind is refused with an error then",
                f"test is_{kind}({_named(steps)}) first, and find something where it is none",
            )


def _locals(
    source: RegoSource, made: Sequence[tuple[str, Node, Sequence[Node]]]
) -> Collection[str]:
    """Return the variables that are bound to a field, or to what lies in one."""
    found: set[str] = set()
    for called, _, given in made:
        bound, of = _BINDS.get(called, (0, 0))
        if bound == of or len(given) <= of or given[bound]["type"] != "var":
            continue
        if _is_field(_steps(source, given[of]), found):
            found.add(str(given[bound]["value"]))
    return found


def _steps(source: RegoSource, node: Node) -> Steps:
    if node["type"] == "var":
        return (str(node["value"]),)
    return source.steps(node) if node["type"] == "ref" else ()


def _is_field(steps: Steps, local: Collection[str]) -> bool:
    return steps[:2] == _FIELDS or (bool(steps) and steps[0] in local)


def _named(steps: Steps) -> str:
    head, *rest = steps
    return f"{head}" + "".join(f".{step}" if step else "[…]" for step in rest)


def find_fallible_calls(source: RegoSource) -> Iterator[Problem]:
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
    """Return whether what it can fail on is written out."""
    at = _DECIDES.get(called)
    deciding = arguments if at is None else arguments[at : at + 1]
    return bool(deciding) and all(each["type"] in _LITERALS for each in deciding)
