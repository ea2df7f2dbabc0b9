"""The published schema of decision documents describes what is written."""

import json
from pathlib import Path

import jsonschema

from audit.ledger.records.frames import FrameKind
from tests.unit.audit.ledger.records.test_recorder import REQUEST, Spool, decision, recorder

SCHEMA = Path(__file__).parents[4] / "docs" / "reference" / "decision.schema.json"


def test_a_document_keeps_to_the_schema() -> None:
    """And the schema demands what makes a decision one."""
    spool = Spool()
    recorder(spool).record("validate", REQUEST, decision(), [{"op": "add"}], 0.001)
    written = json.loads(next(p for kind, _, p in spool.frames if kind == FrameKind.DECISION))
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(written, schema)
    required = schema["$defs"]["DecisionDocument"]["required"]
    assert {"format", "id", "time", "cluster", "request", "requester", "verdict"} <= set(required)
