"""`sallyport review -o json`: the contract of docs/reference/review-json.md, key by key."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import BAD, CONFIG_MAP, GOOD, cluster, pod, write

ELEMENT = "file apiVersion kind namespace name verdict profile sandbox findings".split()
ELEMENT += ["defaults", "notes"]
FINDING = "rule action path message remedy privilege container coveredBy".split()


def allowed(file: Path, **fields: Any) -> dict[str, Any]:
    """Return the element of a Pod that is admitted as on a fresh installation."""
    return {
        "file": str(file),
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "default",
        "name": "good",
        "verdict": "allow",
        "profile": "pss-restricted",
        "sandbox": None,
        "findings": [],
        "defaults": [],
        "notes": [],
    } | fields


def other(file: Path, **fields: Any) -> dict[str, Any]:
    """Return the element of a kind that is not judged."""
    element = {"kind": "ConfigMap", "namespace": "", "name": "c", "profile": None}
    return allowed(file) | element | fields


def test_admitted_pod(run: Run, tmp_path: Path) -> None:
    """The whole output, to the byte: keys in their order, two spaces, a newline at the end."""
    file = write(tmp_path / "a.yaml", GOOD)
    done = run("review", "-o", "json", file)
    assert (done.code, done.err) == (0, "")
    assert done.out == json.dumps([allowed(file)], indent=2) + "\n"


def test_refused_pod(run: Run, tmp_path: Path) -> None:
    """A finding has its keys, all of them, in their order."""
    file = write(tmp_path / "a.yaml", BAD)
    done = run("review", "-o", "json", file)
    assert (done.code, done.err) == (1, "")
    (element,) = json.loads(done.out)
    (finding,) = element["findings"]
    assert list(element) == ELEMENT
    assert list(finding) == FINDING
    assert {**element, "findings": []} == allowed(file, name="bad", verdict="deny", profile=None)
    assert finding == {
        "rule": "privileges/host/network",
        "action": "deny",
        "path": "spec.hostNetwork",
        "message": finding["message"],
        "remedy": finding["remedy"],
        "privilege": "host/network",
        "container": None,
        "coveredBy": ["node-agent", "pss-privileged"],
    }
    assert finding["message"]
    assert finding["remedy"].endswith(".")


def test_findings_of_a_container_name_it(run: Run, tmp_path: Path) -> None:
    """So that a program can put it beside the container."""
    made = pod()
    made["spec"]["containers"][0]["securityContext"]["capabilities"]["add"] = ["SYS_ADMIN"]
    (element,) = json.loads(run("review", "-o", "json", write(tmp_path / "a.yaml", made)).out)
    assert [(f["path"], f["container"]) for f in element["findings"]] == [
        ("spec.containers[0].securityContext.capabilities.add[0]", "main")
    ]


@pytest.mark.parametrize(
    ("mode", "verdict", "code"), [("enforce", "deny", 1), ("warn", "warn", 0), ("audit", "warn", 0)]
)
def test_mode_of_the_namespace_counts(
    run: Run, tmp_path: Path, mode: str, verdict: str, code: int
) -> None:
    """What would be admitted with a warning is `warn`, and no failure."""
    file = write(tmp_path / "a.yaml", pod("bad", namespace="train", hostPID=True))
    folder = cluster(tmp_path / "cluster", mode=mode)
    done = run("review", "-o", "json", "--cluster", folder, file)
    (element,) = json.loads(done.out)
    assert (done.code, element["verdict"]) == (code, verdict)
    assert [finding["action"] for finding in element["findings"]] == [verdict]


def test_one_element_for_each_object_in_the_order_of_the_input(run: Run, tmp_path: Path) -> None:
    """Documents, items of lists, files by their name, arguments as given."""
    items = [pod("one"), CONFIG_MAP, {"metadata": {"name": "kindless"}, "spec": GOOD["spec"]}]
    pod_list = {"apiVersion": "v1", "kind": "PodList", "items": [items[2]]}
    mixed = {"apiVersion": "v1", "kind": "List", "items": items[:2]}
    late = write(tmp_path / "folder" / "b.yaml", pod("late"))
    early = write(tmp_path / "folder" / "a.json", json.dumps(pod("early")))
    many = write(tmp_path / "many.yaml", CONFIG_MAP, "\n", mixed, pod_list, pod("last"))
    write(tmp_path / "folder" / "notes.txt", "no manifest")
    done = run("review", "-o", "json", many, tmp_path / "folder", many)
    found = [(element["file"], element["name"]) for element in json.loads(done.out)]
    of_many = [(str(many), name) for name in ("c", "one", "c", "kindless", "last")]
    of_folder = [(str(early), "early"), (str(late), "late")]
    assert found == [*of_many, *of_folder, *of_many]
    assert done.code == 0


def test_other_kinds_are_allowed_without_findings(run: Run, tmp_path: Path) -> None:
    """Also a Pod of another group, and a workload of a kind that nobody listed."""
    deployment = {"apiVersion": "apps.example/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    metrics = BAD | {"apiVersion": "metrics.k8s.io/v1beta1"}
    placed = {**CONFIG_MAP, "metadata": {"name": "c", "namespace": "x"}}
    file = write(tmp_path / "a.yaml", CONFIG_MAP, deployment, metrics, placed)
    done = run("review", "-o", "json", file)
    assert json.loads(done.out) == [
        other(file),
        other(file, apiVersion="apps.example/v1", kind="Deployment", name="d"),
        other(file, apiVersion="metrics.k8s.io/v1beta1", kind="Pod", name="bad"),
        other(file, namespace="x"),
    ]
    assert done.code == 0


def test_standard_input_is_read_for_a_dash(run: Run, tmp_path: Path) -> None:
    """The file is then called `-`; JSON and YAML are told apart by themselves."""
    stream = json.dumps({"apiVersion": "v1", "kind": "List", "items": [GOOD, BAD]}).encode()
    done = run("review", "-o", "json", "-", write(tmp_path / "a.yaml", GOOD), stdin=stream)
    found = [(element["file"], element["verdict"]) for element in json.loads(done.out)]
    assert found == [("-", "allow"), ("-", "deny"), (str(tmp_path / "a.yaml"), "allow")]


def test_generated_name_is_the_name(run: Run, tmp_path: Path) -> None:
    """What has no name yet goes by its prefix."""
    made = pod() | {"metadata": {"generateName": "good-"}}
    (element,) = json.loads(run("review", "-o", "json", write(tmp_path / "a.yaml", made)).out)
    assert element["name"] == "good-"


def test_installed_command_does_the_same(tmp_path: Path) -> None:
    """The script that `make setup` installs: exit code and output through a real process."""
    sallyport = str(Path(sys.executable).parent / "sallyport")
    done = subprocess.run(
        [sallyport, "review", "-o", "json", "-"],
        input=json.dumps(BAD).encode(),
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert [element["verdict"] for element in json.loads(done.stdout)] == ["deny"]
