"""`sallyport profile suggest`: its YAML, its evidence, its advice and its exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import BAD, BROKEN, CONFIG_MAP, pod, write
from tests.unit.cli.profile.workload_files import deployment, profile, training_job, workloads

WORKER = "spec.pytorchReplicaSpecs.Worker.template.spec.hostNetwork"
ALIAS = {"ip": "203.0.113.9", "hostnames": ["weights.example"]}
"""No shipped profile covers it."""


def test_each_privilege_has_its_evidence_beside_it(run: Run, tmp_path: Path) -> None:
    """The object, the field's path from its root, and how many more there are."""
    file = write(tmp_path / "a.yaml", training_job(), deployment())
    done = run("profile", "suggest", file)
    assert done.code == 0
    assert f"    - host/network  # PyTorchJob train/pretrain: {WORKER}; and 1 more\n" in done.out
    line = next(line for line in done.out.splitlines() if "image/from/" in line)
    assert "# PyTorchJob train/pretrain, container main: spec.pytorchReplicaSpecs.Master" in line
    assert line.endswith(".image; and 2 more")
    made = yaml.safe_load(done.out)
    assert (made["kind"], made["metadata"]["name"]) == ("ContainerProfile", "suggested")


def test_suggested_profile_admits_the_given_objects(run: Run, tmp_path: Path) -> None:
    """The YAML put into a folder covers the objects, as `profile check` says, and no others."""
    file = write(tmp_path / "a.yaml", training_job())
    folder = tmp_path / "cluster"
    write(folder / "p.yaml", run("profile", "suggest", file, "--name", "mine").out)
    assert run("profile", "check", "mine", file, "--cluster", folder).code == 0
    other = write(tmp_path / "b.yaml", pod("b", hostPID=True))
    assert run("profile", "check", "mine", other, "--cluster", folder).code == 1


def test_a_namespace_of_a_folder(run: Run, tmp_path: Path) -> None:
    """Only what lies in it counts, and the profile has its name."""
    folder = workloads(tmp_path / "cluster")
    done = run("profile", "suggest", "train", "--cluster", folder)
    assert done.code == 0
    made = yaml.safe_load(done.out)
    assert made["metadata"]["name"] == "train"
    assert "host/network" in made["spec"]["privileges"]
    assert "host/pid" not in made["spec"]["privileges"]
    assert "3 objects examined" in done.err
    elsewhere = yaml.safe_load(run("profile", "suggest", "serve", "--cluster", folder).out)
    assert "host/pid" in elsewhere["spec"]["privileges"]


