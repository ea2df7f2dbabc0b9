"""Prints what the sandbox and the risk of identities did to a decision, for `sallyport explain`."""

from typing import Final

from rich.console import Console
from rich.text import Text

from cli.shared.sandbox_reasons import describe_score
from core.decision.decision import AssessedRisk, Isolated
from core.decision.document import DecisionDocument
from core.safe_text import safe_line
from core.sandbox.decision import SandboxMode

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


def print_isolation(document: DecisionDocument, console: Console) -> None:
    """Say which sandbox its Pods run in, and what counted; nothing where nobody may ask for one."""
    decided = document.isolation
    if decided is None:
        return
    console.print()
    console.print(Text("The sandbox", style="bold"))
    console.print(Text(safe_line(f"  {_outcome(decided, document.sandbox)}")))
    for each in decided.signals:
        place = f"  at {each.path}" if each.path else ""
        line = f"  {each.points:>4}  {each.rule}: {each.reason}{place}"
        console.print(Text(safe_line(line)))
    if not decided.signals:
        console.print(Text("     0  nothing was found that makes it riskier"))


def _outcome(decided: Isolated, runtime: str | None) -> str:
    risk = describe_score(decided.score, decided.threshold)
    excused = ", but an exception takes that away" if decided.excused else ""
    if decided.asked:
        why = "its author asks for one"
    elif decided.identity:
        why = "the risk of an identity behind it demands one"
    elif decided.mode == SandboxMode.REQUIRED.value:
        why = f"profile or namespace demands one{excused}"
    elif decided.mode == SandboxMode.BY_RISK.value:
        why = f"the risk decides: {risk}{excused}"
    else:
        why = "nobody asks for one"
    return f"It must run with the RuntimeClass {runtime}: {why}" if runtime else f"None: {why}"
