"""Label selectors: what they match, and when one is sure to match all that another matches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.kubernetes.label_selectors import (
    Expression,
    LabelSelector,
    Operator,
    Requirement,
    Requirements,
    build_selector,
    implies,
    is_label_key,
    is_label_value,
    matches,
    requirements_of,
    selects,
    sort_requirements,
)

KEYS = st.sampled_from(["a", "b"])
VALUES = st.sampled_from(["x", "y", "z"])
LABELS = st.dictionaries(KEYS, VALUES)


@st.composite
def requirement(draw: st.DrawFn) -> Requirement:
    """Return one demand of two keys and three values."""
    operator: Operator = draw(st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")))
    values: tuple[str, ...] = ()
    if operator in {"In", "NotIn"}:
        values = tuple(sorted(draw(st.sets(VALUES, min_size=1))))
    return Requirement(draw(KEYS), operator, values)


DEMANDS = st.lists(requirement(), max_size=3).map(sort_requirements)


@given(DEMANDS, DEMANDS, LABELS)
def test_what_is_implied_holds_for_all_labels(
    narrow: Requirements, wide: Requirements, labels: dict[str, str]
) -> None:
    """Where implies says yes, whatever matches the narrow one matches the wide one."""
    if implies(narrow, wide) and matches(narrow, labels):
        assert matches(wide, labels)


@given(DEMANDS)
def test_each_implies_itself_and_everything(demands: Requirements) -> None:
    """And nothing more is implied by everything than everything."""
    assert implies(demands, demands)
    assert implies(demands, ())
    assert implies((), demands) == (demands == ())


@given(DEMANDS, LABELS)
def test_what_is_written_is_read_again(demands: Requirements, labels: dict[str, str]) -> None:
    """As matchExpressions; the empty selector for no demands."""
    found = build_selector(demands).get("matchExpressions", [])
    selector = LabelSelector(match_expressions=[Expression(**each) for each in found])
    again = requirements_of(selector, field="f", what="w")
    assert again == demands
    assert matches(again, labels) == matches(demands, labels)


def test_match_labels_are_demands_of_one_value() -> None:
    """Beside the expressions; all of them sorted, each once."""
    selector = LabelSelector(
        {"app": "db"}, [Expression("app", "In", ["db"]), Expression("a", "Exists")]
    )
    assert requirements_of(selector, field="f", what="w") == (
        Requirement("a", "Exists"),
        Requirement("app", "In", ("db",)),
    )
    assert requirements_of(None, field="f", what="w") == ()


def test_absent_labels_match_as_in_kubernetes() -> None:
    """NotIn matches what lacks the key, In does not (pkg/labels, Requirement.Matches)."""
    assert matches((Requirement("a", "NotIn", ("x",)),), {})
    assert not matches((Requirement("a", "In", ("x",)),), {})
    assert not matches((Requirement("a", "In", ("",)),), {})


@pytest.mark.parametrize(
    ("selector", "field", "why"),
    [
        (LabelSelector({"a b": "c"}), "f.matchLabels[a b]", "cannot be the key"),
        (LabelSelector({"a": "b c"}), "f.matchLabels[a]", "cannot be the value"),
        (LabelSelector({"": "b"}), "f.matchLabels[]", "cannot be the key"),
        (
            LabelSelector(match_expressions=[Expression("a", "In")]),
            "f.matchExpressions[0].values",
            "In needs values",
        ),
        (
            LabelSelector(match_expressions=[Expression("a", "Exists", ["b"])]),
            "f.matchExpressions[0].values",
            "Exists takes no values",
        ),
        (
            LabelSelector(match_expressions=[Expression("A_.b/c", "Exists")]),
            "f.matchExpressions[0]",
            "cannot be the key",
        ),
    ],
)
def test_what_cannot_be_is_refused(selector: LabelSelector, field: str, why: str) -> None:
    """The error names the place."""
    with pytest.raises(InvalidObjectError) as error:
        requirements_of(selector, field="f", what="w")
    assert error.value.field == field
    assert why in error.value.problem


def test_keys_and_values_as_kubernetes_has_them() -> None:
    """63 characters, letters and digits at both ends; a key's prefix is a DNS name of 253."""
    assert is_label_value("")
    assert is_label_value("a" * 63)
    assert not is_label_value("a" * 64)
    assert not is_label_value("-a")
    assert not is_label_value("a\n")
    assert is_label_key("egress.sallyport.dev/x_1")
    assert is_label_key(f"{'a' * 253}/b")
    assert not is_label_key(f"{'a' * 254}/b")
    assert not is_label_key("/b")
    assert not is_label_key("a/b/c")
    assert not is_label_key("")


@given(requirements=st.lists(requirement(), max_size=3).map(tuple), labels=LABELS)
def test_what_is_stored_selects_as_it_was_written(
    requirements: Requirements, labels: dict[str, str]
) -> None:
    """Also with what kube-apiserver leaves out; matchLabels demand each of their labels."""
    stored = {"matchExpressions": [each.written() for each in requirements]}
    assert selects(stored, labels) == matches(requirements, labels)
    assert selects(stored | {"matchLabels": {"a": "x"}}, labels) == (
        matches(requirements, labels) and labels.get("a") == "x"
    )
    assert selects(None, labels)
    assert selects({"matchExpressions": None}, labels)
