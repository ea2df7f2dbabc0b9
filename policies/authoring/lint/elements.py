"""Which keys the elements of a list or set surely have: as it is written, or by its schema."""

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from policies.authoring.lint.syntax import Node, Source, Steps, calls

Known = Mapping[str, Collection[str]]
"""By the name of a variable, the keys that its value surely has."""

_MEMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "internal.member_2": (0, 1),
    "internal.member_3": (1, 2),
}
"""`some x in y`, `some k, x in y`: which argument is bound, and of which."""

_ASSIGNING: Final = frozenset({"assign"})

_PARAMETERS: Final = ("data", "sallyport", "parameters")
_NONE: Final[frozenset[str]] = frozenset()


def known(source: Source, rule: Node) -> Known:
    """Give what is known of the variables of a rule that `some … in` binds."""
    found: dict[str, frozenset[str]] = {}
    assigned = _named(source, rule, _ASSIGNING)
    local = assigned | _named(source, rule, _MEMBERS)
    for name, given in calls(rule):
        bound, of = _MEMBERS.get(".".join(filter(None, source.steps(name))), (0, 0))
        if bound == of or len(given) <= of or given[bound]["type"] != "var":
            continue
        variable = str(given[bound]["value"])
        keys = _keys_in(source, given[of], local)
        found[variable] = found.get(variable, keys) & keys
    return {variable: keys for variable, keys in found.items() if variable not in assigned}


def _named(source: Source, rule: Node, binding: Collection[str]) -> frozenset[str]:
    """Give the variables of a rule that some functions bind, and its arguments.

    They may be called as a rule of the file is.
    """
    given = [*(rule["head"].get("args") or ())]
    for name, arguments in calls(rule):
        if ".".join(filter(None, source.steps(name))) in binding:
            given += arguments[:-1]
    return frozenset(str(each["value"]) for each in given if each["type"] == "var")


def _keys_in(source: Source, collection: Node, local: Collection[str]) -> frozenset[str]:
    """Give the keys that all elements have."""
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


def _demanded(source: Source, steps: Steps) -> frozenset[str]:
    """Give what the schema of a parameter demands of its items."""
    category_and_name = source.package[2:]
    if steps[:-1] != category_and_name:
        return _NONE
    custom = source.annotations.get("custom") or {}
    schema: Any = (custom.get("parameters") or {}).get(steps[-1])
    items = schema.get("items") if isinstance(schema, Mapping) else None
    required = items.get("required") if isinstance(items, Mapping) else None
    return frozenset(map(str, required or ()))


def _made(source: Source, name: str) -> frozenset[str]:
    """Give what each entry of a set of the file has that is written out."""
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
    """Give what a variable of a clause's own body is said to be, by `:=`."""
    for expression in clause.get("body") or ():
        terms = expression["terms"]
        if isinstance(terms, list) and terms[0]["value"][0]["value"] == "assign":
            target, value = terms[1:]
            if target["type"] == "var" and target["value"] == variable:
                return cast("Node", value)
    return None
