"""The values of a JSON text are never counted short."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from core.base.json_values import count_values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=50,
)


def values_of(value: Any) -> int:
    """Count the values by reading them."""
    if isinstance(value, dict):
        return 1 + sum(map(values_of, value.values()))
    return 1 + sum(map(values_of, value)) if isinstance(value, list) else 1


@given(JSON, st.sampled_from([0, 1, 4]))
def test_no_value_is_left_out(value: Any, indent: int) -> None:
    """However it is written; those within texts may count too."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=indent)
    assert count_values(text) >= values_of(value)


def test_texts_count_by_their_marks_alone() -> None:
    """A large text is one value, unless it holds JSON itself."""
    assert count_values(b'{"a":"' + b"x" * 1_000_000 + b'"}') == 2
    assert count_values(rb'{"a":"{\"b\":[1,2]}"}') == 5
