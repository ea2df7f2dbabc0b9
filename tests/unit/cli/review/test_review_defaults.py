"""`sallyport review` and `profile` show what a profile's defaults would fill in."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import pod, write
from tests.unit.core.kubernetes.workload_samples import wrapped

DEFAULTS = {
    "seccompProfile": {"type": "RuntimeDefault"},
    "capabilities": {"drop": ["ALL"]},
    "env": [{"name": "A", "value": "b"}],
}
FILLED: list[dict[str, Any]] = [
    {"path": "spec.securityContext.seccompProfile", "value": {"type": "RuntimeDefault"}},
    {"path": "spec.containers[0].securityContext.capabilities", "value": {"drop": ["ALL"]}},
    {"path": "spec.containers[0].env", "value": [{"name": "A", "value": "b"}]},
]


def _profile(name: str, **spec: Any) -> dict[str, Any]:
    wide = ["image/**", "seccomp/unset", "capabilities/**", "capability/**"]
    body = {"rank": 1, "catalogue": 2, "privileges": wide, **spec}
    api = "sallyport.dev/v1alpha1"
    metadata = {"name": name}
    return {"apiVersion": api, "kind": "ContainerProfile", "metadata": metadata, "spec": body}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cluster with a profile that has defaults."""
    return write(tmp_path / "cluster" / "a.yaml", _profile("filling", defaults=DEFAULTS)).parent


def bare() -> dict[str, Any]:
    """Return a Pod that leaves out what is filled in."""
    made = pod("bare")
    del made["spec"]["securityContext"]["seccompProfile"]
    del made["spec"]["containers"][0]["securityContext"]["capabilities"]
    return made


def test_fields_and_values_are_shown(run: Run, tmp_path: Path, folder: Path) -> None:
    """For programs and for people; a variable beside others is a new element of the list."""
    made = bare()
    arguments = ("--cluster", folder, "--profile", "filling")
    file = write(tmp_path / "a.yaml", made)
    (element,) = json.loads(run("review", "-o", "json", *arguments, file).out)
    assert (element["verdict"], element["defaults"]) == ("allow", FILLED)
    out = run("review", *arguments, file).out
    assert "Pod default/bare: filling fills in, when Pods are created:" in out
    assert '  spec.securityContext.seccompProfile: {"type":"RuntimeDefault"}\n' in out
    made["spec"]["containers"][0]["env"] = [{"name": "C", "value": "d"}]
    file = write(tmp_path / "a.yaml", made)
    (element,) = json.loads(run("review", "-o", "json", *arguments, file).out)
    assert element["defaults"][-1] == {
        "path": "spec.containers[0].env[]",
        "value": {"name": "A", "value": "b"},
    }


def test_of_a_workload_it_is_its_pods(run: Run, tmp_path: Path, folder: Path) -> None:
    """At the place of the template, which itself is not patched."""
    made = wrapped(("apps", "Deployment"), {"spec": bare()["spec"]})
    file = write(tmp_path / "a.yaml", made)
    done = run("review", "-o", "json", "--cluster", folder, "--profile", "filling", file)
    (element,) = json.loads(done.out)
    expected = [{**each, "path": f"spec.template.{each['path']}"} for each in FILLED]
    assert element["defaults"] == expected


def test_nothing_is_filled_in_of_what_is_not_admitted(
    run: Run, tmp_path: Path, folder: Path
) -> None:
    """Nor of a Pod that says all itself, nor by a profile without defaults."""
    refused = bare()
    refused["spec"]["hostPID"] = True
    whole = pod()
    whole["spec"]["containers"][0]["env"] = [{"name": "A", "value": "own"}]
    for made, profile in ((refused, "filling"), (whole, "filling"), (bare(), "pss-privileged")):
        file = write(tmp_path / "a.yaml", made)
        done = run("review", "-o", "json", "--cluster", folder, "--profile", profile, file)
        assert [element["defaults"] for element in json.loads(done.out)] == [[]]


def test_profile_check_shows_them(run: Run, tmp_path: Path, folder: Path) -> None:
    """Once for each workload that the profile admits."""
    file = write(tmp_path / "a.yaml", bare())
    done = run("profile", "check", "-o", "json", "--cluster", folder, "filling", file)
    (checked,) = json.loads(done.out)
    assert checked["defaults"] == FILLED
    out = run("profile", "check", "--cluster", folder, "filling", file).out
    assert "Pod bare: filling fills in, when Pods are created:" in out
    refused = write(tmp_path / "a.yaml", {**bare(), "spec": {**bare()["spec"], "hostPID": True}})
    done = run("profile", "check", "-o", "json", "--cluster", folder, "filling", refused)
    assert [each["defaults"] for each in json.loads(done.out)] == [[]]


def test_profile_suggest_says_what_a_profile_that_covers_it_fills_in(
    run: Run, tmp_path: Path, folder: Path
) -> None:
    """It is advice to take that one: so its defaults are said."""
    file = write(tmp_path / "a.yaml", bare())
    done = run("profile", "suggest", "-o", "json", "--cluster", folder, file)
    found = {each["profile"]: each["fields"] for each in json.loads(done.out)["defaults"]}
    assert found["filling"] == FILLED
    done = run("profile", "suggest", "--cluster", folder, file)
    assert "filling fills in, when Pods are created:\n" in done.err
