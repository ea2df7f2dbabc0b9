"""Make `table.json` and `minors.json` of `policies/fields` of its rows and each minor's OpenAPI.

`python -m tests.tools.field_table` writes them, and names each field without a row.
"""

import sys
from typing import Final

import msgspec
import yaml

from core.kubernetes.field_rows import FieldRow, FieldRows
from policies.fields import FOLDER, MINORS, TABLE
from tests.tools.openapi import KINDS, PINS, Types, read_minor, supported

ROWS: Final = FOLDER / "rows.yaml"

SORTS: Final = ("judged", "harmless", "refused", "not held")


def read_rows() -> dict[tuple[str, str], str]:
    """Return what was reviewed, by type and field.

    Raises:
        ValueError: a field has two rows, or a row is of no known sort.
    """
    found: dict[tuple[str, str], str] = {}
    for of, sorts in yaml.safe_load(ROWS.read_text()).items():
        for sort, rows in sorts.items():
            for why, fields in rows.items():
                for field in fields:
                    if sort not in SORTS or (of, field) in found:
                        message = (
                            f"{ROWS.name}: {of}.{field} has two rows, or an unknown sort {sort}"
                        )
                        raise ValueError(message)
                    found[of, field] = f"{sort}: {why}"
    return found


def all_types() -> Types:
    """Return the fields of all minors together."""
    types: Types = {}
    for minor in PINS:
        for of, fields in supported(minor).items():
            types.setdefault(of, {}).update(fields)
    return types


def missing_rows(types: Types) -> list[str]:
    """Name each field of these types that has no row, and each row that has no field."""
    rows = read_rows()
    fields = {(of, field) for of, found in types.items() for field in found}
    return [
        *(f"{of}.{field} has no row" for of, field in sorted(fields - rows.keys())),
        *(f"{of}.{field} is no field" for of, field in sorted(rows.keys() - fields)),
    ]


def made_table() -> bytes:
    """Return the table as its file holds it."""
    rows, types = read_rows(), all_types()
    table = FieldRows(
        versions=[each.split()[0] for each in PINS.values()],
        kinds=dict(KINDS),
        types={
            of: {
                field: FieldRow(rows[of, field], held)
                for field, held in sorted(fields.items())
                if (of, field) in rows
            }
            for of, fields in sorted(types.items())
        },
    )
    lines = msgspec.json.format(msgspec.json.encode(table), indent=1)
    return (
        lines.replace(b'[\n    "', b'["').replace(b'",\n    "', b'", "').replace(b'"\n   ]', b'"]')
        + b"\n"
    )


def made_minors() -> bytes:
    """Return, as its file holds it, which fields of the table each minor may lack."""
    types = all_types()
    lacks = {minor: _lacks(types, minor) for minor in PINS}
    return msgspec.json.format(msgspec.json.encode(lacks), indent=1) + b"\n"


def _lacks(types: Types, minor: str) -> dict[str, list[str]]:
    found = read_minor(minor)
    lacks = {
        of: sorted((fields.keys() - found.types.get(of, {}).keys()) | {*found.varying.get(of, ())})
        for of, fields in sorted(types.items())
    }
    return {of: fields for of, fields in lacks.items() if fields}


def main() -> int:
    """Write both; 1 where a field has no row."""
    TABLE.write_bytes(made_table())
    MINORS.write_bytes(made_minors())
    for problem in (problems := missing_rows(all_types())):
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
