"""`make test SINCE=REV` runs what a change reaches, and not what it does not."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.harness.evidence import ROOT
from tests.reach import Graph, changed_since

MAIN = """
import typer
from cli.processes.command import gate, run
from cli.review.command import review
from cli.who_can.command import app as who_can_app

app = typer.Typer()
app.add_typer(who_can_app, name="who-can")
app.command(epilog="")(review)
app.command(epilog="")(gate)
app.command(epilog="")(run)
"""
PROCESSES = """
def gate():
    from app.gate import serve

def run():
    from app.here import serve
"""
CONFTEST = """
import pytest
from cli.main import main
from core.ledger import Ledger

@pytest.fixture
def ledger():
    return Ledger()

@pytest.fixture
def sallyport():
    return main

@pytest.fixture
def who(sallyport):
    return lambda name: sallyport("who-can", name)
"""
GIT = shutil.which("git") or "git"
STARTED = 'PROGRAM = Path(sys.executable).parent / "sallyport"\n'
FILES = {
    "core/__init__.py": "",
    "core/words.py": "",
    "core/ledger.py": "def late():\n    from core import words\n",
    "core/texts/page.html": "<html>",
    "core/texts/page.py": "",
    "policies/__init__.py": "",
    "policies/rego/rule.rego": "package a",
    "app/__init__.py": "",
    "app/gate.py": "import core.ledger",
    "app/here.py": "",
    "cli/__init__.py": "",
    "cli/main.py": MAIN,
    "cli/processes/__init__.py": "",
    "cli/processes/command.py": PROCESSES,
    "cli/review/__init__.py": "",
    "cli/review/command.py": "def review():\n    from cli.review.run import show\n",
    "cli/review/run.py": "",
    "cli/who_can/__init__.py": "",
    "cli/who_can/command.py": "app = 1\ndef who():\n    from cli.who_can import run\n",
    "cli/who_can/run.py": "",
    "docs/page.md": "",
    "docs/guide/night.md": "",
    "helm/values.yaml": "",
    "tests/__init__.py": "",
    "tests/conftest.py": "",
    "tests/data/pod.yaml": "",
    "tests/harness/__init__.py": "",
    "tests/harness/gate.py": STARTED + 'COMMAND = [PROGRAM, "gate", "--port", 1]\n',
    "tests/unit/__init__.py": "",
    "tests/unit/cli/__init__.py": "",
    "tests/unit/cli/conftest.py": CONFTEST,
    "tests/unit/cli/test_app.py": "from cli.main import app",
    "tests/unit/cli/test_ledger.py": "def test(ledger): ...",
    "tests/unit/cli/test_review.py": 'def test(sallyport): sallyport("review", "a.yaml")',
    "tests/unit/cli/test_who.py": 'def test(who): who("ada")',
    "tests/unit/cli/test_keys.py": 'def test(sallyport): assert {"review": 1}["review"]',
    "tests/unit/core/__init__.py": "",
    "tests/unit/core/golden/words.json": "",
    "tests/unit/core/test_late.py": "import core.ledger",
    "tests/unit/core/test_named.py": 'COMMAND = [python, "-m", "core.words"]',
    "tests/unit/core/test_page.py": "from core.texts import page",
    "tests/unit/core/test_nothing.py": 'WORDS = ["review", "gate"]',
    "tests/unit/core/test_pods.py": 'FOLDER = HERE / "data"',
    "tests/unit/docs/test_pages.py": "",
    "tests/unit/docs/test_night.py": 'PAGE = ROOT / "docs" / "guide" / "night.md"',
    "tests/unit/helm/test_values.py": "",
    "tests/unit/policies/test_rules.py": "",
    "tests/api/test_gate.py": "from tests.harness import gate",
    "tests/proof/test_proof.py": "import core.words",
    "pyproject.toml": "",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a repository with `FILES` as its first commit."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    person = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*person, "commit", "-qm", "one"]):
        subprocess.run([GIT, *command], cwd=tmp_path, check=True)
    return tmp_path


def reached(folder: Path, *changed: str) -> set[str]:
    """Return the tests that changes of files reach, each without `tests/`."""
    return {each.removeprefix("tests/") for each in Graph(folder).reached(changed)}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("core/texts/page.py", {"unit/core/test_page.py"}),
        ("app/here.py", {"unit/cli/test_app.py"}),
        ("app/gate.py", {"unit/cli/test_app.py", "api/test_gate.py"}),
        ("cli/review/run.py", {"unit/cli/test_app.py", "unit/cli/test_review.py"}),
        ("cli/who_can/run.py", {"unit/cli/test_app.py", "unit/cli/test_who.py"}),
        ("tests/harness/gate.py", {"api/test_gate.py"}),
        ("tests/unit/core/test_late.py", {"unit/core/test_late.py"}),
        ("tests/proof/test_proof.py", set()),
        ("helm/values.yaml", {"unit/helm/test_values.py"}),
        ("docs/page.md", {"unit/docs/test_pages.py", "unit/docs/test_night.py"}),
        (
            "policies/rego/rule.rego",
            {"unit/docs/test_pages.py", "unit/docs/test_night.py"}
            | {"unit/policies/test_rules.py"},
        ),
        ("core/texts/page.html", {"unit/core/test_page.py"}),
        ("tests/data/pod.yaml", {"unit/core/test_pods.py"}),
    ],
)
def test_a_change_reaches_these_tests(folder: Path, changed: str, expected: set[str]) -> None:
    """By imports, by the program that a test starts, by the files that it reads; no others."""
    assert reached(folder, changed) == expected


def test_imports_in_functions_and_modules_named_in_strings_count(folder: Path) -> None:
    """What `python -m` runs reaches its module, and so does what imports it late."""
    found = reached(folder, "core/words.py")
    assert {"unit/core/test_late.py", "unit/core/test_named.py"} <= found
    assert "api/test_gate.py" in found  # The gate imports the ledger.
    assert "unit/core/test_nothing.py" not in found


def test_only_who_asks_for_a_fixture_is_reached_through_it(folder: Path) -> None:
    """A conftest.py is for all tests below it; its fixtures are for those that name them."""
    found = {each for each in reached(folder, "core/ledger.py") if each.startswith("unit/cli/")}
    assert found == {"unit/cli/test_app.py", "unit/cli/test_ledger.py"}
    below = reached(folder, "tests/unit/cli/conftest.py")
    assert below == {name.removeprefix("tests/") for name in FILES if "unit/cli/test_" in name}


def test_data_beside_tests_reaches_the_tests_of_the_folder(folder: Path) -> None:
    """Golden files and the like."""
    found = reached(folder, "tests/unit/core/golden/words.json")
    assert found == {name.removeprefix("tests/") for name in FILES if "unit/core/test_" in name}


@pytest.mark.parametrize("changed", ["pyproject.toml", "tests/conftest.py", "requirements/a.txt"])
def test_what_may_change_anything_reaches_everything(folder: Path, changed: str) -> None:
    """All but the proof, which `make test` does not run."""
    everything = {name for name in FILES if "/test_" in name and "/proof/" not in name}
    assert reached(folder, changed) == {name.removeprefix("tests/") for name in everything}


def test_a_module_that_is_gone_reaches_those_that_import_it(folder: Path) -> None:
    """They fail now."""
    (folder / "core/words.py").unlink()
    assert "unit/core/test_late.py" in reached(folder, "core/words.py")


def test_changes_are_committed_or_not(folder: Path) -> None:
    """Also a file that Git does not know yet, and one that is gone."""
    (folder / "core/words.py").write_text("A = 1")
    (folder / "core/new.py").touch()
    (folder / "docs/page.md").unlink()
    assert changed_since(folder, "HEAD") == ["core/new.py", "core/words.py", "docs/page.md"]


def test_an_unknown_revision_is_an_error(folder: Path) -> None:
    """No tests would be a success."""
    with pytest.raises(subprocess.CalledProcessError):
        changed_since(folder, "nowhere")


@pytest.fixture(scope="module")
def house() -> Graph:
    """Return the graph of this repository."""
    return Graph(ROOT)


COMMANDS: Mapping[str, str] = {
    "cli/review/run.py": "tests/unit/cli/review/test_review_table.py",
    "cli/who_can/run.py": "tests/unit/cli/who_can/test_who_can_use.py",
    "cli/verify/run.py": "tests/unit/cli/verify/test_verify.py",
    "cli/risk/show.py": "tests/unit/cli/risk/test_risk.py",
    "cli/policy/sign.py": "tests/unit/cli/policy/test_policy_sign.py",
}


@pytest.mark.parametrize("changed", COMMANDS)
def test_a_change_of_one_command_reaches_few_tests(house: Graph, changed: str) -> None:
    """Its own among them: they run while one waits."""
    found = house.reached([changed])
    assert COMMANDS[changed] in found
    assert len(found) < len(house.tests) / 10


def test_every_command_of_the_house_is_known(house: Graph) -> None:
    """A way to register commands that is not known would lose their tests."""
    folders = {path.parent.name for path in (ROOT / "cli").glob("*/command.py")}
    processes = {"auditor", "control", "gate", "run"}
    known = {name.removeprefix("sallyport ") for name in house.edges if " " in name}
    assert known == {name.replace("_", "-") for name in folders - {"processes"}} | processes


def test_tests_of_a_gate_are_reached_by_what_it_imports(house: Graph) -> None:
    """A process that a test starts is followed to the last module."""
    found = house.reached(["admission/judge.py"])
    assert any(each.startswith("tests/api/admission/") for each in found)
    assert "tests/unit/core/kubernetes/test_quantities.py" not in found


def test_nothing_reaches_nothing(house: Graph) -> None:
    """Without a change there is nothing to run."""
    assert house.reached([]) == set()
