"""Prints what `sallyport preflight` compared, for people."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from cli.preflight.run import Compared
from core.base.safe_text import safe_line

if TYPE_CHECKING:
    from rich.console import Console

_FIX = (
    "Read what each field does (kubectl explain). Ship a row for what gives nothing, before you "
    "upgrade: docs/operate/fields.md."
)


_MOST_LACKING: Final = 20
"""Fields that people are shown; JSON has them all."""


def print_compared(compared: Compared, console: "Console") -> None:
    """Print each unknown field, what was not compared, and what to do."""
    for line in (*_unknown(compared), *_not_compared(compared), *_filled(compared)):
        console.print(safe_line(line), markup=False, highlight=False, soft_wrap=True)


def _name_version(compared: Compared) -> str:
    return compared.version or "this version of Kubernetes"


def _unknown(compared: Compared) -> Iterator[str]:
    of = _name_version(compared)
    yield f"Known: each field of {', '.join(compared.known)}."
    if not compared.unknown:
        yield f"Each field of {of}{' that is shown' if compared.lacking else ''} is known."
        return
    count = len(compared.unknown)
    are = "1 field" if count == 1 else f"{count} fields"
    yield f"{are} of {of} {'is' if count == 1 else 'are'} not known:"
    yield from (f"  {each}" for each in compared.unknown)
    yield _FIX


def _not_compared(compared: Compared) -> Iterator[str]:
    if compared.lacking:
        yield from _lacking(compared)
    if compared.not_served:
        yield f"Not served, so not compared: {', '.join(compared.not_served)}."
    yield from (f"Not read: {each}" for each in compared.unread)


def _filled(compared: Compared) -> Iterator[str]:
    if compared.filled:
        yield "kube-apiserver fills these in by itself; with these values they do not count:"
        yield from (f"  {each}" for each in compared.filled)
    if compared.problem:
        yield f"What kube-apiserver fills in is not known: {compared.problem}"


def _lacking(compared: Compared) -> Iterator[str]:
    count = len(compared.lacking)
    fields = "1 field" if count == 1 else f"{count} fields"
    yield (
        f"{_name_version(compared)} must have {fields} that the OpenAPI lacks: it is incomplete, "
        f"or of another minor than {', '.join(compared.known)}. Nothing is known of what it does "
        "not show:"
    )
    yield from (f"  {each}" for each in compared.lacking[:_MOST_LACKING])
    if count > _MOST_LACKING:
        yield f"  … and {count - _MOST_LACKING} more (-o json has them)"
