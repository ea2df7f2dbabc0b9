"""The context follows its published schema, and equal ones give equal bytes."""

import json
from types import MappingProxyType

import jsonschema
import msgspec
from hypothesis import given

from policies.projection.model import Context, encode_context
from tests.unit.policies.projection.contexts import CONTEXTS
from tests.unit.policies.rego.rego_folder import REGO

SCHEMA = json.loads((REGO / "schema" / "judge.json").read_text())
OF_CONTEXT = SCHEMA["properties"]["context"]


@given(context=CONTEXTS)
def test_a_context_follows_its_schema_and_can_be_read_back(context: Context) -> None:
    """Every key is there, none besides, and nothing of it is lost."""
    document = msgspec.json.decode(encode_context(context))
    jsonschema.validate(document, OF_CONTEXT)
    assert set(document) == set(OF_CONTEXT["properties"]) == set(OF_CONTEXT["required"])
    assert msgspec.convert(document, Context) == context


@given(context=CONTEXTS)
def test_equal_contexts_give_equal_bytes(context: Context) -> None:
    """Whatever the order in which labels came: what is remembered is found again."""
    turned = dict(reversed(list(context.namespace_labels.items())))
    other = msgspec.structs.replace(context, namespace_labels=turned)
    assert encode_context(other) == encode_context(context)


def test_schema_is_a_json_schema() -> None:
    """The published schema is valid draft-07, and its objects refuse unknown fields."""
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["required"] == ["context"]
    assert SCHEMA["additionalProperties"] is OF_CONTEXT["additionalProperties"] is False
    assert set(SCHEMA["properties"]) == {"context", "fields", "kind", "needs", "projection"}


def test_labels_may_be_of_any_mapping() -> None:
    """Those of a namespace in memory are read-only."""
    labels = {"b": "1", "a": "2"}
    frozen = Context("CREATE", namespace_labels=MappingProxyType(labels))
    expected = encode_context(Context("CREATE", namespace_labels=labels))
    assert encode_context(frozen) == expected
    assert b'"namespaceLabels":{"a":"2","b":"1"}' in expected
