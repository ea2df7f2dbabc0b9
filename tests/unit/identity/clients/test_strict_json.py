"""JSON that was signed is read in one way or not at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.clients.signing_keys import strict_json

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"7",
        b'{"a": 1, "a": 2}',
        b'{"x": {"a": 1, "a": 1}}',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1} x',
        b"\xff",
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
    ids=range(11),
)
def test_json_that_two_could_read_differently_is_none(content: bytes) -> None:
    """ValueError, whatever is wrong; a canary in it is not quoted."""
    with pytest.raises(ValueError, match=r"^[a-zA-Z0-9 ,'()._:;-]*$"):
        strict_json(content)


@given(value=st.dictionaries(st.text(), _JSON))
def test_json_that_is_sound_is_read(value: dict[str, Any]) -> None:
    """As the standard library reads it."""
    try:
        content = json.dumps(value, allow_nan=False).encode()
    except ValueError:
        return
    assert strict_json(content) == value
