"""Each JSON Schema of the reference holds for what its type is encoded to."""

import json
from typing import Any

import jsonschema
import msgspec
import pytest

from docs.generate.schemas import FOLDER, SCHEMAS
from tests.compat.examples import example_of


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_encoded_value_is_as_its_schema_says(name: str) -> None:
    """And one with a field that is not there is not, nor one of another type."""
    kind = SCHEMAS[name][2]
    schema = json.loads((FOLDER / name).read_text())
    checker = jsonschema.validators.validator_for(schema)
    checker.check_schema(schema)
    made: Any = msgspec.json.decode(msgspec.json.encode(example_of(kind, {}, json=True)))
    checker(schema).validate(made)
    with pytest.raises(jsonschema.ValidationError):
        checker(schema).validate("another type")
