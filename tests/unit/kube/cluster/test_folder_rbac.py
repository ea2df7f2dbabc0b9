"""Roles of a folder: what every cluster has is there too, once, from one list."""

from pathlib import Path

from identity.rights.holders import Holder
from identity.rights.who_can import who_can_use
from kube.cluster.rbac_snapshot import read_folder_rbac
from kube.rbac.authorizer import bootstrap_roles
from tests.harness.worlds import rbac
from tests.unit.cli.manifests import write


def test_each_stock_role_is_there_once(tmp_path: Path) -> None:
    """One that the folder has itself is the folder's, with its own rules."""
    own = rbac.role("view", rbac.rule([""], "pods", "get"))
    read = read_folder_rbac(write(tmp_path / "a.yaml", own))
    names = [role.metadata.name for role in read.roles]
    assert sorted(names) == sorted(role.metadata.name for role in bootstrap_roles())
    (view,) = (role for role in read.roles if role.metadata.name == "view")
    assert view.aggregation_rule is None
    assert [rule.verbs for rule in view.rules or ()] == [["get"]]


def test_whoever_writes_roles_that_a_stock_role_is_made_of_has_what_it_gives(
    tmp_path: Path,
) -> None:
    """`view` is made of every ClusterRole with its label: one with `use` is soon in it."""
    writer = rbac.role("writer", rbac.rule([rbac.GROUP], "clusterroles", "create escalate"))
    viewers = rbac.binding("view", rbac.user("carol"), rbac.user("dana"), namespace="train")
    viewers["roleRef"]["kind"] = "ClusterRole"
    writers = rbac.binding("writer", rbac.user("carol"))
    folder = write(tmp_path / "a.yaml", writer, writers, viewers)
    read = read_folder_rbac(folder)
    reached = who_can_use(read.roles, read.bindings, "net", "train", read.aggregated)
    who = {each.holder for each in reached}
    assert Holder("User", "carol") in who
    assert Holder("User", "dana") not in who
