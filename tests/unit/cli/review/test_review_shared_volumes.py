"""Pods of files on shared file systems: they are admitted as their profile fills them in."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import pod, write
from tests.unit.cli.profile.workload_files import profile
from tests.unit.core.kubernetes.workload_samples import wrapped

FIRST: Final = 1000680000
WHOLE: Final = ["runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"]
FILLED: Final = [
    {
        "path": "spec.securityContext.runAsUser",
        "value": FIRST,
    },
    {"path": "spec.securityContext.runAsGroup", "value": FIRST},
    {"path": "spec.securityContext.supplementalGroups", "value": [FIRST]},
    {"path": "spec.securityContext.supplementalGroupsPolicy", "value": "Strict"},
]


def namespace(**annotations: str) -> dict[str, Any]:
    """Return the Namespace with numbers of its own."""
    marks = {"sallyport.dev/uid-range": f"{FIRST}/10000", **annotations}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "train", "annotations": marks},
    }


def team(*ids: str) -> dict[str, Any]:
    """Return the profile of a team that may mount NFS."""
    return profile(
        "team", "image/from/**", "volume/nfs", catalogue=4, defaults={"namespaceIds": list(ids)}
    )


def cluster(folder: Path, *documents: object) -> Path:
    """Return a folder in the place of a cluster."""
    return write(folder / "cluster" / "a.yaml", *documents).parent


def on_nfs(**context: Any) -> dict[str, Any]:
    """Return a Pod that says neither user nor group."""
    made = pod("job", namespace="train")
    made["spec"]["volumes"] = [{"name": "data", "nfs": {"server": "nfs.invalid", "path": "/data"}}]
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    made["spec"]["securityContext"] |= context
    return made


@pytest.mark.parametrize("command", ["review", "check"])
def test_what_no_default_fills_in_is_refused(run: Run, tmp_path: Path, command: str) -> None:
    """As the gate refuses it: nobody fills in what the profile does not name."""
    folder = cluster(tmp_path, namespace(), team())
    file = write(tmp_path / "a.yaml", on_nfs())
    done = asked(run, command, folder, file)
    assert done.code == 1
    (element,) = json.loads(done.out)
    assert {finding["privilege"] for finding in element["findings"]} == {
        "shared-volume/user/any",
        "shared-volume/group/any",
    }
    assert element["defaults"] == []


@pytest.mark.parametrize("command", ["review", "check"])
def test_what_defaults_fill_in_is_admitted_and_shown(
    run: Run, tmp_path: Path, command: str
) -> None:
    """With the namespace's first numbers, as of other defaults."""
    folder = cluster(tmp_path, namespace(), team(*WHOLE))
    file = write(tmp_path / "a.yaml", on_nfs())
    done = asked(run, command, folder, file)
    assert done.code == 0, done.out
    (element,) = json.loads(done.out)
    assert element["findings"] == []
    assert element["defaults"] == FILLED


@pytest.mark.parametrize("command", ["review", "check"])
def test_what_is_left_after_filling_in_is_refused(run: Run, tmp_path: Path, command: str) -> None:
    """The user is filled in, the group is not."""
    folder = cluster(tmp_path, namespace(), team("runAsUser"))
    file = write(tmp_path / "a.yaml", on_nfs())
    done = asked(run, command, folder, file)
    assert done.code == 1
    (element,) = json.loads(done.out)
    assert {finding["privilege"] for finding in element["findings"]} == {"shared-volume/group/any"}


def test_another_number_is_refused_by_profile_check(run: Run, tmp_path: Path) -> None:
    """The numbers of the namespace count, though neither its ceiling does nor its profile."""
    folder = cluster(
        tmp_path, namespace(**{"sallyport.dev/ceiling": "pss-restricted"}), team(*WHOLE)
    )
    file = write(tmp_path / "a.yaml", on_nfs(runAsUser=5000))
    done = asked(run, "check", folder, file)
    assert done.code == 1
    (element,) = json.loads(done.out)
    privileges = {finding["privilege"] for finding in element["findings"]}
    # Of what is refused nothing is filled in.
    assert privileges == {"shared-volume/user/5000", "shared-volume/group/any"}


def test_a_namespace_that_is_not_there_has_no_numbers(run: Run, tmp_path: Path) -> None:
    """Then a user that is not root is enough."""
    folder = cluster(tmp_path, team())
    file = write(tmp_path / "a.yaml", on_nfs())
    for command in ("review", "check"):
        assert asked(run, command, folder, file).code == 0


def workload(kind: tuple[str, str]) -> dict[str, Any]:
    """Return a workload of such Pods."""
    made: dict[str, Any] = wrapped(kind, {"spec": on_nfs()["spec"]})
    made["metadata"]["namespace"] = "train"
    return made


