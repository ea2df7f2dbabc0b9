"""`sallyport review`: what the gate would say of manifests, without asking a gate."""

import dataclasses
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from admission.judge import Judge
from admission.reading import JUDGED_KINDS
from cli import exits
from cli.filling import fills_of
from cli.formats.report import Report
from cli.output import (
    STANDARD_INPUT,
    Result,
    Reviewed,
    Unjudged,
    as_unicode,
    of_decision,
    shown_file,
)
from cli.parts import (
    CLUSTER_WAIT_S,
    make_engine,
    make_judge,
    open_cluster,
    require_answers,
    require_profile,
    tell_progress,
)
from cli.review_files import Files, read_files
from cli.settings import Settings
from cli.subjects import Terms, account_of_pod
from core.decision import Action, Finding, Verdict
from core.errors import InvalidObjectError, SettingsError
from core.request import Kind, Operation, Request
from core.subject import Subject
from core.workloads import WORKLOADS
from kube.manifests import Manifest, find_files, read_paths, read_stream
from policies import SHIPPED_PROFILES

BUDGET = 30.0
"""Seconds for one object."""

_POD = ("", "Pod")
_NAMESPACE = ("", "Namespace")


async def review(settings: Settings, paths: Sequence[str], terms: Terms) -> Report:
    """Judge every object of the files, folders and (for `-`) standard input, in their order.

    A file that cannot be read gives an element with the verdict `error`; the others are judged.

    Raises:
        SettingsError: a path or the profile does not exist, or there is no object at all.
        CannotJudgeError: the cluster does not answer.
    """
    async with open_judge(settings) as judge:
        return Report(await judge_files(judge, paths, terms), judge.gatherer.engine.rules)


async def judge_files(judge: Judge, paths: Sequence[str], terms: Terms) -> list[Result]:
    """Do what `review` does, with a judge that is open."""
    if terms.profile is not None:
        require_profile(judge.gatherer.cluster, terms.profile, "--profile ")
    results = await judge_each(judge, read_manifests(paths), terms)
    if not results:
        raise SettingsError(f"no object found in {', '.join(map(shown_file, paths))}")
    return results


@asynccontextmanager
async def open_judge(settings: Settings) -> AsyncIterator[Judge]:
    """Give a judge for a person who waits; without a cluster, one that knows what is shipped.

    Raises:
        CannotJudgeError: the cluster does not answer.
    """
    if settings.cluster is None and settings.kubeconfig is None:
        settings = settings.model_copy(update={"cluster": SHIPPED_PROFILES})
    if settings.kubeconfig is not None:
        await require_answers(settings.kubeconfig)
    engine = make_engine(settings.bundle, settings.evaluation)
    try:
        async with open_cluster(settings, wait_s=CLUSTER_WAIT_S) as cluster:
            yield make_judge(cluster, engine, settings)
    finally:
        engine.close()


def exit_code(results: Sequence[Result]) -> int:
    """Give the exit code: what could not be judged weighs more than what was refused."""
    verdicts = {result.verdict for result in results}
    if Verdict.ERROR in verdicts:
        return exits.NOT_JUDGED
    return exits.REFUSED if Verdict.DENY in verdicts else exits.ADMITTED


async def judge_each(
    judge: Judge, items: Iterable[Manifest | Result], terms: Terms
) -> list[Result]:
    """Judge each object, with what the others say of it; what is none has its result already."""
    read = list(items)
    files = read_files(read, judge, terms)
    judge = files.judge(judge)
    results = []
    for number, item in enumerate(read, 1):
        tell_progress(number, "judged")
        results.append(item if isinstance(item, Result) else await _one(judge, item, terms, files))
    return results


def read_manifests(paths: Sequence[str]) -> Iterator[Manifest | Result]:
    """Yield each object of the files, and a Result for what is none."""
    for path in paths:
        for file in [STANDARD_INPUT] if path == STANDARD_INPUT else find_files(Path(path)):
            try:
                yield from _read(file)
            except InvalidObjectError as error:
                yield unreadable(str(file), error)


def _read(file: Path | str) -> Iterator[Manifest]:
    if isinstance(file, Path):
        yield from read_paths([file])
        return
    if sys.stdin is None:
        raise SettingsError("standard input is closed: name a file")
    yield from read_stream(sys.stdin.buffer, file)


