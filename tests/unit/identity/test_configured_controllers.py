"""Who is a configured controller."""

import pytest

from identity.subjects import BUILT_IN_CONTROLLERS, Controllers


def test_each_built_in_kind_has_its_own_controller() -> None:
    """Five kinds of Kubernetes make Pods, under their service account or the manager's name."""
    accounts = "daemon-set-controller replicaset-controller statefulset-controller".split()
    accounts += ["job-controller", "replication-controller"]
    system = {f"system:serviceaccount:kube-system:{account}" for account in accounts}
    assert system | {"system:kube-controller-manager"} == BUILT_IN_CONTROLLERS


@pytest.mark.parametrize(
    ("username", "expected"),
    [
        ("system:serviceaccount:kube-system:job-controller", True),
        ("system:kube-controller-manager", True),
        ("system:serviceaccount:kube-system:cronjob-controller", False),
        ("system:serviceaccount:train:job-controller", False),
        ("alice@example.com", False),
        ("", False),
    ],
)
def test_controllers_are_known_by_their_whole_user_name(username: str, *, expected: bool) -> None:
    """No prefix and no part of a name makes one."""
    assert Controllers().is_any(username) is expected


def test_without_any_configured_nobody_is_one() -> None:
    """The names are the setting's; nothing is built into the question."""
    assert not Controllers(frozenset()).is_any("system:kube-controller-manager")
