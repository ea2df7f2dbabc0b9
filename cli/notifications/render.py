"""Prints sinks for people."""

import typer
from rich.console import Console

from cli.notifications.run import NotificationsStatus, SinkStatus, TestOutcome, TriedSink
from cli.shared.list_table import NOTHING, print_rows
from core.base.safe_text import safe_line


def print_tried(tried: TriedSink) -> None:
    """Print what became of a test notice, in one line."""
    if tried.outcome is TestOutcome.TAKEN:
        took = f"took the test notice {tried.notice} in {tried.milliseconds} ms"
        typer.echo(f"{tried.sink} ({tried.kind}) {took}")
        return
    word = "refuses notices" if tried.outcome is TestOutcome.REFUSED else "takes no notices now"
    typer.echo(safe_line(f"{tried.sink} ({tried.kind}) {word}: {tried.problem}"))


def print_status(found: NotificationsStatus, console: Console) -> None:
    """Print how sinks are; there is at least one."""
    rows = [
        {
            "SINK": each.sink,
            "KIND": each.kind,
            "SENT": str(each.sent),
            "GIVEN UP": str(each.dead),
            "STATE": _state_of(each),
            "PROBLEM": each.problem or NOTHING,
        }
        for each in found.sinks
    ]
    print_rows(console, rows, whole=frozenset({"SINK", "KIND", "STATE"}))


def _state_of(status: SinkStatus) -> str:
    if not status.begun:
        return "not begun"
    if status.failing_since:
        return f"failing since {status.failing_since[:19]}Z"
    if status.problem:
        return "takes none"
    return "takes notices"
