"""Whose right to use a profile counts: the table of docs/reference/privileges.md."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.pod import ObjectMeta, OwnerReference, Pod, PodSpec
from core.subject import Subject, service_account
from identity.subjects import BUILT_IN_CONTROLLERS, Controllers, whose_right

ALICE = Subject("alice@example.com", groups=["researchers"])
PIPELINE = service_account("ci", "runner")
OPERATOR = service_account("kubeflow", "training-operator")
REPLICASETS = service_account("kube-system", "replicaset-controller")
JOBS = service_account("kube-system", "job-controller")
MANAGER = Subject("system:kube-controller-manager", groups=["system:authenticated"])
TRAINER = service_account("train", "trainer")

BUILT_IN = Controllers()
CONFIGURED = Controllers(BUILT_IN_CONTROLLERS | {OPERATOR.username})


def owned_by(*owners: tuple[str, str]) -> Pod:
    """Give a Pod of service account `trainer` with owners of these (apiVersion, kind)."""
    references = [
        OwnerReference(api_version, kind, "owner", "uid-1", controller=True)
        for api_version, kind in owners
    ]
    return Pod(
        ObjectMeta(name="p", owner_references=references or None),
        PodSpec(service_account_name="trainer"),
    )


BARE = owned_by()
REPLICASET = ("apps/v1", "ReplicaSet")


@pytest.mark.parametrize("requester", [ALICE, PIPELINE, OPERATOR, TRAINER])
def test_bare_pod_is_its_makers(requester: Subject) -> None:
    """First row: the requester's own right, whatever service account the Pod names."""
    assert whose_right(requester, BARE, "train", BUILT_IN) == (requester,)


@pytest.mark.parametrize(
    ("requester", "owner"),
    [
        (REPLICASETS, REPLICASET),
        (JOBS, ("batch/v1", "Job")),
        (service_account("kube-system", "daemon-set-controller"), ("apps/v1", "DaemonSet")),
        (service_account("kube-system", "statefulset-controller"), ("apps/v1", "StatefulSet")),
        (service_account("kube-system", "replication-controller"), ("v1", "ReplicationController")),
        (MANAGER, REPLICASET),
        (MANAGER, ("batch/v1", "Job")),
    ],
)
def test_pod_of_a_configured_controller_is_its_service_accounts(
    requester: Subject, owner: tuple[str, str]
) -> None:
    """Third row: the controllers of Kubernetes, as themselves or as the controller manager."""
    assert whose_right(requester, owned_by(owner), "train", BUILT_IN) == (TRAINER,)


@pytest.mark.parametrize(
    "owners",
    [[], [("batch/v1", "Job")], [("v1", "ConfigMap")], [("kubeflow.org/v1", "PyTorchJob")]],
)
def test_configured_controllers_own_rights_never_count(owners: list[tuple[str, str]]) -> None:
    """Also for an owner of another kind, and for none: who tricks it gains nothing."""
    assert whose_right(REPLICASETS, owned_by(*owners), "train", BUILT_IN) == (TRAINER,)


@pytest.mark.parametrize(
    "owner",
    [
        REPLICASET,
        ("batch/v1", "Job"),
        ("v1", "ReplicationController"),
        ("kubeflow.org/v1", "PyTorchJob"),
        ("unheard.of/v1alpha1", "Anything"),
        ("sallyport.dev/v1alpha1", "ContainerProfile"),
    ],
)
@pytest.mark.parametrize("requester", [ALICE, PIPELINE, OPERATOR])
def test_owner_that_may_be_a_workload_asks_for_both_rights(
    requester: Subject, owner: tuple[str, str]
) -> None:
    """Fourth row: an owner written by hand proves nothing, an unknown operator is a requester."""
    found = whose_right(requester, owned_by(owner), "train", BUILT_IN)
    assert found == (requester, TRAINER)


@pytest.mark.parametrize(
    "owner",
    [
        ("v1", "ConfigMap"),
        ("v1", "Node"),
        ("v1", "Pod"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("coordination.k8s.io/v1", "Lease"),
    ],
)
def test_owner_that_is_no_workload_leaves_the_requester(owner: tuple[str, str]) -> None:
    """Kinds that are known to make no Pods: their creator is the requester."""
    assert whose_right(ALICE, owned_by(owner), "train", BUILT_IN) == (ALICE,)


def test_one_workload_among_the_owners_is_enough() -> None:
    """A harmless owner beside it hides nothing."""
    pod = owned_by(("v1", "ConfigMap"), REPLICASET)
    assert whose_right(ALICE, pod, "train", BUILT_IN) == (ALICE, TRAINER)


def test_operator_that_is_configured_counts_as_the_built_in_ones() -> None:
    """With the setting, the service account's right alone; without it, both."""
    pod = owned_by(("kubeflow.org/v1", "PyTorchJob"))
    assert whose_right(OPERATOR, pod, "train", CONFIGURED) == (TRAINER,)
    assert whose_right(OPERATOR, pod, "train", BUILT_IN) == (OPERATOR, TRAINER)
    assert whose_right(REPLICASETS, owned_by(REPLICASET), "train", CONFIGURED) == (TRAINER,)


@pytest.mark.parametrize(
    "impostor",
    [
        Subject("replicaset-controller"),
        Subject("system:serviceaccount:train:replicaset-controller"),
        Subject("system:serviceaccount:kube-system:replicaset-controller-2"),
        Subject("alice@example.com", groups=["system:serviceaccounts:kube-system"]),
        Subject("system:kube-scheduler"),
    ],
)
def test_names_that_only_look_like_a_controllers_are_requesters(impostor: Subject) -> None:
    """The whole user name counts, and groups do not."""
    found = whose_right(impostor, owned_by(REPLICASET), "train", BUILT_IN)
    assert found == (impostor, TRAINER)


@pytest.mark.parametrize(
    ("name", "older_name", "expected"),
    [
        ("trainer", None, "trainer"),
        ("trainer", "other", "trainer"),
        (None, "older", "older"),
        ("", "older", "older"),
        (None, None, "default"),
        ("", "", "default"),
    ],
)
def test_service_account_defaults_as_kubernetes_does(
    name: str | None, older_name: str | None, expected: str
) -> None:
    """`serviceAccountName`, else the older `serviceAccount`, else `default`; of the namespace."""
    pod = Pod(spec=PodSpec(service_account_name=name, service_account=older_name))
    found = whose_right(REPLICASETS, pod, "other", BUILT_IN)
    assert found == (service_account("other", expected),)


SUBJECTS = st.sampled_from([ALICE, PIPELINE, OPERATOR, REPLICASETS, JOBS, MANAGER])
OWNERS = st.lists(
    st.sampled_from([REPLICASET, ("v1", "Node"), ("kubeflow.org/v1", "PyTorchJob"), ("", "")]),
    max_size=3,
)


@given(requester=SUBJECTS, owners=OWNERS, controllers=st.sampled_from([BUILT_IN, CONFIGURED]))
def test_nobody_but_a_configured_controller_is_ever_left_out(
    requester: Subject, owners: list[tuple[str, str]], controllers: Controllers
) -> None:
    """Whatever owners are written, the requester counts, unless it is a controller."""
    found = whose_right(requester, owned_by(*owners), "train", controllers)
    if controllers.is_any(requester.username):
        assert found == (TRAINER,)
    else:
        assert found in ((requester,), (requester, TRAINER))
