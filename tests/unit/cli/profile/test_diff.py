"""`sallyport profile diff`: what counts is what is covered, not how it is written."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import CONFIG_MAP, write
from tests.unit.cli.profile.workload_files import profile


@pytest.mark.parametrize(
    ("a", "b", "only_a", "only_b"),
    [
        (["host/network"], ["host/network"], [], []),
        (["host/network", "host/*"], ["host/*"], [], []),
        (["host/network"], ["host/*"], [], ["host/*"]),
        (["host/network", "run-as/root"], ["host/*"], ["run-as/root"], ["host/*"]),
        (["volume/*", "volume/*/**"], ["volume/**"], [], []),
        ([], [], [], []),
    ],
)
def test_profiles_of_files(  # noqa: PLR0913, PLR0917 (two profiles, and what each has alone)
    run: Run, tmp_path: Path, a: list[str], b: list[str], only_a: list[str], only_b: list[str]
) -> None:
    """Exit 1 and both sides where they differ; 0 where they cover the same."""
    files = [
        write(tmp_path / f"{name}.yaml", profile(name, *privileges))
        for name, privileges in (("a", a), ("b", b))
    ]
    done = run("profile", "diff", *files, "-o", "json")
    told = json.loads(done.out)
    assert (told["onlyA"], told["onlyB"]) == (only_a, only_b)
    assert done.code == int(bool(only_a or only_b))
    table = run("profile", "diff", *files)
    assert table.code == done.code
    assert all(f"  {pattern}\n" in table.out for pattern in only_a + only_b)
    assert ("cover the same" in table.out) is (done.code == 0)


def test_names_are_looked_for_in_the_cluster(run: Run, tmp_path: Path) -> None:
    """A folder's profiles and the shipped ones; a file may include them."""
    folder = write(tmp_path / "c" / "p.yaml", profile("mine", "host/pid")).parent
    include = profile("new", "host/network", includes=["mine"])
    file = write(tmp_path / "new.yaml", include)
    done = run("profile", "diff", file, "mine", "--cluster", folder, "-o", "json")
    told = json.loads(done.out)
    assert (told["onlyA"], told["onlyB"], done.code) == (["host/network"], [], 1)
    assert run("profile", "diff", "pss-restricted", "pss-restricted").code == 0


def test_relaxations_and_missing_includes_of_a_file(run: Run, tmp_path: Path) -> None:
    """All relaxations count; what it includes and is not there is said."""
    relaxation = {"minimumVersion": "1.99", "privileges": ["host/ipc"]}
    file = write(tmp_path / "a.yaml", profile("a", includes=["gone"], relaxations=[relaxation]))
    other = write(tmp_path / "b.yaml", profile("b"))
    done = run("profile", "diff", file, other, "-o", "json")
    assert json.loads(done.out)["onlyA"] == ["host/ipc"]
    assert done.err == "a includes gone, which is not there: left out\n"


def test_wrong_use_is_told(run: Run, tmp_path: Path) -> None:
    """A name that is none, and a file with none or with two."""
    done = run("profile", "diff", "nonesuch", "pss-baseline")
    assert (done.code, done.out) == (64, "")
    assert "nonesuch: no such profile and no such file; there are: " in done.err
    for documents in ([CONFIG_MAP], [profile("a"), profile("b")]):
        file = write(tmp_path / "a.yaml", *documents)
        done = run("profile", "diff", file, "pss-baseline")
        assert (done.code, done.out) == (64, "")
        assert "name a file with one" in done.err
