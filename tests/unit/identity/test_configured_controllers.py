"""Who is a configured controller, and of which kinds."""

import pytest

from core.base.errors import SettingsError
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.workload_kinds import OWNERS
from identity.subjects import BUILT_IN, Controllers, parse_controllers

SYSTEM = "system:serviceaccount:kube-system:"
TRAINER = "system:serviceaccount:kubeflow:training-operator"
JOB = ("batch", "Job")


def test_each_built_in_kind_has_its_own_controller() -> None:
    """Kubernetes' own kinds, and nobody else's, are configured without being asked."""
    accounts = "daemon-set-controller replicaset-controller statefulset-controller".split()
    accounts += ["job-controller", "replication-controller"]
    accounts += ["deployment-controller", "cronjob-controller"]
    system = {f"{SYSTEM}{account}" for account in accounts}
    assert system | {"system:kube-controller-manager"} == BUILT_IN.keys()


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
    """No prefix and no part of a name makes one; and each makes Pods for its own kind alone."""
    assert Controllers().makes(username, [JOB]) is expected


def test_the_manager_makes_what_all_built_in_kinds_own() -> None:
    """Without --use-service-account-credentials they are one user."""
    every = BUILT_IN["system:kube-controller-manager"]
    assert every == {kind for kinds in BUILT_IN.values() for kind in kinds}


def test_without_any_configured_nobody_is_one() -> None:
    """The names are the setting's; nothing is built into the question."""
    assert not Controllers({}).is_any("system:kube-controller-manager")


def test_operators_count_once_they_are_named() -> None:
    """A namespace of an operator's usual name may be anyone's: the table alone makes nobody one."""
    assert not parse_controllers([]).is_any(TRAINER)
    found = parse_controllers([TRAINER])
    assert found.kinds[TRAINER] == OWNERS[TRAINER]
    assert found.makes(TRAINER, [("kubeflow.org", "PyTorchJob")])
    assert not found.makes(TRAINER, [JOB])
    assert BUILT_IN.items() <= found.kinds.items()


def test_kinds_may_be_said() -> None:
    """Any kind of any group, also of none; several entries for one user add up."""
    found = parse_controllers(["x=A.example.com, Job.batch", "x=Pod"])
    assert found.kinds["x"] == {("example.com", "A"), JOB, ("", "Pod")}


@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        ("alice", "say of which kinds"),
        ("x=", "say of which kinds"),
        ("=Job.batch", "say"),
        ("x=jobs.batch", "must be KIND.GROUP"),
    ],
)
def test_a_wrong_entry_is_refused(entry: str, wrong: str) -> None:
    """A setting that would configure nothing is not silently nothing."""
    with pytest.raises(SettingsError, match=f"controllers: {entry}.*{wrong}"):
        parse_controllers([entry])


@pytest.mark.parametrize(
    ("api_version", "kind", "followed"),
    [
        ("apps/v1", "ReplicaSet", True),
        ("batch/v1", "Job", True),
        ("v1", "ConfigMap", False),
        ("batch.volcano.sh/v1alpha1", "Job", False),
    ],
)
def test_owners_are_followed_where_a_controller_is_configured(
    api_version: str, kind: str, *, followed: bool
) -> None:
    """A kind is its group and its name."""
    assert Controllers().follows(OwnerReference(api_version, kind, "o", "u")) is followed
