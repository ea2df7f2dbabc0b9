"""`sallyport policy test`: Rego tests, cases and both engines."""

from typing import Annotated

import typer

from cli.flags import OutputFlag
from cli.output import Format, make_console, print_json
from cli.policy.shared.flags import (
    FoldersArgument,
    OpaFlag,
    RulesFlag,
    WatchFlag,
    choices_of,
    find_opa,
    require_folders,
    run_once_or_watch,
)

TEST = """**Examples**

    sallyport policy test my-rules

    sallyport policy test my-rules --rules rules.yaml --coverage-min 90

    sallyport policy test my-rules --watch

    sallyport policy test my-rules -o json

Rego tests (NAME_test.rego) are run by OPA and, compiled, by the embedded
engine. Cases (cases/NAME.yaml) are judged as the gate would, and both engines
are asked what was asked then.

**Exit codes**: 0 all passed; 1 something failed, or the engines differ; 2
something could not be judged, or the policies were refused; 64 wrong usage."""


def policy_test(  # noqa: PLR0913, PLR0917 (each is a flag)
    folders: FoldersArgument,
    rules: RulesFlag = None,
    coverage_min: Annotated[
        float,
        typer.Option(min=0, max=100, help="Fail below so many per cent of a file's lines."),
    ] = 0.0,
    watch: WatchFlag = False,  # noqa: FBT002 (typer's flag)
    opa: OpaFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Run your rules' tests and cases, on OPA and on the embedded engine."""
    from cli.policy.test.render import print_tested  # noqa: PLC0415
    from cli.policy.test.run import exit_code, run_all  # noqa: PLC0415 (keeps --help quick)

    require_folders(folders)
    program = find_opa(opa)

    def once() -> int:
        tested = run_all(program, folders, choices_of(rules), coverage_min)
        if output is Format.JSON:
            print_json(tested)
        else:
            print_tested(tested, make_console())
        return exit_code(tested)

    paths = [*folders, *([rules] if rules else ())]
    raise typer.Exit(run_once_or_watch(once, paths, watched=watch))
