"""`sallyport policy build`: the compiler is found, or the message helps to find it."""

import shutil
from pathlib import Path

import pytest

from policies import BUILT_IN_BUNDLE
from policies.bundle.format import read_bundle
from tests.tools.provide import provide
from tests.unit.cli.conftest import Run
from tests.unit.policies.bundles import signal, write_rego

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples" / "site-signals"
EXAMPLE = EXAMPLES / "customer_data"
PAGE = ROOT / "docs" / "sandbox" / "site-signals.md"


def test_a_folder_is_wrong_use(run: Run) -> None:
    """A site's is named with --site."""
    done = run("policy", "build", "nofolder")
    assert (done.code, done.out) == (64, "")
    assert "nofolder" in done.err


def test_without_opa_a_working_command_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the sources have."""
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("policy", "build")
    assert (done.code, done.out) == (64, "")
    assert "there is no opa on PATH" in done.err
    assert '--opa "$(python3 tests/tools/provide.py opa)"' in done.err


def test_opa_that_is_no_program_is_named(run: Run, tmp_path: Path) -> None:
    """A folder is none either."""
    done = run("policy", "build", "--opa", tmp_path)
    assert done.code == 64
    assert f"{tmp_path} is no program" in done.err


def test_help_names_no_path_of_this_machine(run: Run) -> None:
    """The default is where the installation has its bundle."""
    text = run("policy", "build", "--help").out
    assert "the built-in bundle" in text
    assert str(Path.cwd())[:12] not in text


@pytest.mark.parametrize("output", [[], ["--output", BUILT_IN_BUNDLE]])
def test_a_site_never_overwrites_the_built_in_bundle(
    run: Run, tmp_path: Path, output: list[Path | str]
) -> None:
    """Neither by default nor by its path; the compiler is not asked."""
    before = BUILT_IN_BUNDLE.read_bytes()
    done = run("policy", "build", "--site", tmp_path, *output)
    assert (done.code, done.out) == (64, "")
    assert "--site: give --output FILE, another than the built-in bundle" in done.err
    assert BUILT_IN_BUNDLE.read_bytes() == before


def test_a_site_is_built_from_several_folders(run: Run, tmp_path: Path) -> None:
    """And its bundle judges: review takes it."""
    other = write_rego(tmp_path / "other", {"x.rego": signal()})
    bundle = tmp_path / "my-bundle.tar.gz"
    folders = ["--site", EXAMPLE, "--site", other]
    done = run("policy", "build", *folders, "--output", bundle, "--opa", provide("opa"))
    assert (done.code, done.err) == (0, "2 cases are in the bundle, 0 left out\n")
    made = read_bundle(bundle)
    assert done.out == f"{bundle}: revision {made.revision}\n"
    own = {rule.id for rule in made.rules.values() if rule.site}
    assert own == {"sandbox/customer_data/training", "sandbox/acme/x"}


def test_a_site_that_is_refused_is_told_where(run: Run, tmp_path: Path) -> None:
    """Exit code 2, file, line, what is wrong and how to mend it."""
    text = "package sallyport.needs\n\nresult := {}\n"
    site = write_rego(tmp_path / "acme", {"x.rego": text})
    bundle = tmp_path / "b.tar.gz"
    done = run("policy", "build", "--site", site, "--output", bundle, "--opa", provide("opa"))
    assert (done.code, done.out) == (2, "")
    assert f"{site}/x.rego:1: package sallyport.needs is Sallyport's own: name it" in done.err
    assert not bundle.exists()


def test_the_pages_commands_say_what_it_shows(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Word for word, in the folder of the example; the built-in bundle asks for no sandbox."""
    shutil.copytree(EXAMPLES, tmp_path / "tried")
    monkeypatch.chdir(tmp_path / "tried")
    monkeypatch.setenv("PATH", str(provide("opa").parent))
    commands = [
        line.removeprefix("$ ").split()[1:]
        for line in PAGE.read_text().splitlines()
        if line.removeprefix("$ ").startswith("sallyport ")
    ]
    build, review, explain = commands
    assert run(*build).code == 0
    done = run(*review)
    assert (done.code, done.err) == (0, "")
    shown = "\n".join(line.rstrip() for line in done.out.splitlines())
    assert f"{shown}\n```" in PAGE.read_text()
    assert "25  sandbox/customer_data/training: reads data of" in run(*explain).out
    without = [word for word in review if word not in {"--bundle", "my-bundle.tar.gz"}]
    assert "RuntimeClass" not in run(*without).out
