"""Prints why a decision was taken, and what would change it, for `sallyport explain`."""

from typing import Final

from rich.console import Console
from rich.text import Text

from admission.explain.changes import Change, FieldChange
from admission.explain.explanation import Explanation
from admission.model.messages import join_words
from admission.sandbox.messages import why_sandboxed
from cli.output import COLOURS
from core.base.safe_text import safe_line
from core.decision.decision import AssessedRisk, Verdict
from core.decision.document import DecisionDocument, recorded_sandbox

_MOST_ROWS: Final = 20
_MOST_PATHS: Final = 4
_ROLES: Final = {
    "requester": "who asked",
    "author": "who submitted it",
    "workload": "what it signs in as",
}


def print_explanations(explanations: list[Explanation], console: Console) -> None:
    """Print each: what happened, what to do, then why, for those who read on."""
    clusters = list(dict.fromkeys(each.decision.cluster for each in explanations))
    if len(clusters) > 1:
        named = ", ".join(clusters)
        console.print(Text(safe_line(f"{len(clusters)} clusters have this decision: {named}")))
        console.print()
    for number, explanation in enumerate(explanations):
        if number:
            console.print()
        _print(explanation, console)


def _print(explanation: Explanation, console: Console) -> None:
    document = explanation.decision
    style = COLOURS[document.verdict]
    console.print(Text(safe_line(explanation.headline), style=f"bold {style}"))
    for number, change in enumerate(explanation.changes):
        _print_change("Do this" if number == 0 else "Or", change, console)
    _print_commands(explanation.changes, console)
    _print_looks(explanation, console)
    _print_profiles(document, console)
    print_sandbox(document, console)
    print_risk(document, console)
    _print_root(document, console)
    _print_answers(document, console)
    _print_notes(explanation, console)
    _print_origin(document, console)


def _print_change(word: str, change: Change, console: Console) -> None:
    shown = change.fields[:_MOST_ROWS]
    console.print(Text(f"{word}: {safe_line(change.what)}"))
    for remedy, paths in _by_remedy(shown).items():
        console.print(Text(f"  {safe_line(join_words(paths, _MOST_PATHS))}: {safe_line(remedy)}"))
    if len(change.fields) > len(shown):
        console.print(Text(f"  … and {len(change.fields) - len(shown)} more"))


def _by_remedy(fields: list[FieldChange]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for field in fields:
        found.setdefault(field.remedy, []).append(field.path)
    return found


def _section(title: str, console: Console) -> None:
    console.print()
    console.print(Text(safe_line(title), style="bold"))


def _print_commands(changes: list[Change], console: Console) -> None:
    granting = next((change for change in changes if change.commands), None)
    if granting is None:
        return
    _section(f"To give the right to use {granting.profile}, an administrator types", console)
    for command in granting.commands:
        console.print(Text(f"  {safe_line(command)}"))


def _print_looks(explanation: Explanation, console: Console) -> None:
    document = explanation.decision
    if document.left_alone or document.verdict is Verdict.ERROR:
        return
    if not explanation.looks:
        _section("No rule found a privilege that it needs", console)
        return
    _section("What the rules found that it needs", console)
    for look in explanation.looks[:_MOST_ROWS]:
        places = ", ".join(look.paths[:_MOST_PATHS])
        more = f" and {len(look.paths) - _MOST_PATHS} more" if len(look.paths) > _MOST_PATHS else ""
        console.print(Text(safe_line(f"  {look.privilege}  at {places}{more}  (rule {look.rule})")))
    left = len(explanation.looks) - _MOST_ROWS
    if left > 0 or document.more_needs:
        console.print(Text(f"  … and {max(left, 0) + document.more_needs} more"))


def _print_profiles(document: DecisionDocument, console: Console) -> None:
    if not document.tried:
        return
    _section("Profiles that were tried, in order", console)
    for tried in document.tried:
        may = {True: "may be used", False: "may not be used", None: "nobody was asked"}
        lacks = ", ".join(tried.lacks[:_MOST_PATHS])
        left = max(len(tried.lacks) - _MOST_PATHS, 0) + tried.more_lacks
        lacks += f" and {left} more" if left else ""
        covers = f"lacks {lacks}" if lacks else "covers all"
        console.print(Text(safe_line(f"  {tried.profile}: {covers}; {may[tried.usable]}")))
    if document.more_tried:
        console.print(Text(f"  … and {document.more_tried} that lack more"))
    if document.ceiling is not None:
        ceiling = ", ".join(document.ceiling) or "none at all"
        console.print(Text(safe_line(f"  The ceiling of the namespace leaves: {ceiling}")))


def _print_answers(document: DecisionDocument, console: Console) -> None:
    if not document.access_reviews:
        return
    _section("What the cluster said of rights", console)
    for answer in document.access_reviews[:_MOST_ROWS]:
        word = "yes" if answer.allowed else "no"
        where = answer.namespace or "all namespaces"
        line = f"  may {answer.subject} use {answer.profile} in {where}? {word}"
        console.print(Text(safe_line(line)))
    if len(document.access_reviews) > _MOST_ROWS:
        console.print(Text(f"  … and {len(document.access_reviews) - _MOST_ROWS} more answers"))


def _print_root(document: DecisionDocument, console: Console) -> None:
    """Say who is behind what a controller made."""
    root = document.root
    if root is None:
        return
    who = root.requester or "nobody: it has no requester note"
    under = f", under the profile {root.profile}" if root.profile else ""
    _section("Who asked for the workload that it comes from", console)
    console.print(Text(safe_line(f"  {root.kind} {root.name} ({root.uid}): {who}{under}")))


def _print_notes(explanation: Explanation, console: Console) -> None:
    if not explanation.notes:
        return
    _section("What could not be known", console)
    for note in explanation.notes:
        console.print(Text(f"  {safe_line(note)}"))


def _print_origin(document: DecisionDocument, console: Console) -> None:
    console.print()
    revisions = document.revisions
    facts = [f"decision {document.id}", document.time, f"mode {document.mode}"]
    facts += [f"policies {revisions.policy}"] if revisions.policy else []
    facts += [f"profiles {revisions.profiles}"] if revisions.profiles else []
    facts += [f"risk {revisions.risk}, table {revisions.risk_table}"] if revisions.risk else []
    facts.append(f"cluster {document.cluster}")
    console.print(Text(safe_line("; ".join(facts)), style="dim"))


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


def print_sandbox(document: DecisionDocument, console: Console) -> None:
    """Say which sandbox its Pods run in, and what counted; nothing where nobody may ask for one."""
    decided = recorded_sandbox(document)
    if decided is None:
        return
    console.print()
    console.print(Text("The sandbox", style="bold"))
    runtime = decided.runtime
    outcome = f"It must run with the RuntimeClass {runtime}" if runtime else "None"
    console.print(Text(safe_line(f"  {outcome}: {why_sandboxed(decided)}")))
    for each in decided.signals:
        place = f"  at {each.path}" if each.path else ""
        line = f"  {each.points:>4}  {each.rule}: {each.reason}{place}"
        console.print(Text(safe_line(line)))
    if not decided.signals:
        console.print(Text("     0  nothing was found that makes it riskier"))
