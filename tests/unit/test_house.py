"""Rules of the house that no linter knows: names of rooms, examples of rules, commands in pages.

And that what text says of files and modules is so.
"""

import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
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


NAMED = ROOMS | {"bench", "deploy", "docs", "helm"}
"""Folders whose files and modules are looked for where a text names them."""

FOREIGN = {"identity.authorization", "identity.delegatedResource", "identity.type"}
"""Fields of Azure's storage logs: no modules, though a room is called so."""

_SLASHED = re.compile(
    rf"(?<![\w/.@:-])(?:{'|'.join(sorted(NAMED))})/[\w./-]*\.(?:py|rego|md|tpl|toml|json|j2)\b"
)
_DOTTED = re.compile(rf"(?<![\w./-])(?:{'|'.join(sorted(ROOMS | {'bench'}))})(?:\.[A-Za-z_]\w*)+")
_NO_MODULE = re.compile(r"\.(dev|io|go|md)\b")


def texts_of(path: Path) -> Iterator[str]:
    """Yield the docstrings and comments of a Python file; all of another."""
    text = path.read_text()
    if path.suffix != ".py":
        yield text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


@cache
def is_module(name: str) -> bool:
    """Return whether a dotted name is a folder or module of ours, or what one defines."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:end])
        source = place.with_suffix(".py")
        if source.is_file():
            if end == len(parts):
                return True
            defined = rf"^(?:(?:async )?def |class )?{parts[end]}\b"
            text = source.read_text()
            return bool(re.search(defined, text, re.MULTILINE)) and all(
                re.search(rf"\b{part}\b", text) for part in parts[end + 1 :]
            )
        if place.is_dir():
            return end == len(parts)
    return False


def misnamed(path: Path, settings: set[str]) -> Iterator[str]:
    """Yield the paths and modules that a file's text names and that are not there."""

    def absent(text: str) -> Iterator[str]:
        for name in set(_SLASHED.findall(text)):
            places = (ROOT / name, path.parent / name, ROOT / "docs" / name)
            if "NNNN" not in name and not any(place.is_file() for place in places):
                yield name
        for name in set(_DOTTED.findall(text)) if path.suffix == ".py" else ():
            known = name in settings or name in FOREIGN or _NO_MODULE.search(name)
            if not known and not is_module(name):
                yield name

    if any(absent(path.read_text())):  # Most files need not be parsed.
        for text in texts_of(path):
            yield from absent(text)


def test_paths_and_modules_in_texts_are_there() -> None:
    """A page, a comment or a docstring that names a file or a module names one of today.

    Pages of evidence are dated: they say what was there. Public examples say where they are from.
    """
    pages = ("docs/reference/names.md", "helm/sallyport/README.md")
    named = "".join((ROOT / page).read_text() for page in pages)
    settings = set(re.findall(r"`([a-z]\w*(?:\.\w+)+)`", named))
    settings |= {name.rpartition(".")[0] for name in settings}
    suffixes = {".py", ".md", ".yaml", ".tpl", ".tf", ".rego", ".toml"}
    files = [
        path
        for folder in [*sorted(NAMED), "examples", "tests", "."]
        for path in (ROOT / folder).glob("*" if folder == "." else "**/*")
        if path.suffix in suffixes and path.is_file()
    ]
    dated = [ROOT / "docs" / "evidence", ROOT / "examples" / "public", ROOT / "CHANGELOG.md"]
    read = [
        path
        for path in files
        if path.name == "README.md" or not any(path.is_relative_to(each) for each in dated)
    ]
    found = {path.relative_to(ROOT).as_posix(): set(misnamed(path, settings)) for path in read}
    assert len(found) > 2000
    assert {path: sorted(names) for path, names in found.items() if names} == {}


@pytest.mark.parametrize("name", ["core.base.names", "kube.watch.listwatch.ListWatch", "policies"])
def test_a_module_is_found(name: str) -> None:
    """Also what it defines, and a folder."""
    assert is_module(name)


@pytest.mark.parametrize("name", ["core.names", "core.base.names.nowhere", "policies.nowhere"])
def test_name_of_no_module_is_not_taken_for_one(name: str) -> None:
    """The test above can fail."""
    assert not is_module(name)


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
