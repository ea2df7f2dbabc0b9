"""The fields of each stored or sent document, as JSON."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from audit.ledger.server.frames_protocol import Acknowledged
from audit.ledger.store.tables import BY_KIND, METADATA
from control.certificates.signing_keys import _StoredKeys
from control.sweep.cursor import Cursor
from core.decision.document import DecisionDocument
from core.decision.sweep_document import SweepDocument
from core.risk.look_back import LookBackDocument
from core.risk.snapshot_storage import StoredHead
from core.weights.documents.access import Access
from core.weights.documents.events import Activity, Finding, LogGap
from core.weights.documents.intake import Intake, RefusedRecord
from core.weights.documents.object_change import ObjectChange
from core.weights.documents.pod_life import PodLife

TYPES: Final[Mapping[str, tuple[type[msgspec.Struct], ...]]] = {
    "decisions": (DecisionDocument, SweepDocument),
    "look-backs": (LookBackDocument,),
    "accesses": (Access,),
    "events": (Activity, Finding, LogGap),
    "lives": (PodLife, ObjectChange),
    "intakes": (RefusedRecord, Intake),
    "risk": (StoredHead,),
    "sweep": (Cursor,),
    "signing keys": (_StoredKeys,),
    "answers": (Acknowledged,),
}
"""By what a golden file calls them: it stays, wherever the types move."""

Shape = dict[str, Any]
"""`fields`: the JSON Schema of each; `required`: those without a default."""


def shapes() -> dict[str, Shape]:
    """Return the shape of each document, of each part of one, and of each table."""
    found: dict[str, Shape] = {}
    for name, kinds in TYPES.items():
        for kind in kinds:
            schema = msgspec.json.schema(kind)
            for part, each in schema.get("$defs", {}).items():
                shape = _shape(each)
                if shape:
                    found[f"{name}:{part}"] = shape
    return found | dict(_tables())


def _shape(schema: Shape) -> Shape:
    if "properties" not in schema:
        return {"values": sorted(map(str, schema["enum"]))} if "enum" in schema else {}
    fields = {
        name: json.dumps({key: value for key, value in each.items() if key != "description"})
        for name, each in schema["properties"].items()
    }
    return {"fields": fields, "required": sorted(schema.get("required", ()))}


def _tables() -> Iterator[tuple[str, Shape]]:
    assert {table.name for table in BY_KIND.values()} <= METADATA.tables.keys()
    for table in METADATA.tables.values():
        fields = {column.name: str(column.type) for column in table.columns}
        yield f"table {table.name}", {"fields": fields, "required": sorted(fields)}


def broken(before: dict[str, Shape], after: dict[str, Shape]) -> list[str]:
    """Say what of `after` cannot read documents of `before`, or cannot be read by it."""
    found = []
    for name, old in before.items():
        new = after.get(name)
        if new is None:
            found.append(f"{name} is gone")
            continue
        for field, schema in old.get("fields", {}).items():
            if field not in new["fields"] and field in old["required"]:
                found.append(f"{name}.{field} is gone, and readers of before demand it")
            elif new["fields"].get(field, schema) != schema:
                found.append(f"{name}.{field} was {schema}, and is {new['fields'][field]}")
        added = set(new.get("required", ())) - set(old.get("required", ()))
        if not name.startswith("table "):
            found += [
                f"{name}.{field} has no default, and was not there" for field in sorted(added)
            ]
        gone = set(old.get("values", ())) - set(new.get("values", ()))
        found += [f"{name}: {value!r} is no value of it any more" for value in sorted(gone)]
    return found