@pytest.mark.parametrize("kind", ["PersistentVolumeClaim", "ResourceClaim"])
def test_a_claim_that_names_no_namespace_is_in_default(run: Run, tmp_path: Path, kind: str) -> None:
    """As kubectl would put it; a volume is in none."""
    devices = {"requests": [{"name": "gpu", "exactly": {"adminAccess": True}}]}
    versions = {"PersistentVolumeClaim": "v1", "ResourceClaim": "resource.k8s.io/v1"}
    specs = {"PersistentVolumeClaim": {"volumeName": "v"}, "ResourceClaim": {"devices": devices}}
    claim = {"apiVersion": versions[kind], "kind": kind, "metadata": {"name": "c"}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
    source = {"hostPath": {"path": "/var/lib/kubelet"}}
    folder = tmp_path / "cluster"
    write(folder / "a.yaml", claim | {"spec": specs[kind]}, volume | {"spec": source})
    made = yaml.safe_load(run("profile", "suggest", "default", "--cluster", folder).out)
    wanted = {
        "PersistentVolumeClaim": "volume/hostPath:rw/var/lib/kubelet",
        "ResourceClaim": "device/admin-access",
    }
    assert made["spec"]["privileges"] == [wanted[kind]]


def test_a_folder_with_a_namespace_s_name_is_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read instead of the namespace, and standard error says so; `./train` is plain."""
    monkeypatch.chdir(write(tmp_path / "train" / "a.yaml", BAD).parent.parent)
    told = "train: read as the file or folder of that name, not as a namespace\n"
    done = run("profile", "suggest", "train")
    assert done.code == 0
    assert done.err.startswith(told)
    assert told not in run("profile", "suggest", "./train").err


def test_a_profile_that_is_there_is_named(run: Run, tmp_path: Path) -> None:
    """On standard error: then none is needed; else the nearest with what it lacks."""
    file = write(tmp_path / "a.yaml", pod("odd", hostNetwork=True, hostAliases=[ALIAS]))
    found = yaml.safe_load(run("profile", "suggest", file).out)["spec"]["privileges"]
    folder = tmp_path / "cluster"
    write(folder / "p.yaml", profile("near", *[p for p in found if p != "host/network"], rank=1))
    done = run("profile", "suggest", file, "--cluster", folder)
    assert "No profile covers it. The nearest, near, lacks host/network.\n" in done.err
    write(folder / "q.yaml", profile("enough", *found))
    done = run("profile", "suggest", file, "--cluster", folder)
    assert "Covered already by: enough. Then no new profile is needed.\n" in done.err


def test_json_says_the_same(run: Run, tmp_path: Path) -> None:
    """The profile as an object, each line with its places, and the advice as data."""
    file = write(tmp_path / "a.yaml", BAD)
    written = yaml.safe_load(run("profile", "suggest", file).out)
    done = run("profile", "suggest", file, "-o", "json")
    told = json.loads(done.out)
    assert told["profile"] == written
    assert [line["privilege"] for line in told["lines"]] == written["spec"]["privileges"]
    place = {"object": "Pod bad", "path": "spec.hostNetwork", "container": None}
    network = next(line for line in told["lines"] if line["privilege"] == "host/network")
    assert network["places"] == [place]
    assert (told["examined"], told["denied"], told["notJudged"]) == (1, [], [])
    assert told["nearest"][0]["lacks"]


def _mounts(paths: list[str]) -> dict[str, Any]:
    volumes = [{"name": f"v{n}", "hostPath": {"path": path}} for n, path in enumerate(paths)]
    return pod("many", volumes=volumes)


def test_folding_is_asked_for_and_stated(run: Run, tmp_path: Path) -> None:
    """Twelve paths below one folder: each a line, or with --generalise one pattern for them."""
    file = write(tmp_path / "a.yaml", _mounts([f"/var/log/{name}" for name in "abcdefghijkl"]))
    exact = yaml.safe_load(run("profile", "suggest", file).out)["spec"]["privileges"]
    assert len([p for p in exact if p.startswith("volume/hostPath:rw/var/log/")]) == 12
    assert not any("*" in p for p in exact)
    done = run("profile", "suggest", file, "--generalise")
    folded = yaml.safe_load(done.out)["spec"]["privileges"]
    assert "volume/hostPath:rw/var/log/*" in folded
    assert len(folded) == len(exact) - 11
    assert "# wider than needed, for volume/hostPath:rw/var/log/a, " in done.out
    stated = "volume/hostPath:rw/var/log/* stands for 12 privileges, and covers others too.\n"
    assert stated in done.err


def test_what_no_profile_covers_is_said(run: Run, tmp_path: Path) -> None:
    """A finding of a deny rule: exit 1, and the rest is suggested all the same."""
    evil = pod("evil", hostPID=True)
    evil["metadata"]["annotations"] = {"io.katacontainers.config.hypervisor.path": "/bin/sh"}
    done = run("profile", "suggest", write(tmp_path / "a.yaml", evil))
    assert done.code == 1
    assert "host/pid" in yaml.safe_load(done.out)["spec"]["privileges"]
    assert "No profile can cover this. Pod evil: metadata.annotations" in done.err
    assert "(rules/runtime/annotations)" in done.err


def test_a_value_too_long_for_a_profile_is_said(run: Run, tmp_path: Path) -> None:
    """A privilege of more characters than a profile takes is left out, and said to be."""
    long = "/data/" + "/".join(["x" * 200] * 6)
    done = run("profile", "suggest", write(tmp_path / "a.yaml", _mounts([long])))
    assert done.code == 1
    assert "(profile/length)" in done.err
    assert not [p for p in yaml.safe_load(done.out)["spec"]["privileges"] if "/data/" in p]


def test_more_than_a_profile_holds_is_an_error(run: Run, tmp_path: Path) -> None:
    """It says so, and what to do; with --generalise it fits."""
    pods = [
        _mounts([f"/data/sets/{number}" for number in range(start, start + 100)])
        for start in range(0, 600, 100)
    ]
    file = write(tmp_path / "a.yaml", *pods)
    done = run("profile", "suggest", file)
    assert (done.code, done.out) == (64, "")
    assert "a profile holds 512: give --generalise" in done.err
    assert run("profile", "suggest", file, "--generalise").code == 0


@pytest.mark.parametrize("content", [BROKEN, pod("broken", hostNetwork="yes")])
def test_what_cannot_be_judged_is_said(run: Run, tmp_path: Path, content: object) -> None:
    """Exit 2, with what it is; what could be judged is suggested."""
    write(tmp_path / "many" / "a.yaml", content)
    write(tmp_path / "many" / "b.yaml", BAD)
    done = run("profile", "suggest", tmp_path / "many")
    assert done.code == 2
    assert "Not judged, so not covered: " in done.err
    assert "host/network" in yaml.safe_load(done.out)["spec"]["privileges"]


def test_containers_outside_a_template_are_not_passed_over_in_silence(
    run: Run, tmp_path: Path
) -> None:
    """Nobody knows what Pods such a kind makes: it is said."""
    runtime = {
        "apiVersion": "serving.kserve.io/v1alpha1",
        "kind": "ServingRuntime",
        "metadata": {"name": "r"},
        "spec": {"containers": [{"name": "main", "image": "a"}]},
    }
    done = run("profile", "suggest", write(tmp_path / "a.yaml", BAD, runtime))
    assert done.code == 0
    assert "ServingRuntime r: its containers are in no Pod template" in done.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["train"], "for a namespace give --kubeconfig or --cluster"),
        (["Train!"], "neither a file nor the name of a namespace"),
        (["no/such.yaml"], "does not exist"),
        (["train", "--cluster", "{folder}"], "train: nothing in it is judged: no Pod, "),
        (["{file}", "--name", "Not A Name"], "--name Not A Name: must be lower-case"),
    ],
)
def test_wrong_use_is_told(run: Run, tmp_path: Path, arguments: list[str], says: str) -> None:
    """One line that says what to do, and exit 64."""
    folder = write(tmp_path / "cluster" / "a.yaml", CONFIG_MAP).parent
    file = write(tmp_path / "a.yaml", BAD)
    done = run("profile", "suggest", *(each.format(folder=folder, file=file) for each in arguments))
    assert (done.code, done.out) == (64, "")
    assert says in done.err


def test_text_of_others_stays_in_its_comment(run: Run, tmp_path: Path) -> None:
    """Names with line ends and escapes cannot add a line to the profile, or move the cursor."""
    evil = "x\n    - container/privileged\x1b[2J\u2028#"
    bad = pod(evil, hostNetwork=True)
    bad["spec"]["containers"][0] |= {"name": evil, "image": evil}
    done = run("profile", "suggest", write(tmp_path / "a.yaml", bad))
    assert "container/privileged" not in yaml.safe_load(done.out)["spec"]["privileges"]
    for text in (done.out, done.err):
        assert all(line.isprintable() for line in text.split("\n"))
