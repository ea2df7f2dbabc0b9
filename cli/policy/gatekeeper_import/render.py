"""Prints what became of imported ConstraintTemplates and Constraints."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from core.base.safe_text import safe_line
from policies.gatekeeper_import.importer import ImportOutcome, ImportReport

_WORDS = {False: "carried over", True: "refused"}


def print_imported(report: ImportReport, console: Console) -> None:
    """Print what became of each, then what differs, and what to do next."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("OUTCOME", "OBJECT", "RULE", "PLACE"):
        table.add_column(column, overflow="fold")
    for each in report.outcomes:
        cells = (_WORDS[each.refused], f"{each.kind}/{each.name}", each.rule or "–", each.place)
        table.add_row(*(Text(safe_line(cell)) for cell in cells))
    console.print(table)
    for each in report.outcomes:
        for line in _said(each):
            console.print(Text(safe_line(line)))
    console.print()
    done = sum(not each.refused for each in report.outcomes)
    console.print(Text(f"{done} of {len(report.outcomes)} carried over."))
    if report.passed_over:
        told = f"{report.passed_over} objects are neither templates nor Constraints."
        console.print(Text(told))
    if done:
        built = f"--site {report.into} --rules {report.rules_file} --output FILE"
        console.print(Text(safe_line(f"Next: sallyport policy build {built}")))


def _said(outcome: ImportOutcome) -> list[str]:
    named = f"{outcome.kind}/{outcome.name}"
    if outcome.refused:
        return ["", f"{named} is refused: {outcome.why}"]
    return ["", f"{named}:", *(f"  {each}." for each in outcome.differs)] if outcome.differs else []
