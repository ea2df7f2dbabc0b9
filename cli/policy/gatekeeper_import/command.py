"""`sallyport policy import`: rules that were written for another gate."""

from pathlib import Path
from typing import Annotated

import typer

from cli import exits
from cli.flags import OutputFlag
from cli.output import Format, make_console, print_json
from cli.policy.shared.flags import OpaFlag, find_opa, tell
from core.base.errors import SettingsError

IMPORT = """**Examples**

    sallyport policy import gatekeeper templates/ constraints/ --into my-rules

    sallyport policy import gatekeeper --help

**Exit codes**: 0 all was carried over; 1 something was refused; 2 it could
not be read; 64 wrong usage."""

GATEKEEPER = """**Examples**

    sallyport policy import gatekeeper templates/ constraints/ --into my-rules

    sallyport policy import gatekeeper all.yaml --into my-rules -o json

    sallyport policy import gatekeeper all.yaml --into my-rules --replace

    sallyport policy build --site my-rules --rules my-rules/rules.yaml \\
    --output my-bundle.tar.gz

Each Constraint becomes a rule gatekeeper/TEMPLATE_CONSTRAINT. A template that
reads other objects, the object as it was, or what no rule is shown is refused
by name. What was carried over is built once before it is written.

**Exit codes**: 0 all was carried over; 1 some was refused, the rest is
written; 2 a file cannot be read, or what was made is refused; 64 wrong usage,
or something would be written over."""


app = typer.Typer(help="Carry rules over from another gate.", no_args_is_help=True, epilog=IMPORT)


@app.callback()
def import_rules() -> None:
    """Carry rules over from another gate."""


@app.command(epilog=GATEKEEPER)
def gatekeeper(  # noqa: PLR0913, PLR0917 (each argument is a flag)
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="Files of YAML, or folders of them.")
    ],
    into: Annotated[
        Path, typer.Option("--into", metavar="FOLDER", help="Your rules; it gets 'gatekeeper/'.")
    ],
    rules: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where actions, namespaces and parameters go.",
            show_default="rules.yaml in the folder",
        ),
    ] = None,
    replace: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--replace", help="Write anew what an earlier import wrote.")
    ] = False,
    opa: OpaFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Carry Gatekeeper's ConstraintTemplates and Constraints over."""
    from cli.policy.gatekeeper_import.render import print_imported  # noqa: PLC0415 (quick --help)
    from policies.gatekeeper_import.documents import read_documents  # noqa: PLC0415
    from policies.gatekeeper_import.importer import (  # noqa: PLC0415
        ImportReport,
        convert_all,
        prove_rules,
    )
    from policies.gatekeeper_import.output import check_room, write  # noqa: PLC0415

    file = rules or into / "rules.yaml"
    program = find_opa(opa)
    check_room(into, file, replace=replace)
    documents = list(read_documents(paths))
    tell(f"{len(documents)} objects read; each template is converted and followed")
    carried = convert_all(program, documents)
    if not carried.outcomes:
        raise SettingsError(
            f"no ConstraintTemplate and no Constraint in {', '.join(map(str, paths))}"
        )
    if carried.files:
        tell(f"{len(carried.choices)} rules are built once")
        prove_rules(program, carried)
        write(carried, into, file)
    report = ImportReport(
        tuple(carried.outcomes), str(into), str(file), passed_over=carried.passed_over
    )
    if output is Format.JSON:
        print_json(report)
    else:
        print_imported(report, make_console())
    raise typer.Exit(exits.ADMITTED if report.complete else exits.REFUSED)
