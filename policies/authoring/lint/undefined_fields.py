"""What is undefined where a field is absent, so that a rule finds nothing without a word."""

from collections.abc import Iterator, Sequence
from typing import Final

from policies.authoring.lint.elements import Known, known
from policies.authoring.lint.problems import Problem
from policies.authoring.lint.syntax import Node, Source, Steps, bodies, refs

_OPTIONAL: Final = (("input", "fields"), ("input", "projection"))
_LABELS: Final = ("input", "context", "namespaceLabels")
_LITERALS: Final = frozenset({"string", "number", "boolean", "null"})


def undefined(source: Source) -> Iterator[Problem]:
    """Find negations and comparisons that an absent field makes undefined."""
    for rule in source.rules:
        elements = known(source, rule)
        for body in bodies(rule):
            sure = {source.steps(ref) for each in body if not _negated(each) for ref in refs(each)}
            for expression in body:
                if _negated(expression):
                    yield from _negation(source, expression, sure, elements)
                else:
                    yield from _comparison(source, expression)


def _negated(expression: Node) -> bool:
    return bool(expression.get("negated"))


def _negation(
    source: Source, expression: Node, sure: set[Steps], elements: Known
) -> Iterator[Problem]:
    terms = expression["terms"]
    if not isinstance(terms, list) or _is_plain_equality(terms):
        return
    for ref in refs(terms[1:]):
        steps = source.steps(ref)
        if steps in sure or _is_known(steps, elements) or not _may_be_absent(source, steps):
            continue
        make = source.problem if steps[0] == "input" else source.warning
        yield make(
            expression,
            "not-of-absent",
            f"where {_named(steps)} is absent, this is neither true nor false: nothing is found",
            f"write a helper that is true for what is good, and say what holds without "
            f"{_named(steps)}; or give object.get a default",
        )
        return


def _is_known(steps: Steps, elements: Known) -> bool:
    """Say whether it is a key that each element of what was walked has."""
    head, *rest = steps
    return len(rest) == 1 and rest[0] in elements.get(str(head), ())


def _is_plain_equality(terms: Sequence[Node]) -> bool:
    """Say whether it is `not x == "a"`, which holds where x is absent."""
    name, *arguments = terms
    kinds = {each["type"] for each in arguments}
    return name["value"][0]["value"] == "equal" and "call" not in kinds and bool(kinds & _LITERALS)


def _may_be_absent(source: Source, steps: Steps) -> bool:
    if any(steps[:2] == optional and steps[2:] for optional in _OPTIONAL):
        return True
    if steps[: len(_LABELS)] == _LABELS and steps[len(_LABELS) :]:
        return True
    local = steps[0] not in {"input", "data", *source.names}
    return local and any(step is not None for step in steps[1:])


def _named(steps: Steps) -> str:
    head, *rest = steps
    return f"{head}" + "".join(f".{step}" if step else "[…]" for step in rest)


def _comparison(source: Source, expression: Node) -> Iterator[Problem]:
    terms = expression["terms"]
    if not isinstance(terms, list) or terms[0]["value"][0]["value"] not in {"equal", "neq"}:
        return
    operator = terms[0]["value"][0]["value"]
    field = next((each for each in terms[1:] if each["type"] == "ref"), None)
    value = next((each for each in terms[1:] if each["type"] in _LITERALS), None)
    if field is None or value is None:
        return
    steps = source.steps(field)
    if not (steps[0] == "input" and _may_be_absent(source, steps)):
        return
    if value["value"] is (operator == "neq") or (operator == "equal" and value["value"] is False):
        yield source.problem(
            expression,
            "equals-false",
            f"an absent {_named(steps)} is not false but undefined: nothing is found",
            f"write: not {_named(steps)}",
        )
    elif operator == "neq":
        yield source.warning(
            expression,
            "unequal-absent",
            f"where {_named(steps)} is absent, this is undefined: nothing is found",
            f"if what is absent is wrong too, write: not {_named(steps)} == …",
        )
