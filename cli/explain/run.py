"""`sallyport explain`: why a decision was taken, and what would change it."""

import re
from collections.abc import AsyncIterator, Collection
from operator import attrgetter
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from admission.explain.changes import Change, FieldChange
from admission.explain.explanation import Explanation, explain
from admission.judge import Judge
from admission.model.messages import join_words
from app.ledger import open_ledger
from app.settings.root import Settings
from cli import exits
from cli.explain.render import print_isolation, print_risk
from cli.output import COLOURS, STANDARD_INPUT
from cli.shared.judge import BUDGET, open_judge
from cli.shared.manifests import (
    ManifestFacts,
    ReviewTerms,
    prepare,
    read_manifest_facts,
    read_manifests,
)
from cli.shared.results import Result, Unjudged
from core.base.errors import LedgerError, SettingsError
from core.decision.decision import Decision, Verdict
from core.decision.document import DecisionDocument, decode_document
from core.decision.document_builder import build_document
from core.decision.request import Request
from core.safe_text import safe_line
from kube.manifests.reader import Manifest

_ID: Final = re.compile(r"[0-9a-fA-F]{8}[0-9a-fA-F-]{0,28}")
_SHORT_ID: Final = re.compile(r"[0-9a-fA-F-]{1,8}")
_LOCAL: Final = "local"
_MOST_ROWS: Final = 20
_MOST_PATHS: Final = 4


async def explain_target(settings: Settings, target: str, terms: ReviewTerms) -> list[Explanation]:
    """Explain the decision of an id, or those on the objects of a file.

    With a recorded decision and a subject in `terms`: what it would be for that subject, today.

    Raises:
        SettingsError: the target is neither, or the file holds nothing that is judged.
        LedgerError: the ledger cannot be read, has no such decision, or not all that is asked.
        CannotJudgeError: the cluster does not answer.
    """
    if not _is_file(target):
        documents = await _again(settings, await _of_ledger(settings, target), terms)
    elif (recorded := _recorded(target)) is not None:
        documents = await _again(settings, [recorded], terms)
    else:
        found = [each async for each in _of_manifests(settings, target, terms)]
        documents = [each for each in found if not isinstance(each, Unjudged)]
        if not documents:
            raise SettingsError(f"{target}: {_nothing(found)}")
    return [explain(document) for document in documents]


def _nothing(found: Collection[DecisionDocument | Unjudged]) -> str:
    if Unjudged.SUBMITTER in found:
        return "say who submits what is in it: --as USER"
    return "no object in it is of a kind that is judged"


def exit_code(explanations: list[Explanation]) -> int:
    """Return the exit code, as `sallyport review` does."""
    verdicts = {explanation.decision.verdict for explanation in explanations}
    if Verdict.ERROR in verdicts:
        return exits.NOT_JUDGED
    return exits.REFUSED if Verdict.DENY in verdicts else exits.ADMITTED


def _is_file(target: str) -> bool:
    if target == STANDARD_INPUT or Path(target).exists():
        return True
    if _ID.fullmatch(target):
        return False
    if _SHORT_ID.fullmatch(target):
        raise SettingsError(f"{target}: no such file; of an id give at least 8 digits")
    raise SettingsError(f"{target}: neither a file nor the id of a decision")


async def _of_ledger(settings: Settings, decision_id: str) -> list[DecisionDocument]:
    async with open_ledger(settings) as store:
        documents = await store.get(decision_id)
    if not documents:
        message = f"no decision {decision_id} is in the ledger: it is not shipped yet, or too old"
        raise LedgerError(message)
    return documents


async def _of_manifests(
    settings: Settings, path: str, terms: ReviewTerms
) -> AsyncIterator[DecisionDocument | Unjudged]:
    """Yield a document for each manifest that is judged, and for each other why it is not."""
    async with open_judge(settings) as judge:
        items = list(read_manifests([path]))
        files = read_manifest_facts(items, judge, terms)
        knowing = files.judge(judge)
        for item in items:
            if isinstance(item, Result):
                raise SettingsError(item.element.findings[0].message)
            yield await _judged(knowing, item, terms, files)


def _recorded(path: str) -> DecisionDocument | None:
    """Read a file as a decision document (a line of the log, an element of `decisions -o json`)."""
    if path == STANDARD_INPUT or not Path(path).is_file():
        return None
    try:
        return decode_document(Path(path).read_bytes())
    except ValueError:
        return None


async def _judged(
    judge: Judge, manifest: Manifest, terms: ReviewTerms, files: ManifestFacts
) -> DecisionDocument | Unjudged:
    _, request = prepare(manifest, terms, files)
    if isinstance(request, Unjudged):
        return request
    return _document(request, await judge.validate(request, budget=BUDGET))


async def _again(
    settings: Settings, documents: list[DecisionDocument], terms: ReviewTerms
) -> list[DecisionDocument]:
    """Judge what is on record for the subject of the terms; without one, leave it as it is."""
    if terms.subject is None:
        return documents
    async with open_judge(settings) as judge:
        answers = [await judge.again(each, terms.subject, budget=BUDGET) for each in documents]
    return [
        _document(*answer, cluster=recorded.cluster)
        for recorded, answer in zip(documents, answers, strict=True)
    ]


def _document(request: Request, decision: Decision, cluster: str = _LOCAL) -> DecisionDocument:
    return build_document(
        "validate",
        request,
        decision,
        cluster=cluster,
        seconds=0.0,
        name_subject=attrgetter("label"),
    )


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
    print_isolation(document, console)
    print_risk(document, console)
    _print_root(document, console)
    _print_answers(document, console)
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


def _print_origin(document: DecisionDocument, console: Console) -> None:
    console.print()
    revisions = document.revisions
    facts = [f"decision {document.id}", document.time, f"mode {document.mode}"]
    facts += [f"policies {revisions.policy}"] if revisions.policy else []
    facts += [f"profiles {revisions.profiles}"] if revisions.profiles else []
    facts += [f"risk {revisions.risk}, table {revisions.risk_table}"] if revisions.risk else []
    facts.append(f"cluster {document.cluster}")
    console.print(Text(safe_line("; ".join(facts)), style="dim"))
