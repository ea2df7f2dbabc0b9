"""`sallyport egress plan`: what applying intents opens and closes."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console

from app.settings.root import Settings
from cli import exits
from cli.egress.inputs import look, make_world, open_source, read_intents, site_of
from cli.egress.lines import describe_problem, print_line
from egress.analysis.overlay import changed_namespaces, overlay_intents, remove_intents
from egress.analysis.plan import AllowlistPlan, Change, plan

DIFFERENT: Final = 1

_COLOURS: Final = {"+": "green", "-": "red"}
_INDENT: Final = "    "


async def make_plan(
    settings: Settings, files: Sequence[str], *, delete: bool
) -> tuple[AllowlistPlan, bool]:
    """Compare a cluster as it is with how it is once the files are applied, or deleted.

    Also whether something was broken and left out, which standard error has told.

    Raises:
        SettingsError: what is named cannot be read, or holds no intent.
        ClusterError, AccessReviewError: the cluster does not answer.
    """
    intents, site = read_intents(files), site_of(settings)
    async with open_source(settings) as source:
        seen = await look(settings, source, intents.within, intents)
        then = remove_intents(seen, intents) if delete else overlay_intents(seen, intents)
        before = await make_world(seen, site, source.ask, intents.allowlists)
    after = before.with_snapshot(then, before.rights)
    return plan(before, after, changed_namespaces(seen, then)), bool(seen.broken)


def exit_code(found: AllowlistPlan, *, left_out: bool) -> int:
    """Return the exit code: whether something was left out, or a connection opens or closes."""
    if left_out:
        return exits.NOT_JUDGED
    return DIFFERENT if found.changes else 0


def print_plan(plan: AllowlistPlan, console: Console) -> None:
    """Print what opens and closes, then what is to be known of it."""
    for change in plan.changes:
        style = "yellow" if change.waits else _COLOURS[change.sign]
        print_line(console, _change(change), style)
        if change.waits:
            print_line(console, f"{_INDENT}not yet: {change.waits}", "yellow")
    if not plan.changes:
        print_line(console, "Nothing opens or closes.")
    else:
        console.print()
        print_line(console, _summary(plan.changes))
    for problem in plan.problems:
        colour = "red" if problem.closes else "yellow"
        print_line(
            console,
            f"{'closed' if problem.closes else 'note'}: {describe_problem(problem)}",
            colour,
        )
    for beside in plan.beside:
        print_line(
            console, f"beside it: Pod {beside.namespace}/{beside.pod} {beside.why}", "yellow"
        )
    for note in plan.notes:
        print_line(console, f"note: {note}", "yellow")


def _change(change: Change) -> str:
    intents = ", ".join(change.allowlists)
    by = f" (allowlist {intents})" if intents else ""
    return f"{change.sign} {change.who} → {change.to} {change.ports}{by}{_pods(change)}"


def _pods(change: Change) -> str:
    if not change.pods:
        return "; no Pod runs so"
    more = change.pods - len(change.examples)
    shown = ", ".join(change.examples) + (f" and {more} more" if more > 0 else "")
    return f"; {change.pods} Pod{'' if change.pods == 1 else 's'}: {shown}"


def _summary(changes: Iterable[Change]) -> str:
    changes = list(changes)
    opened = sum(each.sign == "+" and not each.waits for each in changes)
    waiting = sum(bool(each.waits) for each in changes)
    closed = len(changes) - opened - waiting
    return f"{opened} opened, {closed} closed, {waiting} waiting."
