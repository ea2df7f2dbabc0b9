"""Line and column of a field in its file."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cli.review.yaml_positions import Position, Steps, find_positions, steps_to

TEXT = """\
# é😀
kind: ConfigMap
---
😀: {a: 1, 😀b: 1}
metadata:
  annotations: {"a.b/c": x}
spec: &spec
  containers:
  - name: a
    securityContext: {privileged: true}
  -
    name: b
---
{"kind": "List",
\t"items": [{"a": 1}, {"b": "\\/", "c": 2}]}
---
spec: *spec
"""


@pytest.mark.parametrize(
    ("part", "path", "place"),
    [
        ("#1", "kind", Position(2, 1)),
        ("#2", "spec.containers[0].securityContext.privileged", Position(10, 23)),
        ("#2", "spec.containers[1].name", Position(12, 5)),
        ("#2", "metadata.annotations['a.b/c']", Position(6, 17)),
        ("#2", "metadata.annotations[a.b/c]", Position(6, 17)),
        ("#2", "😀.😀b", Position(4, 11)),
        ("#2", "", Position(4, 1)),
        ("#3:items[1]", "c", Position(15, 34)),
    ],
)
def test_field_that_is_there(part: str, path: str, place: Position) -> None:
    """Its key, or the item of a list: counted in characters, as editors do."""
    steps = steps_to(part, path)
    assert find_positions(TEXT, [steps]) == {steps: place}


@pytest.mark.parametrize(
    ("part", "path", "place"),
    [
        ("#2", "spec.hostNetwork", Position(7, 1)),
        ("#2", "spec.containers[0].securityContext.runAsUser", Position(10, 5)),
        ("#2", "spec.containers[7].image", Position(8, 3)),
        ("#3:items[0]", "spec.hostPID", Position(15, 12)),
        ("#4", "spec.containers[0].name", Position(17, 1)),
    ],
)
def test_field_that_is_absent_stands_where_it_would(part: str, path: str, place: Position) -> None:
    """What should hold it; of what an alias repeats, the alias."""
    steps = steps_to(part, path)
    assert find_positions(TEXT, [steps]) == {steps: place}


def test_broken_text_is_read_as_far_as_it_goes() -> None:
    """What stands before the fault has its place, what stands behind has none."""
    first, second = steps_to("#1", "a"), steps_to("#2", "b")
    assert find_positions("a: 1\n---\n} b: 1\n", [first, second]) == {first: Position(1, 1)}
    assert find_positions("", [first]) == {}


def test_depth_does_not_overflow() -> None:
    """A file can be nested deeper than Python's stack."""
    steps = steps_to("#1", "a")
    assert find_positions("[" * 100_000, [steps]) == {steps: Position(1, 1)}


def fields(value: Any, steps: Steps) -> Iterator[Steps]:
    """Yield the way to each key below a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*steps, key)
            yield from fields(inner, (*steps, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from fields(inner, (*steps, index))


keys = st.text("abcdef", min_size=3, max_size=5)
trees = st.recursive(
    st.text(max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=15,
)


@given(st.lists(st.dictionaries(keys, trees, min_size=1), min_size=1, max_size=3), st.booleans())
def test_every_key_is_found_where_it_is_written(documents: list[Any], flow: bool) -> None:  # noqa: FBT001
    """In any YAML, whatever texts stand between the keys; no two are confused."""
    text = yaml.safe_dump_all(documents, default_flow_style=flow, allow_unicode=True)
    wanted = [steps for n, tree in enumerate(documents, 1) for steps in fields(tree, (n,))]
    found = find_positions(text, wanted)
    lines = text.split("\n")
    assert found.keys() == set(wanted)
    assert len(set(found.values())) == len(wanted)
    for steps, place in found.items():
        assert lines[place.line - 1][place.column - 1 :].startswith(f"{steps[-1]}:")
