"""`sallyport profile check` tells patterns that cover nothing, which nobody else would."""

from pathlib import Path
from typing import Final

import msgspec
import pytest
import yaml

from cli.profile.idle_patterns import find_idle_patterns
from core.profiles.container_profiles import CATALOGUE
from core.profiles.privileges import overlaps
from policies import SHIPPED_PROFILES
from policies.bundle.format import Rule
from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import pod, write
from tests.unit.cli.profile.workload_files import profile

SHIPPED: Final = sorted(
    path.stem
    for path in SHIPPED_PROFILES.glob("*.yaml")
    if all(each["kind"] == "ContainerProfile" for each in yaml.safe_load_all(path.read_text()))
)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("shared-volume/*", "did you mean 'shared-volume/**'?"),
        ("shared_volume/user/0", "did you mean 'shared-volume/user/0'?"),
        ("shared-volume/uid/0", "did you mean 'shared-volume/user/*'?"),
        ("shared-volume/user/root", "after shared-volume/user/ comes a number, 'any' or '*'"),
        ("shared-volume/user/0-999", "comes a number, 'any' or '*'"),
        ("shared-volume/group/007", "comes a number, 'any' or '*'"),
        ("field/unknown", "names no privilege: no profile covers a field"),
        ("host/netwrok", "did you mean 'host/network'?"),
        ("no/such/thing/at/all", "see docs/rules/index.md"),
    ],
)
def test_a_pattern_that_covers_nothing_is_told(
    run: Run, tmp_path: Path, pattern: str, says: str
) -> None:
    """On standard error, with what was meant; the verdict is what it is."""
    made = profile("team", "image/from/**", pattern, catalogue=CATALOGUE)
    folder = write(tmp_path / "cluster" / "a.yaml", made).parent
    file = write(tmp_path / "a.yaml", pod())
    done = run("profile", "check", "--cluster", folder, "team", file)
    assert done.code == 0
    assert done.err.startswith("sallyport: ContainerProfile team: ")
    assert repr(pattern) in done.err
    assert says in done.err


@pytest.mark.parametrize(
    "pattern",
    [
        "**",
        "shared-volume/**",
        "shared-volume/user/*",
        "shared-volume/user/any",
        "shared-volume/group/100",
        "host/*",
        "volume/hostPath:ro/var/**",
        "exec/command/nvidia-smi",
    ],
)
def test_pattern_that_covers_something_is_not_idle(run: Run, tmp_path: Path, pattern: str) -> None:
    """Whatever it covers."""
    made = profile("team", "image/from/**", pattern, catalogue=CATALOGUE)
    folder = write(tmp_path / "cluster" / "a.yaml", made).parent
    file = write(tmp_path / "a.yaml", pod())
    assert run("profile", "check", "--cluster", folder, "team", file).err == ""


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profiles_have_none(run: Run, tmp_path: Path, name: str) -> None:
    """So each privilege of theirs is one that a rule's METADATA lists."""
    file = write(tmp_path / "a.yaml", pod())
    done = run("profile", "check", name, file)
    assert done.code in {0, 1}
    assert "no rule names" not in done.err


def test_a_bundle_that_names_no_privileges_tells_nothing() -> None:
    """One of a release before this one: nobody knows what its rules name."""
    rule = Rule("a/b", "a", "a", "a", "a", 1)
    assert find_idle_patterns(["no/such"], {"a/b": rule}) == []
    named = msgspec.structs.replace(rule, privileges=["a/*"])
    assert len(find_idle_patterns(["no/such", "a/b"], {"a/b": named})) == 1


@pytest.mark.parametrize(
    ("first", "second", "do"),
    [
        ("a/b", "a/b", True),
        ("a/*", "a/b", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("a/*", "a/b/c", False),
        ("a/*", "a/b/*", False),
        ("a/*/c", "a/b/**", True),
        ("**", "a", True),
        ("a/b", "a/c", False),
    ],
)
def test_patterns_overlap_where_a_privilege_is_covered_by_both(
    first: str, second: str, *, do: bool
) -> None:
    """`**` stands for one segment or more."""
    assert overlaps(first, second) is do
    assert overlaps(second, first) is do


def test_a_wrong_word_of_a_profile_is_told_with_the_right_ones(run: Run, tmp_path: Path) -> None:
    """Whoever mistypes a field finds what there is."""
    made = profile("team", "image/from/**", defaults={"namespaceIds": ["runAsUsr"]})
    folder = write(tmp_path / "cluster" / "a.yaml", made).parent
    file = write(tmp_path / "a.yaml", pod())
    done = run("profile", "check", "--cluster", folder, "team", file)
    assert done.code != 0
    words = (
        "runAsUser",
        "runAsGroup",
        "fsGroup",
        "supplementalGroups",
        "supplementalGroupsPolicy",
    )
    assert "spec.defaults.namespaceIds[0]: Invalid enum value 'runAsUsr'" in done.err
    listed = done.err.partition("must be one of ")[2].partition("\n")[0]
    assert all(word in listed for word in words)
