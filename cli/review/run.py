"""`sallyport review`: what the gate would say of manifests, without asking a gate."""

import dataclasses
from collections.abc import Iterable, Sequence

import msgspec

from admission.judge import Judge
from app.settings.root import Settings
from cli import exits
from cli.output import display_file
from cli.review.report import Report
from cli.session import tell_progress
from cli.shared.defaults_preview import fills_of_request
from cli.shared.judge import BUDGET, open_judge, require_profile
from cli.shared.manifests import (
    ManifestFacts,
    ReviewTerms,
    prepare,
    read_manifest_facts,
    read_manifests,
)
from cli.shared.results import Fill, Result, Unjudged, of_decision
from core.base.errors import SettingsError
from core.decision.decision import Decision, Verdict
from core.decision.namespaces import Mode
from core.profiles.container_profiles import ProfileSet
from kube.manifests.reader import Manifest


async def review(settings: Settings, paths: Sequence[str], terms: ReviewTerms) -> Report:
    """Judge every object of the files, folders and (for `-`) standard input, in their order.

    A file that cannot be read gives an element with the verdict `error`; the others are judged.

    Raises:
        SettingsError: a path or the profile does not exist, or there is no object at all.
        CannotJudgeError: the cluster does not answer.
    """
    async with open_judge(settings) as judge:
        return Report(await judge_files(judge, paths, terms), judge.gatherer.engine.rules)


async def judge_files(judge: Judge, paths: Sequence[str], terms: ReviewTerms) -> list[Result]:
    """Do what `review` does, with a judge that is open."""
    if terms.profile is not None:
        require_profile(judge.gatherer.cluster, terms.profile, "--profile ")
    results = await judge_each(judge, read_manifests(paths), terms)
    if not results:
        raise SettingsError(f"no object found in {', '.join(map(display_file, paths))}")
    return results


def exit_code(results: Sequence[Result]) -> int:
    """Return the exit code: what could not be judged weighs more than what was refused."""
    verdicts = {result.verdict for result in results}
    if Verdict.ERROR in verdicts:
        return exits.NOT_JUDGED
    return exits.REFUSED if Verdict.DENY in verdicts else exits.ADMITTED


async def judge_each(
    judge: Judge, items: Iterable[Manifest | Result], terms: ReviewTerms
) -> list[Result]:
    """Judge each object, with what the others say of it; what is none has its result already."""
    read = list(items)
    files = read_manifest_facts(read, judge, terms)
    judge = files.judge(judge)
    results = []
    for number, item in enumerate(read, 1):
        tell_progress(number, "judged")
        results.append(item if isinstance(item, Result) else await _one(judge, item, terms, files))
    return results


async def _one(
    judge: Judge, manifest: Manifest, terms: ReviewTerms, files: ManifestFacts
) -> Result:
    element, request = prepare(manifest, terms, files)
    if isinstance(request, Unjudged):
        result = Result(element, request)
    else:
        decision = await judge.validate(request, budget=BUDGET)
        element = msgspec.structs.replace(
            element,
            defaults=_fills(judge.gatherer.cluster.profiles(), decision, manifest),
            notes=files.notes(manifest, element.namespace, decision),
        )
        result = of_decision(element, decision)
    part = manifest.source.removeprefix(manifest.file)
    return dataclasses.replace(result, file=manifest.file, part=part)


def _fills(profiles: ProfileSet, decision: Decision, manifest: Manifest) -> list[Fill]:
    """Return what the gate would fill in of an object that was admitted as it is.

    Of a workload: of its Pods, when they are created. What its operator makes of a template is
    unknown, and left out.
    """
    if not decision.allowed or decision.mode != Mode.ENFORCE.value or decision.profile is None:
        return []
    profile = profiles.by_name[decision.profile]
    needs = {need.privilege for need in decision.evidence.needs}
    left = {each for each in needs if not profile.covers(each)}
    excused = frozenset(left) if decision.evidence.exceptions else frozenset[str]()
    return fills_of_request(
        profile.defaults,
        (manifest.group, manifest.kind),
        manifest.value,
        excused,
        decision.evidence.projection,
    )
