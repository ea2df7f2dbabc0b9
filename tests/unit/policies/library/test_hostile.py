"""Junk in the fields that rules read: never a crash, and never a way past a rule."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admission.fields.facts import UNKNOWN
from core.decision.decision import Verdict
from docs.generate.rules import read_metadata
from tests.harness.sizes import size
from tests.unit.policies.library.library_rules import RULES, Reviewer, example, folder, moved

Place = tuple[str | int, ...]

JUNK = [-1.5, True, "junk", ["junk"], {"junk": "junk"}]
"""Of each type one; none is what any rule of the library allows."""

SAYS_WHAT_IT_IS = {("apiVersion",), ("metadata", "namespace")}
"""With something else there it is another object, which the rule is not asked about."""

TEMPLATES: dict[str, Place] = {
    "Deployment": ("spec", "template"),
    "Job": ("spec", "template"),
}
"""Where the examples of rules for Pods have their Pods, besides Pods themselves."""

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)


def declared(rule: str) -> dict[str, Any]:
    """Return what a rule declares in its METADATA."""
    source = folder(rule) / f"{rule.rpartition('/')[2]}.rego"
    custom = read_metadata(source)["custom"]
    return {"kinds": custom.get("kinds", ["Pod"]), "fields": custom.get("fields", [])}


def steps(field: str) -> list[str]:
    """Split a declared field; `[]` is a step."""
    found: list[str] = []
    head, _, quoted = field.partition("['")
    for part in head.split("."):
        name, *lists = part.split("[]")
        found += [name, *["[]"] * len(lists)]
    if quoted:
        key, _, rest = quoted.partition("']")
        found += [key, *(steps(rest.removeprefix(".")) if rest else [])]
    return found


def places(made: Any, rule: dict[str, Any]) -> Iterator[Place]:
    """Yield where an example sets what the rule declares, and what lies below that."""
    root: Place = TEMPLATES.get(made["kind"], ()) if rule["kinds"] == ["Pod"] else ()
    for field in rule["fields"]:
        for place in _matching(_at(made, root), steps(field)):
            yield from _below(made, (*root, *place))


def _matching(value: Any, wanted: list[str]) -> Iterator[Place]:
    if not wanted:
        yield ()
    elif wanted[0] == "[]":
        for index, each in enumerate(value):
            yield from ((index, *rest) for rest in _matching(each, wanted[1:]))
    elif isinstance(value, dict) and wanted[0] in value:
        yield from ((wanted[0], *rest) for rest in _matching(value[wanted[0]], wanted[1:]))


def _below(made: Any, place: Place) -> Iterator[Place]:
    yield place
    value = _at(made, place)
    keys = value.keys() if isinstance(value, dict) else range(len(value) if _is_list(value) else 0)
    for key in keys:
        yield from _below(made, (*place, key))


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _at(made: Any, place: Place) -> Any:
    for step in place:
        made = made[step]
    return made


def with_junk(made: Any, place: Place, junk: Any) -> Any:
    """Return an object with something else in a place."""
    changed = copy.deepcopy(made)
    _at(changed, place[:-1])[place[-1]] = junk
    return changed


@pytest.mark.parametrize("rule", RULES)
def test_junk_is_no_way_past_a_rule(rule: str, reviewer: Reviewer) -> None:
    """What fails is not admitted for a value of another type than the field has."""
    failing = moved(rule, example(rule, "fail.yaml"))
    tried = [
        with_junk(failing, place, junk)
        for place in places(failing, declared(rule))
        if place not in SAYS_WHAT_IT_IS
        for junk in JUNK
        if type(junk) is not type(_at(failing, place))
    ]
    through = [
        made
        for made, found in zip(tried, reviewer.review(*tried), strict=True)
        if found.verdict not in {Verdict.DENY, Verdict.ERROR}
    ]
    assert through == []


CASES = [
    (rule, file, place)
    for rule in RULES
    for file in ("pass.yaml", "fail.yaml")
    for place in sorted(set(places(moved(rule, example(rule, file)), declared(rule))), key=repr)
    if place not in SAYS_WHAT_IT_IS
]


@pytest.mark.proof
@settings(max_examples=size(ci=150, proof=20_000), deadline=None)
@given(case=st.sampled_from(CASES), junk=_JSON)
def test_whatever_stands_in_a_field_is_judged(
    case: tuple[str, str, Place], junk: Any, reviewer: Reviewer
) -> None:
    """Allowed, refused by this rule, or said to be no object: nothing ends the gate.

    Junk may be a field that nobody knows, too.
    """
    rule, file, place = case
    (found,) = reviewer.review(with_junk(moved(rule, example(rule, file)), place, junk))
    if found.verdict is not Verdict.ERROR:
        assert {finding.rule for finding in found.findings} <= {f"rules/{rule}", UNKNOWN}
