"""Suggestions for many Pods: all is covered, nothing else is, and each line is needed."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from admission.judge import Judge
from app.settings.root import read_settings
from app.wiring import make_engine, make_judge
from cli.profile.pods import FoundPod, find_pods_of
from cli.profile.profile_yaml import profile_yaml
from cli.profile.suggest import Suggestion, suggest_for
from core.profiles.container_profiles import Profile, build_profile_set, parse_profile
from kube.cluster.folder import FolderCluster
from policies import SHIPPED_PROFILES
from tests.harness.published.public_manifests import public_manifests
from tests.harness.worlds.pods import pods

COUNT = 400

Case = tuple[FoundPod, frozenset[str]]
"""An object, and the privileges that it needs."""


async def _examined(judge: Judge, values: Sequence[dict[str, Any]]) -> list[Case]:
    cases: list[Case] = []
    for value in values:
        for found in find_pods_of(value):
            if isinstance(found, FoundPod):
                made = await suggest_for(judge, _each([found]), "p", "test", generalise=False)
                cases.append((found, frozenset(line.privilege for line in made.lines)))
    return cases


async def _suggested(judge: Judge, found: Iterable[FoundPod], *, generalise: bool) -> Suggestion:
    return await suggest_for(judge, _each(found), "p", "test", generalise=generalise)


async def _each(found: Iterable[FoundPod]) -> AsyncIterator[FoundPod]:
    for one in found:
        yield one


def in_force(text: str, *, without: int | None = None) -> Profile:
    """Return the profile of a suggestion's YAML, perhaps without one of its lines."""
    value = yaml.safe_load(text)
    if without is not None:
        del value["spec"]["privileges"][without]
    profile = parse_profile(msgspec.json.encode(value))
    return build_profile_set([profile], (1, 36)).by_name["p"]


def assert_least(suggestion: Suggestion, needed: frozenset[str]) -> None:
    """Fail unless the YAML covers all that is needed, and no line of it can go."""
    text = profile_yaml(suggestion.profile, suggestion.lines)
    profile = in_force(text)
    assert all(profile.covers(privilege) for privilege in needed)
    for number in range(len(suggestion.lines)):
        less = in_force(text, without=number)
        assert not all(less.covers(privilege) for privilege in needed)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """A judge with the shipped policies and profiles."""
    options = read_settings(None, {})
    engine = make_engine(None, options.evaluation)
    yield make_judge(FolderCluster(SHIPPED_PROFILES), engine, options)
    engine.close()


@pytest.fixture(scope="module")
def cases(judge: Judge) -> list[Case]:
    """Pods of every sort, examined one by one."""
    return asyncio.run(_examined(judge, [pod for _, pod in islice(pods(5), COUNT)]))


@given(chosen=st.lists(st.integers(0, COUNT - 1), min_size=1, max_size=8), fold=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_suggestion_is_the_least(
    judge: Judge,
    cases: list[Case],
    chosen: list[int],
    fold: bool,  # noqa: FBT001 (hypothesis gives it)
) -> None:
    """For any Pods: what each needs alone is covered together; exactly that, unless folded."""
    picked = [cases[number] for number in chosen]
    needed = frozenset(p for _, privileges in picked for p in privileges)
    made = asyncio.run(_suggested(judge, [found for found, _ in picked], generalise=fold))
    assert_least(made, needed)
    if not fold:
        assert {line.privilege for line in made.lines} == needed


def _software() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for file, manifest in public_manifests():
        found.setdefault(file.partition("/")[0], []).append(manifest)
    return found


SOFTWARE = {
    name: values
    for name, values in _software().items()
    if any(isinstance(found, FoundPod) for value in values for found in find_pods_of(value))
}


@pytest.mark.parametrize("name", sorted(SOFTWARE))
def test_well_known_software(judge: Judge, name: str) -> None:
    """Of each public manifest: the suggestion covers it, and removing any one line breaks it."""
    cases = asyncio.run(_examined(judge, SOFTWARE[name]))
    needed = frozenset(p for _, privileges in cases for p in privileges)
    made = asyncio.run(_suggested(judge, [found for found, _ in cases], generalise=False))
    assert (made.not_judged, made.denied) == ([], [])
    assert {line.privilege for line in made.lines} == needed
    assert_least(made, needed)


def test_there_is_enough_software() -> None:
    """At least 30 have something to be suggested for."""
    assert len(SOFTWARE) >= 30
