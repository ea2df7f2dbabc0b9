"""Who may create Pods is named, but for the cluster's own processes."""

import pytest

from cli.preflight.cluster.authors import find_authors
from tests.harness.programs.client import Json

ROLE: Json = {
    "metadata": {"name": "creates"},
    "rules": [{"verbs": ["create"], "apiGroups": [""], "resources": ["pods"]}],
}


def authors(*subjects: Json) -> tuple[list[str], int]:
    """Return the names of those who are named, and how many users are counted."""
    binding = {
        "metadata": {"name": "creates"},
        "roleRef": {"kind": "ClusterRole", "name": "creates"},
        "subjects": list(subjects),
    }
    found, users = find_authors([ROLE], [binding])
    return [each.name for each in found], users


@pytest.mark.parametrize(
    "name",
    [
        "system:authenticated",
        "system:unauthenticated",
        "system:serviceaccounts",
        "system:serviceaccounts:team",
        "system:bootstrappers",
    ],
)
def test_groups_of_everybody_are_named_first(name: str) -> None:
    """They are the widest."""
    others = [{"kind": "Group", "name": each} for each in ("admins", "researchers")]
    found, _ = authors(*others, {"kind": "Group", "name": name})
    assert found == [name, "admins", "researchers"]


def test_the_clusters_own_are_not_named() -> None:
    """Masters, nodes, and accounts and processes of kube-system."""
    own = [
        {"kind": "Group", "name": "system:masters"},
        {"kind": "Group", "name": "system:nodes"},
        {"kind": "Group", "name": "system:serviceaccounts:kube-system"},
        {"kind": "ServiceAccount", "name": "job-controller", "namespace": "kube-system"},
        {"kind": "User", "name": "system:kube-controller-manager"},
        {"kind": "User", "name": "system:serviceaccount:kube-system:job-controller"},
    ]
    assert authors(*own) == ([], 0)


def test_users_are_counted_whatever_they_are_called() -> None:
    """Nobody who has not signed in, and an account that is written as a user, are any."""
    users = ("system:anonymous", "system:serviceaccount:team:runner", "zoe")
    assert authors(*({"kind": "User", "name": each} for each in users)) == ([], 3)
