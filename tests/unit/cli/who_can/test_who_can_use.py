"""`sallyport who-can use`: from a folder, as a table and as JSON."""

import json
from pathlib import Path

import pytest

from cli.who_can.run import compare_with_cluster
from core.base.errors import AccessReviewError
from core.cluster import Cluster
from identity.rights.who_can import who_can_use
from kube.cluster.folder import FolderCluster
from kube.cluster.rbac_snapshot import read_folder_rbac
from tests.harness.worlds import rbac
from tests.unit.cli.conftest import Run
from tests.unit.cli.manifests import cluster, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cluster in which bob edits the namespace of the account that may use `net`."""
    made = cluster(tmp_path / "cluster")
    binding = rbac.binding("edit", rbac.user("bob"), namespace="train")
    binding["roleRef"]["kind"] = "ClusterRole"
    write(made / "edit.yaml", binding)
    return made


def test_everyone_is_listed_with_the_chain(run: Run, folder: Path) -> None:
    """Who is in the bindings, and who becomes one of them: `edit` impersonates accounts."""
    done = run("who-can", "use", "net", "--cluster", folder)
    assert (done.code, done.err) == (0, "")
    rows = done.out.splitlines()
    assert any(r.startswith("group researchers ") and "direct" in r for r in rows)
    chain = "impersonates service account train/trainer, which has ClusterRoleBinding use-net"
    assert any(r.startswith("user bob ") and chain in r for r in rows)
    assert "Not seen here: who is in which group: " in done.out


def test_json_holds_each_step(run: Run, folder: Path) -> None:
    """With the binding that gives the right to it."""
    done = run("who-can", "use", "net", "-n", "train", "--cluster", folder, "-o", "json")
    told = json.loads(done.out)
    assert (told["profile"], told["namespace"], told["warnings"]) == ("net", "train", [])
    bob = next(each for each in told["users"] if each["name"] == "bob")
    assert (bob["kind"], bob["direct"], bob["where"]) == ("User", False, "")
    assert bob["chain"] == [
        "user bob impersonates service account train/trainer (by RoleBinding train/edit)",
        "service account train/trainer has ClusterRoleBinding use-net",
    ]
    assert told["notSeen"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonesuch", "--cluster", "{folder}"], "nonesuch: no such profile; there are: "),
        (["net"], "give --kubeconfig FILE or --cluster DIR"),
    ],
)
def test_wrong_use_is_told(run: Run, folder: Path, arguments: list[str], says: str) -> None:
    """Exit 64, and what to do."""
    done = run("who-can", "use", *(each.format(folder=folder) for each in arguments))
    assert (done.code, done.out) == (64, "")
    assert says in done.err


def test_text_of_others_cannot_move_the_cursor(run: Run, folder: Path) -> None:
    """Names in bindings are others'."""
    evil = "e\x1b[2J\u202e[red]x[/red]"
    binding = rbac.binding("use-net", rbac.user(evil), name="evil")
    write(folder / "evil.yaml", binding)
    done = run("who-can", "use", "net", "--cluster", folder)
    assert done.code == 0
    assert all(line.isprintable() for line in done.out.split("\n"))
    assert "[red]x[/red]" in done.out


async def compared(folder: Path, cluster: Cluster, namespace: str | None = "train") -> list[str]:
    """Return the warnings where the bindings are the folder's, and another decides."""
    read = read_folder_rbac(folder)
    reached = who_can_use(read.roles, read.bindings, "net", namespace)
    return await compare_with_cluster(cluster, read, reached, "net", namespace)


class _Silent(FolderCluster):
    """A cluster that does not say who may do what."""

    async def allowed(self, *_: object) -> bool:
        raise AccessReviewError("no answer in 2 s")


async def test_an_authorizer_that_says_otherwise_is_found(folder: Path, tmp_path: Path) -> None:
    """By those whom it refuses although RBAC does not, and by those whom it lets without."""
    assert await compared(folder, FolderCluster(folder)) == []
    assert await compared(folder, FolderCluster(folder), None) == []
    refusing = await compared(folder, FolderCluster(None))
    assert any("does not let group researchers use it in train" in each for each in refusing)
    everyone = rbac.grant("all", rbac.use_of("net"), rbac.group("system:authenticated"))
    letting = FolderCluster(write(tmp_path / "other" / "a.yaml", *everyone))
    warnings = await compared(folder, letting)
    assert [each.partition(", and RBAC")[0] for each in warnings] == [
        "the cluster lets a user without any binding use it in train",
        "the cluster lets user bob use it in train",
    ]


async def test_a_cluster_that_does_not_say_is_told_of(folder: Path) -> None:
    """The list stands, with the doubt beside it."""
    (warning,) = await compared(folder, _Silent(folder))
    assert warning == ("whether RBAC alone decides in this cluster is not known: no answer in 2 s")
