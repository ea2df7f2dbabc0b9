"""Prints what `sallyport verify` found."""

from typing import Final

from rich.console import Console
from rich.text import Text

from cli.verify.answers import StepOutcome
from cli.verify.run import ClusterVerification
from core.base.safe_text import safe_line

_COLOURS: Final = {
    StepOutcome.HOLDS: "green",
    StepOutcome.BROKEN: "red",
    StepOutcome.UNKNOWN: "magenta",
}


def print_verified(verified: ClusterVerification, console: Console) -> None:
    """Print a line a step, and what to do below it."""
    console.print(Text(safe_line(f"namespace {verified.namespace}, mode {verified.mode}")))
    for step in verified.steps:
        line = Text(f"{step.standing.value:8}", style=_COLOURS[step.standing])
        console.print(line.append(safe_line(f"{step.name}: {step.found}"), style="default"))
        if step.remedy:
            console.print(Text(safe_line(f"         what to do: {step.remedy}")))
    for note in verified.notes:
        console.print(Text(safe_line(f"note: {note}")))
