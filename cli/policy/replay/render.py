"""`sallyport policy replay` for people: what would change, what is left out, and the verdict."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from admission.replay.outcomes import Effect
from cli.policy.replay.counts import Changed, Count, Left, Replayed
from core.base.safe_text import safe_line

_WIDEST: Final = 110
_BAR: Final = 24
_MOST_ROWS: Final = 10

HEADS: Final[Mapping[Effect, tuple[str, str]]] = {
    Effect.NEWLY_REFUSED: ("would newly be refused", "red"),
    Effect.NEWLY_ADMITTED: ("would newly be admitted", "green"),
    Effect.WOULD_REFUSE: ("would newly be refused if their namespaces enforced", "yellow"),
    Effect.NEWLY_WARNED: ("would newly be warned of", "yellow"),
    Effect.NO_LONGER_WARNED: ("would no longer be warned of", "green"),
    Effect.NEWLY_SANDBOXED: ("would newly have to run in the sandbox", "yellow"),
    Effect.NO_LONGER_SANDBOXED: ("would no longer run in the sandbox", "yellow"),
    Effect.FAILED: (
        "could not be judged by the candidate alone: its policies fail",
        "magenta",
    ),
}
"""What is said of each effect, and the colour of it."""


def print_replayed(found: Replayed, console: Console) -> None:
    """Print what would change, the gravest first; the last line is the verdict."""
    base = found.base.file or "the built-in bundle"
    place = f" in namespace {found.namespace}" if found.namespace else ""
    _say(
        console,
        f"{found.candidate.file} ({found.candidate.revision}) beside {base} "
        f"({found.base.revision}): {found.reviews:,} reviews{place} from {found.since[:19]}Z to "
        f"{found.until[:19]}Z, {found.distinct:,} different inputs.",
    )
    _say(console, f"The base: {found.base_note}.")
    for change in found.changes:
        console.print()
        _print_change(change, console)
    if found.left or found.not_reproduced or found.beside:
        console.print()
        _print_left(found, console)
    console.print()
    _say(console, found.verdict)


def _print_change(change: Changed, console: Console) -> None:
    words, colour = HEADS[change.effect]
    console.print(Text(f"{change.reviews:,} {words}", style=f"bold {colour}"))
    for head, counts in (
        ("by rule", change.rules),
        ("by namespace", change.namespaces),
        ("by requester", change.requesters),
    ):
        if counts:
            _print_counts(head, counts, console)
    _say(console, f"For example: {', '.join(change.examples)}", "  ")
    _say(console, change.advice, "  ")


def _print_counts(head: str, counts: Sequence[Count], console: Console) -> None:
    console.print(Text(f"  {head}"))
    most = max(each.reviews for each in counts)
    for each in counts[:_MOST_ROWS]:
        bar = "█" * max(round(_BAR * each.reviews / most), 1)
        name = safe_line(each.name or "(no namespace)")
        console.print(Text(f"    {each.reviews:>9,}  {bar:<{_BAR}}  {name}"), soft_wrap=True)
    if len(counts) > _MOST_ROWS:
        console.print(Text(f"    and {len(counts) - _MOST_ROWS} more (-o json)"))


def _print_left(found: Replayed, console: Console) -> None:
    console.print(Text("Not compared", style="bold"))
    for each in found.left:
        _say(console, _left_line(each), "  ")
    if found.not_reproduced:
        ids = ", ".join(found.not_reproduced_examples)
        _say(
            console,
            f"{found.not_reproduced:,}: the base bundle itself would answer otherwise now, so the "
            f"record lacks something that mattered: {ids}",
            "  ",
        )
    if found.beside:
        _say(console, f"{found.beside:,}: about what no bundle is asked", "  ")


def _left_line(left: Left) -> str:
    rule = f" by {left.rule} alone" if left.rule else ""
    return f"{left.reviews:,}{rule}: {left.reason}: {left.examples[0]}"


def _say(console: Console, text: str, indent: str = "") -> None:
    wide = min(console.width, _WIDEST)
    for line in textwrap.wrap(safe_line(text), wide, initial_indent=indent,
                              subsequent_indent=indent, break_on_hyphens=False):  # fmt: skip
        console.print(Text(line), soft_wrap=True)
