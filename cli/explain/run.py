"""`sallyport explain`: why a decision was taken, and what would change it."""

import re
from collections.abc import AsyncIterator, Collection
from operator import attrgetter
from pathlib import Path
from typing import Final

from admission.explain.explanation import Explanation, explain
from admission.judge import Judge
from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.clients.explanations import fetch_explanation
from cli import exits
from cli.output import STANDARD_INPUT
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
from core.decision.document import DecisionDocument, build_document, decode_document
from core.decision.request import Request
from kube.client.credentials import Credentials
from kube.manifests.reader import Manifest

_ID: Final = re.compile(r"[0-9a-fA-F]{8}[0-9a-fA-F-]{0,28}")
_SHORT_ID: Final = re.compile(r"[0-9a-fA-F-]{1,8}")
_LOCAL: Final = "local"


class NoDecisionError(LedgerError):
    """The ledger has no decision of this id; it may have something else."""


async def explain_target(settings: Settings, target: str, terms: ReviewTerms) -> list[Explanation]:
    """Explain the decision of an id, or those on the objects of a file.

    With a recorded decision and a subject in `terms`: what it would be for that subject, today.

    Raises:
        SettingsError: the target is neither, or the file holds nothing that is judged.
        NoDecisionError: the ledger has no such decision.
        LedgerError: the ledger cannot be read, or has not all that is asked.
        CannotJudgeError: the cluster does not answer.
    """
    if not _is_file(target):
        recorded = await _of_ledger(settings, target)
    elif (document := _recorded(target)) is not None:
        recorded = [document]
    else:
        found = [each async for each in _of_manifests(settings, target, terms)]
        explained = [each for each in found if not isinstance(each, Unjudged)]
        if not explained:
            raise SettingsError(f"{target}: {_nothing(found)}")
        return explained
    return [explain(document) for document in await _again(settings, recorded, terms)]


def _nothing(found: Collection[Explanation | Unjudged]) -> str:
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
    if settings.explain.url is not None and settings.ledger.url is None:
        return await _of_auditor(settings, settings.explain.url, decision_id)
    async with open_ledger(settings) as store:
        documents = await store.get(decision_id)
    if not documents:
        message = f"no decision {decision_id} is in the ledger: it is not shipped yet, or too old"
        raise NoDecisionError(message)
    return documents


async def _of_auditor(settings: Settings, url: str, decision_id: str) -> list[DecisionDocument]:
    """Ask the auditor, as the user of the kubeconfig."""
    credentials = await Credentials.read(settings.kubeconfig)
    try:
        token = credentials.bearer_token
    finally:
        await credentials.close()
    if not token:
        message = (
            "kubeconfig: its user signs in without a token, which the auditor needs; use one with "
            "a token, or ask your cluster's operators"
        )
        raise SettingsError(message)
    return await fetch_explanation(url, settings.explain.ca, token, decision_id.lower())


async def _of_manifests(
    settings: Settings, path: str, terms: ReviewTerms
) -> AsyncIterator[Explanation | Unjudged]:
    """Yield an explanation for each manifest that is judged, and for each other why it is not."""
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
) -> Explanation | Unjudged:
    element, request = prepare(manifest, terms, files)
    if isinstance(request, Unjudged):
        return request
    decision = await judge.validate(request, budget=BUDGET)
    notes = files.notes(manifest, element.namespace, decision)
    return explain(_document(request, decision), notes)


async def _again(
    settings: Settings, documents: list[DecisionDocument], terms: ReviewTerms
) -> list[DecisionDocument]:
    """Judge what is on record for the subject of the terms; without one, leave it as it is."""
    if terms.subject is None:
        return documents
    async with open_judge(settings) as judge:
        answers = [await judge.rejudge(each, terms.subject, budget=BUDGET) for each in documents]
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
