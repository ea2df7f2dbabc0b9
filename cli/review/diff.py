"""`sallyport review --diff OLD`: what a change newly needs."""

import dataclasses
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from admission.profiles.check import MORE_RULE
from app.settings.root import Settings
from cli.output import as_unicode
from cli.review.git_revision import REVISION, read_revision
from cli.review.report import Report, identity
from cli.review.run import judge_each, judge_files
from cli.shared.judge import open_judge
from cli.shared.manifests import ReviewTerms, read_manifests
from cli.shared.results import Change, Result, Reviewed
from core.base.safe_text import safe_line
from core.decision.decision import Action, Finding, Verdict
from kube.manifests.reader import Manifest

_Key = tuple[str, str, str, str]


async def review_difference(
    settings: Settings, paths: Sequence[str], old: str, terms: ReviewTerms
) -> Report:
    """Judge the files as they are and as they were, both by the profiles and rights of now.

    `old` is a file or a folder, or `git:REV` for the same files at a revision.

    Raises:
        SettingsError: as `judge_files`; or the old state cannot be read.
        CannotJudgeError: the cluster does not answer.
    """
    async with open_judge(settings) as judge:
        now = await judge_files(judge, paths, terms)
        was = await judge_each(judge, _read_old(old, paths), terms)
        rules = judge.gatherer.engine.rules
    for result in was:
        if result.element.verdict is Verdict.ERROR:
            reason = result.element.findings[0].message
            line = f"--diff: not judged, so what it held counts as new: {reason}"
            sys.stderr.write(f"sallyport: {safe_line(line)}\n")
    results, gone = compare(now, was, *_places(old, paths))
    return Report(results, rules, as_unicode(old), gone)


def _read_old(old: str, paths: Sequence[str]) -> Iterator[Manifest | Result]:
    if old.startswith(REVISION):
        return read_revision(old.removeprefix(REVISION), paths)
    return read_manifests([old])


def compare(
    now: Sequence[Result],
    was: Sequence[Result],
    place_now: Callable[[str], str] = str,
    place_was: Callable[[str], str] = str,
) -> tuple[list[Result], list[Reviewed]]:
    """Return the results of now with what is new in them alone, and what is gone.

    Objects are the same by apiVersion, kind, namespace and name. Of several, those in the same
    file are, as the `place` functions name files, and else the first is the first. What could
    not be judged then is new, and what cannot be judged now stays an error.
    """
    keys_now = {index: (_key(result), place_now(result.file)) for index, result in enumerate(now)}
    keys_was = {
        index: (_key(result), place_was(result.file))
        for index, result in enumerate(was)
        if result.element.kind
    }
    pairs = _pair(keys_now, keys_was)
    left = keys_was.keys() - pairs.values()
    pairs |= _pair(
        {index: key for index, (key, _) in keys_now.items() if index not in pairs},
        {index: keys_was[index][0] for index in sorted(left)},
    )
    compared = [
        _compare(result, was[pairs[index]] if index in pairs else None)
        for index, result in enumerate(now)
    ]
    rest = [was[index].element for index in sorted(keys_was.keys() - pairs.values())]
    return compared, [msgspec.structs.replace(element, findings=[]) for element in rest]


def _pair(now: Mapping[int, Hashable], was: Mapping[int, Hashable]) -> dict[int, int]:
    """Pair the indices of equal keys, the first with the first."""
    left: dict[Hashable, deque[int]] = {}
    for index, key in was.items():
        left.setdefault(key, deque()).append(index)
    return {index: left[key].popleft() for index, key in now.items() if left.get(key)}


def _places(old: str, paths: Sequence[str]) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """Name files of now and then alike: at a revision by their path, else below what was given."""
    if old.startswith(REVISION):
        return str, lambda file: file.removeprefix(f"{old}:")
    return lambda file: _below(file, paths), lambda file: _below(file, [old])


def _below(file: str, roots: Sequence[str]) -> str:
    path = Path(file)
    root = next((root for root in roots if path.is_relative_to(root)), None)
    return str(path if root is None else path.relative_to(root))


def _key(result: Result) -> _Key:
    element = result.element
    return (element.api_version, element.kind, element.namespace, element.name)


def _compare(now: Result, was: Result | None) -> Result:
    if was is None or was.element.verdict is Verdict.ERROR:
        return dataclasses.replace(now, change=Change(was is None, tuple(sorted(now.needs))))
    change = Change(
        new=False,
        gained=tuple(sorted(now.needs - was.needs)),
        lost=tuple(sorted(was.needs - now.needs)),
    )
    if now.element.verdict is Verdict.ERROR:
        return dataclasses.replace(now, change=change)
    findings = _new_findings(now, was, grown=bool(change.gained))
    element = msgspec.structs.replace(now.element, findings=findings)
    return dataclasses.replace(now, element=element, change=change)


def _new_findings(now: Result, was: Result, *, grown: bool) -> list[Finding]:
    """Return the findings that were not there, or were warnings then and refuse now.

    Of a list that was cut short: what is shown now and was needed then is not new, and what is
    cut off now may be, as soon as any privilege is.
    """
    known = {(identity(finding), finding.action) for finding in was.element.findings}
    cut = {finding.action for finding in was.element.findings if finding.rule == MORE_RULE}

    def is_known(finding: Finding) -> bool:
        enough = {finding.action, Action.DENY}
        if finding.rule == MORE_RULE and grown:
            return False
        if cut & enough and finding.privilege in was.needs:
            return True
        return any((identity(finding), action) in known for action in enough)

    return [finding for finding in now.element.findings if not is_known(finding)]
