"""The fields of each stored or sent document of whatever release is imported, as JSON.

    python shapes.py

A program of its own, as `documents.py`. Types that a release does not have are left out.
"""

import importlib
import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

TYPES: Final = (
    "core.document:DecisionDocument",
    "core.document:SweepDocument",
    "core.look_back:LookBackDocument",
    "core.weight_access:Access",
    "core.weight_events:Activity",
    "core.weight_events:Finding",
    "core.weight_events:LogGap",
    "core.lifecycle:PodLife",
    "core.lifecycle:ObjectChange",
    "core.intake:RefusedRecord",
    "core.intake:Intake",
    "core.risk_wire:StoredHead",
    "control.sweep.cursor:Cursor",
    "control.loops.signing:_StoredKeys",
    "audit.ledger.wire:Acknowledged",
)
TABLES: Final = ("audit.ledger.store.tables", "audit.ledger.store.tables_weights")

Shape = dict[str, Any]
"""`fields`: the JSON Schema of each; `required`: those without a default."""


def shapes() -> dict[str, Shape]:
    """Give the shape of each document, of each part of one, and of each table."""
    found: dict[str, Shape] = {}
    for name in TYPES:
        module, _, attribute = name.partition(":")
        try:
            kind = getattr(importlib.import_module(module), attribute)
        except ImportError:
            continue
        schema = msgspec.json.schema(kind)
        for part, each in schema.get("$defs", {}).items():
            shape = _shape(each)
            if shape:
                found[f"{module}:{part}"] = shape
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
    for module in TABLES:
        try:
            metadata = importlib.import_module(module).METADATA
        except (ImportError, AttributeError):
            continue
        for table in metadata.tables.values():
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


if __name__ == "__main__":
    print(json.dumps(shapes(), indent=1, sort_keys=True))
