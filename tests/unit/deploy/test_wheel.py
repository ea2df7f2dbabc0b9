"""The wheel is the whole program: its entry points run from it, in place of the checkout."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from deploy.image.wheels import SITE, own_wheel, unpack
from policies.bundle.format import Bundle
from policies.engine.embedded_engine import EvaluationLimits
from policies.trial.wire import ENCODER, OUTCOMES, TrialTask
from tests.harness.evidence import ROOT
from tests.harness.programs.availability import skip_or_fail
from tests.tools.provide import CannotProvideError
from tests.unit.test_house import ROOMS

POD = ROOT / "examples" / "pods" / "first-denial.yaml"
PROGRAMS = {"sallyport", "kubectl-sallyport"}
MIB = 2**20

TABLES = """
import sqlalchemy as sa
from audit.ledger.store.schema import check_tables, prepare_tables
with sa.create_engine("sqlite://").begin() as connection:
    prepare_tables(connection, 0)
    print(check_tables(connection))
"""


@dataclass(frozen=True)
class Installed:
    """The rooms as the wheel holds them, without the checkout."""

    folder: Path
    home: Path

    def python(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run Python with the wheel's modules and the dependencies, elsewhere.

        -S leaves out the site's .pth files, one of which names the checkout.
        """
        where = os.pathsep.join([str(self.folder), sysconfig.get_path("purelib")])
        environment = {
            "PATH": os.defpath,
            "PYTHONPATH": where,
            "HOME": str(self.home),
            "COLUMNS": "100",
        }
        return subprocess.run(
            [sys.executable, "-S", "-P", *arguments],
            input=given,
            capture_output=True,
            cwd=self.home,
            env=environment,
            check=False,
        )

    def program(self, name: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run an entry point of the wheel as pip's script for it does."""
        (entry,) = (each for each in self.entry_points() if each[0] == name)
        module, function = entry[1].split(":")
        script = f"import sys; from {module} import {function}; sys.exit({function}())"
        return self.python("-c", script, *arguments)

    def entry_points(self) -> list[tuple[str, str]]:
        """Return the names and places of the wheel's programs."""
        (info,) = self.folder.glob("sallyport-*.dist-info")
        return [(each.name, each.value) for each in PathDistribution(info).entry_points]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel of this checkout, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    try:
        wheel = own_wheel(ROOT, folder)
    except CannotProvideError as error:
        skip_or_fail(error)
    unpack(wheel, folder / "root")
    (folder / "home").mkdir()
    return Installed(folder / "root" / SITE, folder / "home")


def test_the_wheel_holds_every_file_of_the_rooms(installed: Installed) -> None:
    """Templates, migrations, tables and the compiled policies among them."""
    written, held = _files(ROOT), _files(installed.folder)
    assert written - held == set()
    assert "policies/compiled/builtin.tar.gz" in held


def _files(root: Path) -> set[str]:
    paths = (path for room in ROOMS for path in (root / room).rglob("*") if path.is_file())
    return {str(path.relative_to(root)) for path in paths if "__pycache__" not in path.parts}


def test_the_programs_are_those_of_the_documentation(installed: Installed) -> None:
    """No more and no fewer, so that each is run below."""
    assert {name for name, _ in installed.entry_points()} == PROGRAMS


def test_nothing_comes_from_the_checkout(installed: Installed) -> None:
    """Else all that follows would prove nothing."""
    script = "import cli.main, json, sys; print(json.dumps([str(each) for each in sys.path]))"
    done = installed.python("-c", script)
    assert done.returncode == 0, done.stderr.decode()
    assert str(ROOT) not in json.loads(done.stdout)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_shows_its_help(installed: Installed, name: str) -> None:
    """It loads, and names its commands."""
    done = installed.program(name, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert re.search(rf"Usage: {name.replace('-', ' ')} ", done.stdout.decode())
    assert "review" in done.stdout.decode()


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_program_reviews_a_manifest(installed: Installed, name: str) -> None:
    """With the compiled policies and the profiles that the wheel holds."""
    cluster = ("--cluster", str(ROOT / "examples" / "cluster")) if name != "sallyport" else ()
    done = installed.program(name, "review", *cluster, "-o", "json", str(POD))
    assert (done.returncode, done.stderr) == (1, b"")
    (reviewed,) = json.loads(done.stdout)
    assert (reviewed["verdict"], reviewed["name"]) == ("deny", "finetune")
    assert len(reviewed["findings"]) >= 4


def test_process_that_tries_bundles_out_answers(installed: Installed) -> None:
    """It is started by its module's name, and refuses what is no WebAssembly."""
    bundle = Bundle(b"no WebAssembly", {}, {}, "")
    task = TrialTask(bundle, b"[]", {}, {}, [], EvaluationLimits(), 5, 256 * MIB)
    done = installed.python("-m", "policies.trial.child", given=ENCODER.encode(task))
    assert done.returncode == 0, done.stderr.decode()
    assert OUTCOMES.decode(done.stdout).refused


def test_parser_process_ends_with_its_input(installed: Installed) -> None:
    """It is started by its module's name too."""
    done = installed.python("-m", "audit.access.ingest.parser_process")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_process_of_the_sample_lacks_only_its_folder(installed: Installed) -> None:
    """`sallyport run` starts it with the folder of its state."""
    done = installed.python("-m", "app.processes.run.sample")
    assert done.stderr.decode().splitlines()[-1] == "IndexError: list index out of range"


def test_migrations_are_found(installed: Installed) -> None:
    """Alembic finds the steps of the ledger's tables among the wheel's files."""
    done = installed.python("-c", TABLES)
    assert (done.returncode, done.stdout) == (0, b"True\n"), done.stderr.decode()
