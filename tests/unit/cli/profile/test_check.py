"""`sallyport profile check`: what would be refused under a profile, workload by workload."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import BAD, BROKEN, CONFIG_MAP, pod, write
from tests.unit.cli.profile.workload_files import profile, training_job, workloads


def owned(name: str, kind: str, owner: str, **labels: str) -> dict[str, Any]:
    """Return a Pod that a controller made, as a cluster shows it, on a node."""
    made = pod(name, namespace="train", hostNetwork=True, nodeName="node-1")
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": "u"}
    made["metadata"] |= {
        "uid": f"uid-{name}",
        "labels": labels,
        "ownerReferences": [{**reference, "controller": True}],
    }
    return made


def test_a_folder_s_namespace_by_its_workloads(run: Run, tmp_path: Path) -> None:
    """Each workload once, with its findings' paths from its own root; what is elsewhere is not."""
    folder = workloads(tmp_path / "cluster")
    done = run("profile", "check", "pss-restricted", "train", "--cluster", folder, "-o", "json")
    assert done.code == 1
    told = {each["workload"]: each for each in json.loads(done.out)}
    assert list(told) == ["Deployment train/server", "PyTorchJob train/pretrain", "Pod train/quiet"]
    job = told["PyTorchJob train/pretrain"]
    assert (job["verdict"], job["pods"]) == ("deny", 2)
    assert "spec.pytorchReplicaSpecs.Worker.template.spec.hostNetwork" in {
        finding["path"] for finding in job["findings"]
    }
    table = run("profile", "check", "pss-restricted", "train", "--cluster", folder)
    assert table.code == 1
    assert "refused  Deployment train/server " in table.out
    assert "\nDeployment train/server, under pss-restricted:\n" in table.out
    assert "    Fix: " in table.out


def test_pods_of_one_controller_are_one_workload(run: Run, tmp_path: Path) -> None:
    """Those of a ReplicaSet are the Deployment's; where they run is the scheduler's doing."""
    pods = [owned(f"a-{n}", "ReplicaSet", "a-5f6d", **{"pod-template-hash": "5f6d"}) for n in "xy"]
    pods.append(owned("b-0", "StatefulSet", "b"))
    file = write(tmp_path / "a.yaml", *pods)
    done = run("profile", "check", "pss-restricted", file, "-o", "json")
    told = json.loads(done.out)
    assert [(each["workload"], each["pods"]) for each in told] == [
        ("Deployment train/a", 2),
        ("StatefulSet train/b", 1),
    ]
    privileges = [finding["privilege"] for finding in told[0]["findings"]]
    assert "host/network" in privileges
    assert len(privileges) == len(set(privileges))
    assert "scheduling/node-name" not in privileges


def test_a_profile_that_covers_all_refuses_nothing(run: Run, tmp_path: Path) -> None:
    """Exit 0, and each workload is allowed, whoever may use the profile."""
    folder = write(tmp_path / "c" / "p.yaml", profile("all", "**")).parent
    file = write(tmp_path / "a.yaml", BAD, training_job())
    done = run("profile", "check", "all", file, "--cluster", folder)
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == ["allowed", "allowed"]


@pytest.mark.parametrize("mode", ["warn", "audit"])
def test_the_mode_of_the_namespace_does_not_matter(run: Run, tmp_path: Path, mode: str) -> None:
    """What is asked is what would be refused once it enforces."""
    marked = {"sallyport.dev/mode": mode}
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "train", "labels": marked},
    }
    folder = write(tmp_path / "c" / "a.yaml", namespace, pod("b", namespace="train", hostPID=True))
    done = run("profile", "check", "pss-restricted", "train", "--cluster", folder.parent)
    assert done.code == 1


def test_the_ceiling_and_the_profile_of_the_namespace_do_not_matter(
    run: Run, tmp_path: Path
) -> None:
    """What is asked is what the profile covers, whatever else the namespace would say."""
    marks = {"sallyport.dev/ceiling": "pss-restricted", "sallyport.dev/profile": "pss-restricted"}
    metadata = {"name": "train", "annotations": marks}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    made = pod("b", namespace="train", hostPID=True)
    folder = write(tmp_path / "c" / "a.yaml", namespace, made, profile("all", "**")).parent
    assert run("profile", "check", "all", "train", "--cluster", folder).code == 0


def test_a_profile_of_an_older_catalogue_is_told(run: Run, tmp_path: Path) -> None:
    """It warns of what came later, and says why it does not refuse."""
    old = profile("old", "image/from/**", catalogue=1)
    folder = write(tmp_path / "c" / "p.yaml", old).parent
    file = write(tmp_path / "a.yaml", pod("x", shareProcessNamespace=True))
    done = run("profile", "check", "old", file, "--cluster", folder)
    assert done.code == 0
    title = "Pod x, under old, which is written for an older catalogue:"
    assert f"\n{title}\n  spec.shareProcessNamespace: " in done.out


@pytest.mark.parametrize("content", [BROKEN, pod("broken", hostNetwork="yes")])
def test_what_cannot_be_judged_is_no_denial(run: Run, tmp_path: Path, content: object) -> None:
    """Exit 2, and it weighs more than a refusal."""
    write(tmp_path / "many" / "a.yaml", content)
    write(tmp_path / "many" / "b.yaml", BAD)
    done = run("profile", "check", "pss-restricted", tmp_path / "many", "-o", "json")
    assert done.code == 2
    assert sorted(each["verdict"] for each in json.loads(done.out)) == ["deny", "error"]


@pytest.mark.parametrize(
    ("name", "says"),
    [("nonesuch", "nonesuch: no such profile; there are: "), ("pss-baseline", "no Pod template")],
)
def test_wrong_use_is_told(run: Run, tmp_path: Path, name: str, says: str) -> None:
    """A profile that is none, and nothing to judge."""
    done = run("profile", "check", name, write(tmp_path / "a.yaml", CONFIG_MAP))
    assert (done.code, done.out) == (64, "")
    assert says in done.err
