"""Prints what `sallyport preflight` compared, for people."""

from typing import TYPE_CHECKING

from cli.preflight.run import Compared
from core.base.safe_text import safe_line

if TYPE_CHECKING:
    from rich.console import Console

_FIX = (
    "Read what each field does (kubectl explain). Ship a row for what gives nothing, before you "
    "upgrade: docs/operate/fields.md."
)


def print_compared(compared: Compared, console: "Console") -> None:
    """Print each unknown field, and what to do."""

    def say(text: str) -> None:
        console.print(safe_line(text), markup=False, highlight=False, soft_wrap=True)

    of = compared.version or "this version of Kubernetes"
    say(f"Known: each field of {', '.join(compared.known)}.")
    if not compared.unknown:
        say(f"Each field of {of} is known.")
    else:
        count = len(compared.unknown)
        are = "1 field" if count == 1 else f"{count} fields"
        say(f"{are} of {of} {'is' if count == 1 else 'are'} not known:")
        for each in compared.unknown:
            say(f"  {each}")
        say(_FIX)
    for each in compared.unread:
        say(f"Not read: {each}")
    if compared.filled:
        say("kube-apiserver fills these in by itself; with these values they do not count:")
        for each in compared.filled:
            say(f"  {each}")
    if compared.problem:
        say(f"What kube-apiserver fills in is not known: {compared.problem}")
