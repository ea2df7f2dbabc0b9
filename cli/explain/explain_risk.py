"""Words what the risk of identities did to a decision, for `sallyport explain`."""

from typing import Final

from rich.console import Console
from rich.text import Text

from cli.text import safe_line
from core.decision.decision import AssessedRisk
from core.decision.document import DecisionDocument

_ROLES: Final = {
    "requester": "who asked",
    "author": "who submitted it",
    "workload": "what it signs in as",
}


def print_risk(document: DecisionDocument, console: Console) -> None:
    """Say what was known of each identity, and which row decided; nothing where nobody asked."""
    if not (document.risk or document.behaviour):
        return
    console.print()
    console.print(Text("The identities behind it", style="bold"))
    for one in document.risk:
        console.print(Text(safe_line(f"  {_line(one)}")))
    if document.more_risk:
        console.print(Text(f"  … and {document.more_risk} more"))
    if document.behaviour:
        console.print(Text(safe_line(f"  unusual: {', '.join(document.behaviour)}")))


def _line(one: AssessedRisk) -> str:
    facts = [f"{_ROLES.get(one.role, one.role)} ({one.who}): {one.standing}"]
    facts += [f"since {one.since}"] if one.since else []
    facts += [f"known as of {one.age_s:.0f} s before"] if one.age_s is not None else []
    facts += [f"event {', '.join(one.events)} ({', '.join(one.event_types)})"] if one.events else []
    return f"{', '.join(facts)}; {one.effect}, by the row {one.row}"