def unreadable(file: str, error: InvalidObjectError) -> Result:
    """Give the result of what is no object: for people and programs, where it stands."""
    place = error.what.removeprefix(file)
    why = f"{error.field}: {error.problem}" if error.field else error.problem
    remedy = "Mend the file: nothing in it from there on was judged."
    finding = Finding(
        "error/object", Action.DENY, error.field, f"{as_unicode(file)}{place}: {why}", remedy
    )
    element = Reviewed(file=as_unicode(file), verdict=Verdict.ERROR, findings=[finding])
    number, _, item = place.removeprefix("#").partition(":")
    document = f"document {number}" + (f", {item}" if item else "")
    shown = document if place.startswith("#") else place.removeprefix(", ") or "whole file"
    message = f"{shown} could not be judged. This is an error, not a denial.\n\n{why}\n{remedy}"
    message = message[0].upper() + message[1:]
    return Result(element, message=message, place=shown, file=file, part=place)


async def _one(judge: Judge, manifest: Manifest, terms: Terms, files: Files) -> Result:
    element, request = prepare(manifest, terms, files)
    if isinstance(request, Unjudged):
        result = Result(element, request)
    else:
        decision = await judge.validate(request, budget=BUDGET)
        element = msgspec.structs.replace(
            element,
            defaults=fills_of(judge.gatherer.cluster.profiles(), decision, manifest),
            notes=files.notes(manifest, decision),
        )
        result = of_decision(element, decision)
    part = manifest.source.removeprefix(manifest.file)
    return dataclasses.replace(result, file=manifest.file, part=part)


def prepare(manifest: Manifest, terms: Terms, files: Files) -> tuple[Reviewed, Request | Unjudged]:
    """Give the object's element, and the request that would create it, or why none is judged."""
    element = _describe(manifest, terms, files)
    subject = _subject(manifest, element, terms, files)
    if isinstance(subject, Unjudged):
        return element, subject
    workload = (manifest.group, manifest.kind) in WORKLOADS or files.definition(
        manifest
    ) is not None
    return element, Request(
        uid="",
        kind=kind_of(manifest),
        operation=Operation.CREATE,
        subject=subject,
        namespace=element.namespace,
        name=element.name,
        submitted=msgspec.Raw(manifest.raw),
        dry_run=True,
        by_accounts=workload and terms.subject is None,
        asked_profile=terms.profile,
    )


def _describe(manifest: Manifest, terms: Terms, files: Files) -> Reviewed:
    metadata = manifest.value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespaced = files.lies_in_a_namespace(manifest)
    return Reviewed(
        file=as_unicode(manifest.file),
        api_version=manifest.api_version,
        kind=manifest.kind,
        namespace=_text(metadata, "namespace") or (terms.namespace if namespaced else ""),
        name=_text(metadata, "name") or _text(metadata, "generateName"),
    )


def _text(metadata: dict[str, Any], field: str) -> str:
    return str(metadata.get(field) or "")


def _subject(
    manifest: Manifest, element: Reviewed, terms: Terms, files: Files
) -> Subject | Unjudged:
    """Give whose right counts, or why the object is not judged.

    A profile answers for itself whoever asks, so with one nobody changes a Namespace. Of other
    objects than Pods and workloads nobody knows who submits them, unless it is said.
    """
    kind = (manifest.group, manifest.kind)
    if kind == _NAMESPACE:
        known = terms.subject if terms.profile is None else None
        return known or Unjudged.MARKS
    if kind == _POD:
        return terms.subject or account_of_pod(manifest.value, element.namespace)
    if kind in WORKLOADS or files.definition(manifest) is not None:
        return terms.subject or Subject()
    if kind in JUDGED_KINDS:
        whoever = Unjudged.SUBMITTER if terms.profile is None else Subject()
        return terms.subject or whoever
    if files.is_ruled(manifest):
        return terms.subject or Subject()
    return files.passed_over(manifest)


def kind_of(manifest: Manifest) -> Kind:
    """Give a manifest's group, version and kind."""
    version = manifest.api_version.rpartition("/")[2]
    return Kind(manifest.kind, version, manifest.group)
