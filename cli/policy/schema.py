"""`sallyport policy schema`: what rules see, for editors and for `opa check`."""

from pathlib import Path
from typing import Annotated, Any, Optional

import msgspec
import typer

from cli.policy.shared.flags import OpaFlag, RulesFlag, choices_of, find_opa, require_folders

SCHEMA = """**Examples**

    sallyport policy schema --output schema

    sallyport policy schema my-rules --output schema --example input.json

With folders, fields.json has the fields that their rules declare. Editors and
`opa check --schema schema` read them: docs/policies/editors.md.

**Exit codes**: 0 written; 2 the policies were refused; 64 wrong usage."""


def policy_schema(
    output: Annotated[
        Path, typer.Option("--output", metavar="FOLDER", help="Where the schemas go.")
    ],
    folders: Annotated[
        Optional[list[Path]],  # noqa: UP045 (typer)
        typer.Argument(metavar="FOLDER…", help="Your rules, for the fields that they declare."),
    ] = None,
    rules: RulesFlag = None,
    example: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write an input with every field, for completion."),
    ] = None,
    opa: OpaFlag = None,
) -> None:
    """Write the JSON Schemas of what your rules see: projection, judge, fields."""
    from policies.authoring.schemas import example_of, schemas_of  # noqa: PLC0415 (quick --help)

    require_folders(folders or ())
    program = find_opa(opa) if folders else None
    schemas = schemas_of(program, folders or (), choices_of(rules))
    for name, schema in schemas.items():
        _write(output / name, schema)
    if example is not None:
        _write(example, example_of(schemas))


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    typer.echo(path)
