"""`make bench WHAT=…`: every word that is listed runs a measurement, any other lists them."""

import argparse
import re
import subprocess
import sys
from pkgutil import resolve_name

import pytest

from bench.__main__ import DEFAULT, MEASUREMENTS, main
from tests.harness.evidence import ROOT

NAMED = re.compile(r"make bench WHAT=([a-z-]+)")
PAGES = ("docs/performance.md", "docs/evidence/README.md", "CONTRIBUTING.md", "README.md")


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_each_program_is_there_and_has_options(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each names a function, which takes the options that its help shows."""
    assert callable(resolve_name(MEASUREMENTS[name].program))
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"python -m bench {name}" in capsys.readouterr().out


def test_without_a_word_a_review_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Options alone are those of the default."""
    with pytest.raises(SystemExit):
        main(["--help"])
    assert f"python -m bench {DEFAULT}" in capsys.readouterr().out


def test_help_lists_each_measurement_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Its name first, what is measured after it."""
    assert main(["help"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(MEASUREMENTS)
    assert all(MEASUREMENTS[line.split()[0]].what in line for line in lines)


def test_an_unknown_word_is_refused_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and on stderr what there is."""
    assert main(["scalling", "--rounds", "1"]) == 2
    said = capsys.readouterr().err
    assert "WHAT=scalling: there is no such measurement" in said
    assert "  scaling " in said


def test_a_wrong_option_measures_nothing() -> None:
    """Each measurement reads all of its arguments before it starts anything."""
    for name, measurement in MEASUREMENTS.items():
        parser = argparse.ArgumentParser(prog=name, exit_on_error=False)
        with pytest.raises((argparse.ArgumentError, SystemExit)):
            resolve_name(measurement.program)(parser, ["--no-such-option"])


def test_listing_imports_no_measurement() -> None:
    """Some measure the memory of their own process: nothing that they do not use is in it."""
    program = (
        "import sys; from bench.__main__ import main; main(['help']); "
        "print(*(name for name in sys.modules if name.startswith('bench.')), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stderr.split() == ["bench.__main__"]


def test_pages_name_measurements_that_there_are() -> None:
    """And the page on performance names all of them."""
    found = {page: set(NAMED.findall((ROOT / page).read_text())) for page in PAGES}
    named = {page: names - {"help"} for page, names in found.items()}
    assert set().union(*named.values()) <= set(MEASUREMENTS)
    assert named["docs/performance.md"] == set(MEASUREMENTS) - {DEFAULT}
