"""Rights of several identities that one attacker controls, where one gives its own to another."""

from identity.rights.holders import Holder
from kube.rbac.objects import GROUP, Meta, PolicyRule, Role
from tests.unit.identity.rights.rbac_worlds import bind
from tests.unit.identity.rights.test_who_can import ALICE, BOB, cluster_role, found, why


def test_what_one_may_bind_and_another_may_write() -> None:
    """Alice has `bind` and runs Pods as the runner, which may create RoleBindings (found world)."""
    runner = Holder("ServiceAccount", "runner", "train")
    pods_and_bind = [
        PolicyRule(["create"], [""], ["pods"]),
        PolicyRule(["bind"], [GROUP], ["clusterroles"]),
    ]
    mine = Role(Meta("mine"), pods_and_bind, kind="ClusterRole")
    change = cluster_role("change", f"update {GROUP}/rolebindings")
    make = cluster_role("make", f"create {GROUP}/rolebindings")
    bindings = [
        bind(mine, "train", [ALICE], "m"),
        bind(change, "", [ALICE], "c"),
        bind(make, "", [runner], "n"),
    ]
    assert why(found([mine, change, make], bindings)) == {
        "user alice": "becomes another that may bind ClusterRole cluster-admin in namespace train"
    }


def test_giving_rights_to_one_whom_one_becomes() -> None:
    """The runner may impersonate groups; alice, who may bind, lends it the users it needs too."""
    runner = Holder("ServiceAccount", "runner", "ci")
    users = cluster_role("users", "impersonate /users", resource_names="nobody")
    groups = cluster_role("groups", "impersonate /groups")
    token = cluster_role("token", "create /serviceaccounts/token")
    write = cluster_role("write", f"create {GROUP}/clusterrolebindings")
    roles = [users, groups, token, write]
    bindings = [
        bind(users, "", [ALICE, BOB], "u"),
        bind(groups, "", [runner], "g"),
        bind(token, "ci", [ALICE, BOB], "t"),
        bind(write, "", [ALICE], "w"),
    ]
    assert why(found(roles, bindings)) == {
        "user alice": "is given the right by another that it becomes, and impersonates group "
        "system:masters, which is let through by kube-apiserver without any binding"
    }, "bob may bind nothing"
