"""`sallyport policy new`: the beginnings of a rule or a signal."""

from pathlib import Path
from typing import Annotated

import typer

from cli.policy_flags import tell


def policy_new(
    rule: Annotated[str, typer.Argument(metavar="CATEGORY/NAME", help="Its id: labels/team, say.")],
    kind: Annotated[
        str, typer.Option(help="What it is asked about: Pod, networking.k8s.io/Ingress.")
    ] = "Pod",
    field: Annotated[
        str, typer.Option(help="What must be there: spec.containers[].resources.")
    ] = "",
    signal: Annotated[  # noqa: FBT002 (typer's flag)
        bool, typer.Option("--signal", help="A signal for the sandbox, and no rule.")
    ] = False,
    into: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder of your rules.")
    ] = Path(),
) -> None:
    """Write the beginnings of a rule or signal: Rego, tests, cases, a page."""
    from policies.authoring.scaffold.writing import Wish, files_of, write  # noqa: PLC0415 (quick)

    for path in write(into, files_of(Wish(rule, kind, field, signal))):
        typer.echo(path)
    tell(f"next: sallyport policy test {into}")
