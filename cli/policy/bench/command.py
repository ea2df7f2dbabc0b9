"""`sallyport policy bench`: what each rule costs."""

from typing import Annotated

import typer

from cli.flags import OutputFlag
from cli.output import Format, make_console, print_json
from cli.policy.shared.flags import (
    FoldersArgument,
    OpaFlag,
    RulesFlag,
    choices_of,
    find_opa,
    require_folders,
)

BENCH = """**Examples**

    sallyport policy bench my-rules

    sallyport policy bench my-rules --rules rules.yaml

    sallyport policy bench my-rules -o json

    sallyport policy bench my-rules --most-share 30 --rounds 200

What is measured are the inputs of your cases and of example Pods, in pairs
with a rule that does nothing, whose time is subtracted.

**Exit codes**: 0 measured; 1 a rule takes more than its share, or grows faster
than the Pod; 2 the policies were refused; 64 wrong usage."""


def policy_bench(  # noqa: PLR0913, PLR0917 (each is a flag)
    folders: FoldersArgument,
    rules: RulesFlag = None,
    rounds: Annotated[
        int, typer.Option(min=3, max=10_000, help="Pairs that each input is measured by.")
    ] = 30,
    most_share: Annotated[
        float, typer.Option(min=1, max=100, help="Tell of a rule that takes more per cent of all.")
    ] = 50.0,
    opa: OpaFlag = None,
    output: OutputFlag = Format.TABLE,
) -> None:
    """Measure what each of your rules costs on the embedded engine."""
    from cli.policy.bench.run import Benched, bench, exit_code, print_costs  # noqa: PLC0415

    require_folders(folders)
    costs = bench(find_opa(opa), folders, choices_of(rules), rounds, most_share)
    if output is Format.JSON:
        print_json(Benched(costs=costs))
    else:
        print_costs(costs, make_console())
    raise typer.Exit(exit_code(costs))
