"""Whose right `sallyport review` asks for, in which namespace, and by which profile."""

import json
from pathlib import Path

import pytest

from kube.cluster.folder import FolderCluster, read_profiles
from policies import SHIPPED_PROFILES
from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import BAD, GOOD, cluster, pod, write

TRAINER = pod("bad", namespace="train", hostNetwork=True, serviceAccountName="trainer")


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        ([], "allow"),
        (["--as", "alice"], "deny"),
        (["--as", "dana"], "allow"),
        (["--as", "alice", "--as-group", "researchers"], "allow"),
        (["--as", "alice", "--as-group", "x", "--as-group", "researchers"], "allow"),
        (["--as", "alice", "--as-group", "x"], "deny"),
        (["--as", "system:serviceaccount:train:trainer"], "allow"),
        (["--as", "system:serviceaccount:train:other"], "deny"),
        (["--as", "system:serviceaccount:a:b", "--as-group", "researchers"], "allow"),
        (["--as", "root", "--as-group", "system:masters"], "allow"),
    ],
)
def test_subject_is_the_one_named_else_the_service_account(
    run: Run, tmp_path: Path, arguments: list[str], verdict: str
) -> None:
    """`--as` and `--as-group` as kubectl has them; without them the Pod's own account."""
    folder = cluster(tmp_path / "cluster")
    file = write(tmp_path / "a.yaml", TRAINER)
    done = run("review", "-o", "json", "--cluster", folder, *arguments, file)
    (element,) = json.loads(done.out)
    assert element["verdict"] == verdict
    assert element["profile"] == ("net" if verdict == "allow" else None) or (
        element["profile"] == "pss-privileged" and "root" in arguments
    )


def test_group_without_a_user_is_wrong_use(run: Run, tmp_path: Path) -> None:
    """It would say nothing: the answer would be the service account's."""
    done = run("review", "--as-group", "researchers", write(tmp_path / "a.yaml", GOOD))
    assert (done.code, done.out) == (64, "")
    assert done.err == "sallyport: --as-group: says nothing without --as\n"


@pytest.mark.parametrize(
    "user", ["system:serviceaccount:train", "system:serviceaccount:", "system:serviceaccount:a:b:c"]
)
def test_half_a_service_account_is_wrong_use(run: Run, tmp_path: Path, user: str) -> None:
    """The message names the flag and what it should be."""
    done = run("review", "--as", user, write(tmp_path / "a.yaml", GOOD))
    assert (done.code, done.out) == (64, "")
    assert done.err == f"sallyport: --as {user}: must be system:serviceaccount:NAMESPACE:NAME\n"


@pytest.mark.parametrize(
    ("arguments", "namespace", "verdict"),
    [
        ([], "default", "deny"),
        (["--namespace", "train"], "train", "allow"),
        (["-n", "train"], "train", "allow"),
    ],
)
def test_namespace_is_for_objects_that_name_none(
    run: Run, tmp_path: Path, arguments: list[str], namespace: str, verdict: str
) -> None:
    """It also decides whose service account a Pod runs as; an object's own word goes before."""
    unplaced = pod("bad", hostNetwork=True, serviceAccountName="trainer")
    file = write(tmp_path / "a.yaml", unplaced, TRAINER)
    folder = cluster(tmp_path / "cluster")
    done = run("review", "-o", "json", "--cluster", folder, *arguments, file)
    found = [(element["namespace"], element["verdict"]) for element in json.loads(done.out)]
    assert found == [(namespace, verdict), ("train", "allow")]


@pytest.mark.parametrize(
    ("profile", "verdict"),
    [("net", "allow"), ("pss-privileged", "allow"), ("pss-baseline", "deny")],
)
def test_profile_answers_for_itself_whoever_asks(
    run: Run, tmp_path: Path, profile: str, verdict: str
) -> None:
    """No right is asked for; the element names the profile, refused or not."""
    file = write(tmp_path / "a.yaml", BAD)
    folder = cluster(tmp_path / "cluster")
    for extra in ([], ["--as", "nobody"]):
        arguments = ["--cluster", folder, "--profile", profile, *extra]
        (element,) = json.loads(run("review", "-o", "json", *arguments, file).out)
        assert (element["verdict"], element["profile"]) == (verdict, profile)


def test_unknown_profile_is_wrong_use(run: Run, tmp_path: Path) -> None:
    """The message names those that there are."""
    cluster = FolderCluster(None, shipped=read_profiles([SHIPPED_PROFILES]))
    shipped = [profile.name for profile in cluster.profiles().ordered]
    done = run("review", "--profile", "gone", write(tmp_path / "a.yaml", GOOD))
    assert (done.code, done.out) == (64, "")
    assert done.err == (
        f"sallyport: --profile gone: no such profile; there are: {', '.join(shipped)}\n"
    )
