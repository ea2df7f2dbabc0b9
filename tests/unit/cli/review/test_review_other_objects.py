"""`sallyport review` of objects that carry privileges and are no Pods."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import GOOD, write

CLASS: dict[str, Any] = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "gvisor"},
    "handler": "runc",
}
VOLUME: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "v"},
    "spec": {"hostPath": {"path": "/var/lib/kubelet"}},
}


def reviewed(run: Run, *arguments: object) -> list[dict[str, Any]]:
    """Return the elements that review prints."""
    found: list[dict[str, Any]] = json.loads(run("review", "-o", "json", *arguments).out)
    return found


@pytest.mark.parametrize(
    ("made", "privilege", "alices"),
    [
        # Everyone may use pss-restricted, which covers what Pod Security does not speak of.
        (CLASS, "runtime-class/gvisor/runc", "allow"),
        (VOLUME, "volume/hostPath:rw/var/lib/kubelet", "deny"),
    ],
)
def test_its_author_is_whom_the_reviewer_names(
    run: Run, tmp_path: Path, made: dict[str, Any], privilege: str, alices: str
) -> None:
    """With --as or --profile it is judged; without, nobody knows who would submit it."""
    file = write(tmp_path / "a.yaml", made)
    (element,) = reviewed(run, "--profile", "baseline", file)
    assert [finding["privilege"] for finding in element["findings"]] == [privilege]
    (element,) = reviewed(run, "--profile", "pss-privileged", file)
    assert (element["verdict"], element["namespace"]) == ("allow", "")
    (element,) = reviewed(run, "--as", "alice", file)
    assert element["verdict"] == alices
    (element,) = reviewed(run, file)
    assert (element["verdict"], element["findings"]) == ("allow", [])


@pytest.mark.parametrize("form", ["table", "json", "sarif", "github", "junit"])
def test_what_nobody_submits_is_not_judged_and_said(run: Run, tmp_path: Path, form: str) -> None:
    """In each format, with what to do: silence would be taken for consent."""
    file = write(tmp_path / "a.yaml", CLASS, VOLUME)
    done = run("review", "-o", form, file)
    assert done.code == 0
    why = "say who submits it: --as USER, or --profile NAME"
    told = f"2 objects not judged (PersistentVolume, RuntimeClass): {why}."
    if form == "junit":
        assert done.out.count(f'<skipped message="{why}"') == 2
    elif form == "table":
        assert f"\n{told}\n" in done.out
    assert done.err == ("" if form in {"table", "junit"} else f"sallyport: {told}\n")


def test_a_difference_and_an_explanation_say_it_too(run: Run, tmp_path: Path) -> None:
    """Of a volume that was there before as well."""
    file = write(tmp_path / "a.yaml", VOLUME)
    why = "say who submits it: --as USER, or --profile NAME"
    done = run("review", "--diff", file, file)
    told = f"sallyport: 1 object not judged (PersistentVolume): {why}.\n"
    assert (done.code, done.err) == (0, told)
    done = run("explain", file)
    assert (done.code, done.err) == (
        64,
        f"sallyport: {file}: say who submits what is in it: --as USER\n",
    )


def test_a_pod_template_is_a_pod(run: Run, tmp_path: Path) -> None:
    """Its service account counts, as a Pod's does."""
    template = {"spec": {**GOOD["spec"], "hostPID": True}}
    made = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}}
    file = write(tmp_path / "a.yaml", made | {"template": template})
    (element,) = reviewed(run, file)
    assert element["namespace"] == "default"
    assert "template.spec.hostPID" in [finding["path"] for finding in element["findings"]]


def test_a_claim_is_judged_by_the_volumes_of_the_folder(run: Run, tmp_path: Path) -> None:
    """A Pod whose claim is bound to a path of the node is no better than one with the path."""
    bound = {**VOLUME, "spec": {**VOLUME["spec"], "claimRef": {"namespace": "a", "name": "c"}}}
    write(tmp_path / "cluster" / "v.yaml", bound)
    spec = {**GOOD["spec"], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    file = write(tmp_path / "a.yaml", {**GOOD, "spec": spec})
    arguments = ["--cluster", tmp_path / "cluster", "--profile", "pss-restricted", "-n"]
    (element,) = reviewed(run, *arguments, "a", file)
    assert [finding["privilege"] for finding in element["findings"]] == [
        "volume/hostPath:rw/var/lib/kubelet"
    ]
    (element,) = reviewed(run, *arguments, "b", file)
    assert element["verdict"] == "allow"
