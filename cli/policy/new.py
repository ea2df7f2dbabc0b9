"""`sallyport policy new`: the beginnings of a rule or a signal."""

from pathlib import Path
from typing import Annotated

import typer

from cli.flags import OutputFlag
from cli.output import Format, print_json
from cli.policy.shared.flags import tell
from core.base.errors import SettingsError

NEW = """**Examples**

    sallyport policy new labels/team --into my-rules

    sallyport policy new resources/set --field 'spec.containers[].resources'

    sallyport policy new services/class --kind Service --field spec.type

    sallyport policy new data/gpu --signal --into my-rules

    sallyport policy new labels/team --into my-rules -o json

It writes CATEGORY/NAME/: the rule, its Rego test, a case that is refused and
one that is admitted, and a page. It writes over nothing.

**Exit codes**: 0 written; 64 wrong usage, or something is there already."""


def policy_new(  # noqa: PLR0913, PLR0917 (each is a flag)
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
    output: OutputFlag = Format.TABLE,
) -> None:
    """Write the beginnings of a rule or signal: Rego, tests, cases, a page."""
    from policies.authoring.scaffold.files import ScaffoldRequest, files_of, write  # noqa: PLC0415 (quick)

    if into.exists() and not into.is_dir():
        raise SettingsError(f"--into {into}: is no folder: name one, or one that is not there yet")
    paths = write(into, files_of(ScaffoldRequest(rule, kind, field, signal)))
    if output is Format.JSON:
        from cli.policy.shared.documents import Begun  # noqa: PLC0415 (keeps --help quick)

        area = "sandbox" if signal else "rules"
        print_json(Begun(id=f"{area}/{rule}", files=[str(path) for path in paths]))
    else:
        for path in paths:
            typer.echo(path)
    tell(f"next: sallyport policy test {into}")
