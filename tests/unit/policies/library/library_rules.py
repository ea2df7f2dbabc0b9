"""The library's folders: what lies in each, and bundles of its rules for tests."""

import asyncio
import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import yaml

from app.settings.root import Settings
from cli.review.run import judge_each
from cli.shared.judge import open_judge
from cli.shared.manifests import ReviewTerms
from cli.shared.results import Reviewed
from kube.manifests.reader import Manifest
from policies import BUILT_IN_REGO, LIBRARY
from policies.build.builder import build
from policies.build.site_rego import list_library_rules
from policies.site.choices import Choice, Choices, read_choices
from tests.tools.provide import provide

RULES = [rule.removeprefix("rules/") for rule in list_library_rules()]
"""`labels/required` …."""

PROFILE = "pss-privileged"
"""Covers every privilege, so that what is refused is refused by rules."""

OF_ITS_OWN = "default"
"""The namespace that one rule is about."""


def folder(rule: str) -> Path:
    """Return the folder of a rule."""
    return LIBRARY / rule


def example(rule: str, file: str) -> Any:
    """Read `pass.yaml` or `fail.yaml` of a rule."""
    return yaml.safe_load((folder(rule) / file).read_text())


def choice(rule: str) -> Choice:
    """Return what the examples of a rule are judged with: its rules.yaml, else its defaults."""
    file = folder(rule) / "rules.yaml"
    return read_choices(file).rules[rule] if file.exists() else Choice()


def apart(rule: str) -> Choice:
    """Return the same, in a namespace where no other rule holds."""
    there = [slug(rule), *([OF_ITS_OWN] if rule == "namespaces/forbidden" else [])]
    found = choice(rule)
    moved = _moved(found.parameters, slug(rule))
    return msgspec.structs.replace(found, namespaces=there, parameters=moved)


def slug(rule: str) -> str:
    """Return the namespace of a rule."""
    return rule.replace("/", "-").replace("_", "-")


def _moved(value: Any, namespace: str) -> Any:
    if isinstance(value, dict):
        return {
            key: _named(each, namespace) if key == "namespaces" else _moved(each, namespace)
            for key, each in value.items()
        }
    return [_moved(each, namespace) for each in value] if isinstance(value, list) else value


def _named(names: Sequence[str], namespace: str) -> list[str]:
    return [namespace if name == "research" else name for name in names]


def moved(rule: str, made: Any) -> Any:
    """Return an example in the rule's own namespace."""
    there = copy.deepcopy(made)
    if there["metadata"]["namespace"] != OF_ITS_OWN:
        there["metadata"]["namespace"] = slug(rule)
    return there


def make(bundle: Path, rules: Mapping[str, Choice]) -> Path:
    """Build a bundle of these rules of the library."""
    build(provide("opa"), BUILT_IN_REGO, bundle, (), Choices(dict(rules)))
    return bundle


class Reviewer:
    """Judges objects with a bundle as `sallyport review` does, in one process."""

    def __init__(self, runner: asyncio.Runner, settings: Settings) -> None:
        self._runner = runner
        self._judge = open_judge(settings)
        self._opened = runner.run(self._judge.__aenter__())

    def review(self, *objects: Any) -> list[Reviewed]:
        """Return what is said of each object."""
        manifests = [Manifest("made", f"made#{n}", each) for n, each in enumerate(objects, 1)]
        judging = judge_each(self._opened, manifests, ReviewTerms(PROFILE))
        return [result.element for result in self._runner.run(judging)]

    def close(self) -> None:
        """Free what it holds."""
        self._runner.run(self._judge.__aexit__(None, None, None))


@contextmanager
def reviewing(bundle: Path) -> Iterator[Reviewer]:
    """Yield a reviewer with a bundle."""
    with asyncio.Runner() as runner:
        reviewer = Reviewer(runner, Settings(bundle=bundle))
        yield reviewer
        reviewer.close()


def own(rule: str, reviewed: Reviewed) -> list[str]:
    """Return what a rule says of an object: a line for each finding, path and message."""
    return [
        f"{found.path}: {found.message}"
        for found in reviewed.findings
        if found.rule == f"rules/{rule}"
    ]
