"""Lints the folders of a site: all that is known about rules that cannot be right."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from core.base.errors import BundleRefusedError
from policies import BUILT_IN_REGO
from policies.authoring.examples import with_examples
from policies.authoring.lint.coverage import CaseCoverage, find_untested
from policies.authoring.lint.external_linters import (
    find_check_problems,
    find_regal_problems,
    find_unformatted,
)
from policies.authoring.lint.fallible_calls import (
    Signatures,
    find_fallible_calls,
    find_untyped_calls,
    signatures,
)
from policies.authoring.lint.metadata import find_metadata_problems
from policies.authoring.lint.problems import Problem, problem_of
from policies.authoring.lint.syntax import RegoSource, parse_source
from policies.authoring.lint.undefined_fields import find_undefined
from policies.authoring.workspace import SITE_FILES, WorkspacePaths, copy_tests
from policies.build.builder import stage_built_in, stage_own
from policies.site.choices import Choices

_RULES = (("sallyport", "rules"), ("sallyport", "sandbox"))


def lint(opa: Path, sites: Sequence[Path], choices: Choices, regal: Path | None) -> list[Problem]:
    """Return the problems of the rules of folders, ordered by place.

    Raises:
        BundleRefusedError: a program says what cannot be read.
    """
    places = WorkspacePaths(tuple(sites))
    with tempfile.TemporaryDirectory(prefix="sallyport-lint-") as scratch:
        staged = Path(scratch)
        stage_built_in(BUILT_IN_REGO, staged / "rego")
        found = [*_staged(opa, staged, sites, choices)]
    if regal is not None:
        found += find_regal_problems(regal, sites)
    named = {
        msgspec.structs.replace(
            each,
            file=places.named(each.file),
            what=places.named(each.what),
            hint=places.named(each.hint),
        )
        for each in found
    }
    return sorted(named, key=lambda it: (it.file, it.line, it.column, it.id, it.what))


def _staged(opa: Path, staged: Path, sites: Sequence[Path], choices: Choices) -> Iterator[Problem]:
    refused: list[Problem] = []
    try:
        chosen = with_examples(sites, choices)
        stage_own(opa, staged, sites, chosen, BUILT_IN_REGO / "schema")
    except BundleRefusedError as error:
        # opa check says more than one thing, each with its column.
        refused = list(find_check_problems(opa, staged)) if (staged / "schema").exists() else []
        refused = refused or [problem_of(str(error), "build", str(sites[0]))]
    for site in sites:
        copy_tests(site, staged)
    files = sorted(
        it.relative_to(staged).as_posix() for it in (staged / SITE_FILES).rglob("*.rego")
    )
    found = list(find_unformatted(opa, staged, files))
    broken = {it.file for it in found if it.id == "parse"}
    yield from found
    yield from (it for it in refused if it.file not in broken)
    sources = []
    for file in files:
        try:
            sources.append(parse_source(opa, staged, file))
        except BundleRefusedError:
            continue  # opa fmt has said so.
    ignored = {source.file: source for source in sources}
    for problem in _own(sources, sites, signatures(opa, staged)):
        if problem.file not in ignored or not ignored[problem.file].ignores(problem):
            yield problem


def _own(
    sources: Sequence[RegoSource], sites: Sequence[Path], takes: Signatures
) -> Iterator[Problem]:
    """Find what Sallyport's own rules say."""
    tests = [each for each in sources if each.is_test]
    written = [each for each in sources if not each.is_test]
    for source in written:
        yield from find_fallible_calls(source)
        yield from find_undefined(source)
    rules: dict[str, list[RegoSource]] = {}
    for source in written:
        if source.package[:2] in _RULES:
            rules.setdefault("/".join(source.package[1:]), []).append(source)
    helpers = [each for each in written if each.package[:1] == ("site",)]
    files = {rule: PurePosixPath(own[0].file) for rule, own in rules.items()}
    cases = CaseCoverage(sites, files)
    yield from cases.problems
    for rule, own in rules.items():
        owner = next((it for it in own if it.annotations), own[0])
        yield from find_untyped_calls(own, owner.annotations.get("custom") or {}, takes)
        yield from find_metadata_problems([*own, *helpers])
        yield from find_untested(rule, own, tests)
        yield from cases.lacking(rule, own[0])
