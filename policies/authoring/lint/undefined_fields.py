"""What is undefined where a field is absent, so that a rule finds nothing without a word.

Known are the keys that the elements of a list or set surely have: as it is written, or by its
schema.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from policies.authoring.lint.problems import Problem
from policies.authoring.lint.syntax import Node, RegoSource, Steps, bodies, calls, refs

KnownKeys = Mapping[str, Collection[str]]
"""By the name of a variable, the keys that its value surely has."""

_MEMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "internal.member_2": (0, 1),
    "internal.member_3": (1, 2),
}
"""`some x in y`, `some k, x in y`: which argument is bound, and of which."""

_ASSIGNING: Final = frozenset({"assign"})

_PARAMETERS: Final = ("data", "sallyport", "parameters")
_NONE: Final[frozenset[str]] = frozenset()

_OPTIONAL: Final = (("input", "fields"), ("input", "projection"))
_LABELS: Final = ("input", "context", "namespaceLabels")
_LITERALS: Final = frozenset({"string", "number", "boolean", "null"})


def known_keys(source: RegoSource, rule: Node) -> KnownKeys:
    """Return the keys that the variables bound by `some … in` in a rule surely have."""
    found: dict[str, frozenset[str]] = {}
    assigned = _find_elements(source, rule, _ASSIGNING)
    local = assigned | _find_elements(source, rule, _MEMBERS)
    for name, given in calls(rule):
        bound, of = _MEMBERS.get(".".join(filter(None, source.steps(name))), (0, 0))
        if bound == of or len(given) <= of or given[bound]["type"] != "var":
            continue
        variable = str(given[bound]["value"])
        keys = _keys_in(source, given[of], local)
        found[variable] = found.get(variable, keys) & keys
    return {variable: keys for variable, keys in found.items() if variable not in assigned}


def _find_elements(source: RegoSource, rule: Node, binding: Collection[str]) -> frozenset[str]:
    """Return the variables of a rule that some functions bind, and its arguments.

    They may be called as a rule of the file is.
    """
    given = [*(rule["head"].get("args") or ())]
    for name, arguments in calls(rule):
        if ".".join(filter(None, source.steps(name))) in binding:
            given += arguments[:-1]
    return frozenset(str(each["value"]) for each in given if each["type"] == "var")


def _keys_in(source: RegoSource, collection: Node, local: Collection[str]) -> frozenset[str]:
    """Return the keys that all elements have."""
    if collection["type"] == "var":
        name = str(collection["value"])
        steps: Steps = () if name in local else (name,)
    elif collection["type"] == "ref":
        steps = source.steps(collection)
    else:
        return _NONE
    if steps[:3] == _PARAMETERS:
        return _demanded(source, steps[3:])
    return _made(source, str(steps[0])) if len(steps) == 1 else _NONE


def _demanded(source: RegoSource, steps: Steps) -> frozenset[str]:
    """Return the keys that the schema of a parameter requires of its items."""
    category_and_name = source.package[2:]
    if steps[:-1] != category_and_name:
        return _NONE
    custom = source.annotations.get("custom") or {}
    schema: Any = (custom.get("parameters") or {}).get(steps[-1])
    items = schema.get("items") if isinstance(schema, Mapping) else None
    required = items.get("required") if isinstance(items, Mapping) else None
    return frozenset(map(str, required or ()))


def _made(source: RegoSource, name: str) -> frozenset[str]:
    """Return the keys that all entries of a set of the file have, as written out."""
    clauses = [each for each in source.rules if each["head"]["ref"][0]["value"] == name]
    entries = [_written_out(each) for each in clauses]
    return frozenset.intersection(*entries) if entries else _NONE


def _written_out(clause: Node) -> frozenset[str]:
    entry = clause["head"].get("key")
    if entry is not None and entry["type"] == "var":
        entry = _said(clause, str(entry["value"]))
    if entry is None or entry["type"] != "object":
        return _NONE
    return frozenset(str(key["value"]) for key, _ in entry["value"] if key["type"] == "string")


def _said(clause: Node, variable: str) -> Node | None:
    """Return the term that `:=` assigns to a variable in a clause's own body."""
    for expression in clause.get("body") or ():
        terms = expression["terms"]
        if isinstance(terms, list) and terms[0]["value"][0]["value"] == "assign":
            target, value = terms[1:]
            if target["type"] == "var" and target["value"] == variable:
                return cast("Node", value)
    return None


def find_undefined(source: RegoSource) -> Iterator[Problem]:
    """Find negations and comparisons that an absent field makes undefined."""
    for rule in source.rules:
        elements = known_keys(source, rule)
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
    source: RegoSource, expression: Node, sure: set[Steps], elements: KnownKeys
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


def _is_known(steps: Steps, elements: KnownKeys) -> bool:
    """Return whether it is a key that each element of what was walked has."""
    head, *rest = steps
    return len(rest) == 1 and rest[0] in elements.get(str(head), ())


def _is_plain_equality(terms: Sequence[Node]) -> bool:
    """Return whether it is `not x == "a"`, which holds where x is absent."""
    name, *arguments = terms
    kinds = {each["type"] for each in arguments}
    return name["value"][0]["value"] == "equal" and "call" not in kinds and bool(kinds & _LITERALS)


def _may_be_absent(source: RegoSource, steps: Steps) -> bool:
    if any(steps[:2] == optional and steps[2:] for optional in _OPTIONAL):
        return True
    if steps[: len(_LABELS)] == _LABELS and steps[len(_LABELS) :]:
        return True
    local = steps[0] not in {"input", "data", *source.names}
    return local and any(step is not None for step in steps[1:])


def _named(steps: Steps) -> str:
    head, *rest = steps
    return f"{head}" + "".join(f".{step}" if step else "[…]" for step in rest)


def _comparison(source: RegoSource, expression: Node) -> Iterator[Problem]:
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
