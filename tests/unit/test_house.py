"""Rules of the house that no linter knows: names of rooms, examples of rules, commands in pages."""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
import yaml

from core.decision.decision import Verdict
from kube.cluster.folder import FolderCluster, read_profiles
from policies import SHIPPED_PROFILES
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import decide, request
from tests.unit.policies.bundles import make_bundle

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = set(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
RULES = sorted(
    path.relative_to(ROOT / "policies" / "rego").as_posix()
    for path in (ROOT / "policies" / "rego" / "privileges").glob("*/*")
    if path.is_dir() and "since: 1" in (path / f"{path.name}.rego").read_text()
)


def top_level(distribution: Distribution) -> set[str]:
    """Return the names that a distribution puts where imports look for them first."""
    names = {file.parts[0] for file in distribution.files or ()}
    listed = distribution.read_text("top_level.txt") or ""
    return {name.removesuffix(".py") for name in names} | set(listed.split())


def test_no_dependency_owns_a_rooms_name() -> None:
    """The rooms have bare names: an import must never find somebody else's module."""
    owned = {found.name: top_level(found) for found in distributions() if found.name != "sallyport"}
    assert {"msgspec", "kubernetes", "pytest"} <= set().union(*owned.values())
    assert {name: found & ROOMS for name, found in owned.items() if found & ROOMS} == {}


def test_no_room_has_a_name_of_the_standard_library() -> None:
    """Python's own modules would be hidden, or hide ours."""
    assert ROOMS & sys.stdlib_module_names == set()


def test_rooms_are_the_folders_that_hold_packages() -> None:
    """A new room must be named in pyproject.toml, or it is not installed."""
    others = {"bench", "deploy", "docs", "tests"}
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} - others == ROOMS


def test_no_page_has_a_command_that_kubectl_refuses() -> None:
    """`kubectl create role` knows some verbs for kinds of its own alone, and fails for others.

    k8s.io/kubectl pkg/cmd/create/create_role.go, specialVerbs.
    """
    pages = sorted((ROOT / "docs").rglob("*.md"))
    assert len(pages) > 50
    refused = re.compile(r"--verb[= ](use|bind|escalate|impersonate)\b")
    found = [
        page.relative_to(ROOT).as_posix() for page in pages if refused.search(page.read_text())
    ]
    assert found == []


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """The built-in policies, compiled from the sources of now."""
    engine = EmbeddedEngine(read_bundle(make_bundle(tmp_path_factory.mktemp("built"))))
    yield engine
    engine.close()


def test_there_are_rules_of_pod_security() -> None:
    """The tests below are not vacuous."""
    assert len(RULES) >= 20


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("example", "profile", "verdict"),
    [
        ("refused", "pss-restricted", Verdict.DENY),
        ("refused", "pss-privileged", Verdict.ALLOW),
        ("admitted", "pss-restricted", Verdict.ALLOW),
        ("admitted", "pss-baseline", Verdict.ALLOW),
        ("admitted", "pss-privileged", Verdict.ALLOW),
    ],
)
async def test_examples_of_a_rule_have_the_verdict_that_it_says(
    engine: EmbeddedEngine, rule: str, example: str, profile: str, verdict: Verdict
) -> None:
    """Each rule has an example that pss-restricted refuses for it, and one that it admits."""
    made = yaml.safe_load((ROOT / "policies" / "rego" / rule / f"{example}.yaml").read_text())
    cluster = FolderCluster(None, shipped=read_profiles([SHIPPED_PROFILES]))
    asked = request(json.dumps(made).encode(), asked_profile=profile)
    decision = await decide(cluster, engine, asked)
    assert decision.verdict is verdict
    assert (rule in {finding.rule for finding in decision.findings}) is (verdict is Verdict.DENY)
