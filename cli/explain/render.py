"""Words what decided about the sandbox, for `sallyport explain`."""

from rich.console import Console
from rich.text import Text

from cli.shared.sandbox_reasons import describe_score
from cli.text import safe_line
from core.decision.decision import Isolated
from core.decision.document import DecisionDocument
from core.sandbox.decision import SandboxMode


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
