"""YAML is read as kubectl reads it; what is ambiguous or hostile is refused, quickly."""

import time
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kube.manifests.strict_yaml import YamlError, load_all, resolve

SCALARS = {
    "yes": True,
    "y": True,
    "on": True,
    "No": False,
    "n": False,
    "OFF": False,
    "yEs": "yEs",
    "~": None,
    "": None,
    "null": None,
    "nULL": "nULL",
    "0": 0,
    "-17": -17,
    "+5": 5,
    "017": 15,
    "0o17": 15,
    "08": 8.0,
    "0x1F": 31,
    "0b101": 5,
    "1_000": 1000,
    "9223372036854775808": 2**63,
    "18446744073709551616": 2.0**64,
    "-9223372036854775809": -(2.0**63),
    "1.5": 1.5,
    ".5": 0.5,
    "5.": 5.0,
    "1e3": 1000.0,
    "1:30": "1:30",
    "190:20:30": "190:20:30",
    "2026-01-01": "2026-01-01",
    "2026-01-01T00:00:00Z": "2026-01-01T00:00:00Z",
    "1.2.3": "1.2.3",
    "0x": "0x",
    "1e999": "1e999",
    "=": "=",
    "<<": "<<",
    "-": "-",
    ".": ".",
}


@pytest.mark.parametrize("text", SCALARS)
def test_a_plain_scalar(text: str) -> None:
    """Values as go-yaml v2's resolve gives them."""
    value = resolve(text)
    assert value == SCALARS[text]
    assert type(value) is type(SCALARS[text])


VALUES = {
    "on: x\n1: a\nno: b": {"true": "x", "1": "a", "false": "b"},
    "a: 'yes'\nb: \"5\"\nc: !!str 5\nd: ! 7": {"a": "yes", "b": "5", "c": "5", "d": "7"},
    "a: !!int '5'\nb: !!float 5\nc: !!bool on": {"a": 5, "b": 5, "c": True},
    "a: &x {k: [1]}\nb: *x": {"a": {"k": [1]}, "b": {"k": [1]}},
    "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}": {"a": {"k": 1, "l": 2}, "b": {"k": 3, "l": 2}},
    "{<<: [{a: 1}, {a: 2, b: 3}]}": {"a": 1, "b": 3},
    "a: |\n  x\n  y\n": {"a": "x\ny\n"},
    "'<<': 1": {"<<": 1},
}


@pytest.mark.parametrize("text", VALUES)
def test_a_document(text: str) -> None:
    """Keys become strings, aliases and merges what they stand for."""
    assert [value for _, value in load_all(text)] == [VALUES[text]]


def test_documents_come_with_their_lines() -> None:
    """Empty ones are None."""
    text = "# first\na: 1\n---\n---\n\nb: 2\n"
    assert list(load_all(text)) == [(2, {"a": 1}), (4, None), (6, {"b": 2})]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghij", "bcdefghijk", strict=True)
)

REFUSED = {
    "duplicate key": ("a: 1\nb: 2\na: 3", "line 3: duplicate key 'a'"),
    "duplicate after conversion": ("true: 1\n'true': 2", "line 2: duplicate key 'true'"),
    "deep duplicate": ("a:\n  b:\n    c: 1\n    c: 2", "line 4: duplicate key 'c'"),
    "merge over a key": ("x: &x {a: 1}\ny:\n  a: 2\n  <<: *x", "line 4: \"<<\" brings 'a'"),
    "merge of text": ("{<<: text}", '"<<" needs a map'),
    "null key": ("~: 1", "a key must be a string"),
    "float key": ("1.5: 1", "a key must be a string"),
    "map as key": ("{a: 1}: 2", "a key must be a string"),
    "python object": ("a: !!python/object:os.system x", "tag .*python"),
    "python call": ("!!python/object/apply:os.system [id]", "tag .*python"),
    "own tag": ("a: !secret x", "tag !secret"),
    "binary": ("a: !!binary aGk=", "tag .*binary"),
    "set": ("!!set {a, b}", "tag .*set"),
    "not an int": ("a: !!int x", "'x' is no int"),
    "nan": ("a: .nan", "cannot be said in JSON"),
    "inf": ("a: -.inf", "cannot be said in JSON"),
    "bomb": (BOMB, "aliases repeat more than"),
    "long text repeated": (
        f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 200)}]",
        "aliases repeat more than",
    ),
    "alias of itself": ("&a [*a]", r"alias \*a stands for nothing"),
    "unknown alias": ("a: *b", r"alias \*b stands for nothing"),
    "alias of another document": ("a: &x 1\n---\nb: *x", r"line 3: alias \*x"),
    "deep flow": ("[" * 100_000, "nested more than 200 deep"),
    "deep maps": ("{a: " * 100_000, "nested more than 200 deep"),
    "deep block": ("- " * 100_000, "nested more than 200 deep"),
    "deep keys": ("? " * 100_000, "nested more than 200 deep"),
    "unclosed": ("a: [1, 2\nb: 3", "line 2: did not find"),
    "tab": ("a:\n\tb: 1", "line 2: found character"),
    "control character": ("a: \0", "control characters"),
    "two directives": ("%YAML 1.1\n%YAML 1.1\n--- a", "duplicate"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsafe_yaml_is_refused_with_line_and_reason(case: str) -> None:
    """Each with its line and reason, in little time and without a crash."""
    text, says = REFUSED[case]
    began = time.process_time()
    with pytest.raises(YamlError, match=says):
        list(load_all(text))
    assert time.process_time() - began < 4


_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_json)
def test_what_pyyaml_writes_is_read_back(value: Any) -> None:
    """Any JSON value survives, quoted and tagged as PyYAML does it."""
    text = yaml.safe_dump(value, default_style='"', allow_unicode=True)
    assert [one for _, one in load_all(text)] == [value]


@given(st.text(alphabet="ab:-[]{},&*?|>'\"!%#\n \t<y1.~", max_size=40))
def test_no_text_makes_it_fail_otherwise(text: str) -> None:
    """Whatever the text, there is a value that JSON can say, or a YamlError."""
    try:
        values = [value for _, value in load_all(text)]
    except YamlError:
        return
    assert msgspec.json.decode(msgspec.json.encode(values)) == values