@pytest.mark.parametrize(
    "kind",
    [
        ("apps", "Deployment"),
        ("batch", "CronJob"),
        ("ray.io", "RayJob"),
        ("", "ReplicationController"),
    ],
)
@pytest.mark.parametrize("command", ["review", "check"])
def test_a_workload_is_answered_as_its_pods_will_be(
    run: Run, tmp_path: Path, command: str, kind: tuple[str, str]
) -> None:
    """The gate admits the template, and refuses Pods whose absent numbers nobody fills in."""
    file = write(tmp_path / "a.yaml", workload(kind))
    refused = asked(run, command, cluster(tmp_path / "none", namespace(), team()), file)
    assert refused.code == 1, refused.out
    (element,) = json.loads(refused.out)
    assert {finding["privilege"] for finding in element["findings"]} == {
        "shared-volume/user/any",
        "shared-volume/group/any",
    }
    assert all(".spec." in finding["path"] for finding in element["findings"])
    admitted = asked(run, command, cluster(tmp_path / "all", namespace(), team(*WHOLE)), file)
    assert admitted.code == 0, admitted.out
    (element,) = json.loads(admitted.out)
    assert element["findings"] == []
    assert FIRST in [each["value"] for each in element["defaults"]]


def test_suggest_covers_what_nobody_fills_in(run: Run, tmp_path: Path) -> None:
    """The profile that it suggests fills nothing in."""
    folder = cluster(tmp_path, namespace())
    for made in (on_nfs(), workload(("apps", "Deployment"))):
        file = write(tmp_path / "a.yaml", made)
        done = run("profile", "suggest", "-o", "json", "--cluster", folder, file)
        assert done.code == 0, done.err
        assert "shared-volume/user/any" in done.out
        assert "shared-volume/group/any" in done.out


def on_claims(*claims: str) -> dict[str, Any]:
    """Return a Pod that mounts claims, as user 0 and group 0."""
    made = on_nfs(runAsUser=0, runAsGroup=0)
    made["spec"]["volumes"] = [
        {"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims
    ]
    made["spec"]["containers"][0]["volumeMounts"] = [
        {"name": claim, "mountPath": f"/{claim}"} for claim in claims
    ]
    return made


def volume(claim: str) -> dict[str, Any]:
    """Return a shared volume that is kept for a claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"of-{claim}"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "1Gi"},
            "nfs": {"server": "nfs.invalid", "path": "/data"},
            "claimRef": {"namespace": "train", "name": claim},
        },
    }


def test_a_claim_that_nobody_knows_is_noted(run: Run, tmp_path: Path) -> None:
    """Of a Pod and of a workload; one that is bound in the folder is judged instead."""
    folder = cluster(tmp_path, team(), volume("known"))
    template = wrapped(("apps", "Deployment"), {"spec": on_claims("data")["spec"]})
    file = write(tmp_path / "a.yaml", on_claims("data", "known"), on_claims("known"), template)
    done = run("review", "-o", "json", "--cluster", folder, "--profile", "team", file)
    first, second, third = json.loads(done.out)
    (note,) = first["notes"]
    assert note.startswith("what the claim data will be bound to is not known: ")
    assert "docs/operate/shared-volumes.md" in note
    assert second["notes"] == []
    assert "shared-volume/user/0" in {each["privilege"] for each in second["findings"]}
    assert third["notes"] == [note]


def test_each_command_that_judges_files_notes_unknown_claims(run: Run, tmp_path: Path) -> None:
    """In the words of `review`."""
    folder = cluster(tmp_path, team(), volume("known"))
    file = write(tmp_path / "a.yaml", on_claims("data", "known"))
    says = "what the claim data will be bound to is not known: "
    explained = run("explain", "-o", "json", "--cluster", folder, file)
    assert json.loads(explained.out)[0]["notes"][0].startswith(says)
    assert says in " ".join(run("explain", "--cluster", folder, file).out.split())
    checked = run("profile", "check", "team", file, "--cluster", folder)
    assert says in " ".join(checked.out.split())
    suggested = run("profile", "suggest", file, "--cluster", folder)
    assert says in suggested.err


def test_many_claims_make_a_short_note(run: Run, tmp_path: Path) -> None:
    """The first are named."""
    file = write(tmp_path / "a.yaml", on_claims(*[f"data-{n}" for n in range(50)]))
    done = run("review", "-o", "json", file)
    (element,) = json.loads(done.out)
    (note,) = element["notes"]
    assert note.startswith("what the claims data-0, data-1, data-2, data-3 and more will be bound")


def asked(run: Run, command: str, folder: Path, file: Path) -> Any:
    """Ask by the profile `team`."""
    if command == "review":
        return run("review", "-o", "json", "--cluster", folder, "--profile", "team", file)
    return run("profile", "check", "-o", "json", "--cluster", folder, "team", file)
