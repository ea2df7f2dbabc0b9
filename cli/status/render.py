"""`sallyport status` for people: the state first, then what needs a person, then the rest."""

from typing import Final

from rich.console import Console
from rich.text import Text

from cli.shared.cluster_status.model import AreaState, InstallationStatus, StatusArea
from core.base.safe_text import safe_line

_STYLES: Final = {
    AreaState.WELL: "green",
    AreaState.PROBLEM: "red",
    AreaState.UNKNOWN: "magenta",
    AreaState.OFF: "dim",
}
_STATE_WIDTH: Final = 8
_AREA_WIDTH: Final = 14


def print_status(status: InstallationStatus, console: Console) -> None:
    """Print it; the first line is the whole answer."""
    console.print(Text(safe_line(status.summary), style=_STYLES[status.state]))
    if status.problems:
        short = f"kubectl below is short for kubectl -n {status.namespace}"
        console.print(Text(safe_line(short), style="dim"))
    for number, each in enumerate(status.problems, 1):
        console.print()
        head = Text(f"{number}. {each.severity} ", style=_STYLES[AreaState.PROBLEM])
        console.print(head.append(safe_line(f"{each.area}: {each.what}"), style="default"))
        console.print(Text(safe_line(f"   first: {each.first}")))
        console.print(Text(safe_line(f"   see:   {each.see}")))
    console.print()
    for area in status.areas:
        gaps = [each.why for each in status.unknown if each.area == area.name]
        _print_area(area, gaps, console)
    for note in status.notes:
        console.print(Text(safe_line(f"note: {note}")))
    console.print(Text(safe_line(f"namespace {status.namespace}, {status.at}"), style="dim"))


def _print_area(area: StatusArea, gaps: list[str], console: Console) -> None:
    """Print what is known of an area, then what could not be asked of it."""
    style, unknown = _STYLES[area.state], _STYLES[AreaState.UNKNOWN]
    lines = [Text(safe_line(line)) for line in area.says]
    lines += [Text(safe_line(f"not known: {why}"), style=unknown) for why in gaps]
    for index, line in enumerate(lines or [Text("nothing is known of it")]):
        state, name = (area.state.value, area.name) if index == 0 else ("", "")
        head = Text(f"{state:{_STATE_WIDTH}} ", style=style)
        console.print(head.append(f"{name:{_AREA_WIDTH}}", style="bold").append(line))
