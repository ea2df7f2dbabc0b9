"""Whose right to use a profile counts: the table of docs/reference/privileges.md."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kubernetes.object_meta import ObjectMeta, OwnerReference
from core.kubernetes.pod import Pod, PodSpec
from core.people.subject import Subject, service_account_subject
from identity.subjects import (
    Controllers,
    parse_controllers,
    pod_service_account,
    subjects_of,
    subjects_of_pod,
)

ALICE = Subject("alice@example.com", groups=["researchers"])
PIPELINE = service_account_subject("ci", "runner")
OPERATOR = service_account_subject("kubeflow", "training-operator")
REPLICASETS = service_account_subject("kube-system", "replicaset-controller")
JOBS = service_account_subject("kube-system", "job-controller")
MANAGER = Subject("system:kube-controller-manager", groups=["system:authenticated"])
TRAINER = service_account_subject("train", "trainer")

BUILT_IN = Controllers()
CONFIGURED = parse_controllers([f"{OPERATOR.username}=PyTorchJob.kubeflow.org"])


def owned_by(*owners: tuple[str, str]) -> Pod:
    """Return a Pod of service account `trainer` with owners of these (apiVersion, kind)."""
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
    assert subjects_of_pod(requester, BARE, "train", BUILT_IN) == (requester,)


@pytest.mark.parametrize(
    ("requester", "owner"),
    [
        (REPLICASETS, REPLICASET),
        (JOBS, ("batch/v1", "Job")),
        (service_account_subject("kube-system", "daemon-set-controller"), ("apps/v1", "DaemonSet")),
        (
            service_account_subject("kube-system", "statefulset-controller"),
            ("apps/v1", "StatefulSet"),
        ),
        (
            service_account_subject("kube-system", "replication-controller"),
            ("v1", "ReplicationController"),
        ),
        (MANAGER, REPLICASET),
        (MANAGER, ("batch/v1", "Job")),
    ],
)
def test_pod_of_a_configured_controller_is_its_service_accounts(
    requester: Subject, owner: tuple[str, str]
) -> None:
    """Third row: the controllers of Kubernetes, as themselves or as the controller manager."""
    assert subjects_of_pod(requester, owned_by(owner), "train", BUILT_IN) == (TRAINER,)


@pytest.mark.parametrize(
    "owners",
    [[], [("batch/v1", "Job")], [("v1", "ConfigMap")], [("kubeflow.org/v1", "PyTorchJob")]],
)
def test_controllers_own_rights_never_count_alone(owners: list[tuple[str, str]]) -> None:
    """Where it is not its own kind that owns, the service account must have the right as well."""
    found = subjects_of_pod(REPLICASETS, owned_by(*owners), "train", BUILT_IN)
    assert found == (REPLICASETS, TRAINER)


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
    found = subjects_of_pod(requester, owned_by(owner), "train", BUILT_IN)
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
    assert subjects_of_pod(ALICE, owned_by(owner), "train", BUILT_IN) == (ALICE,)


def test_one_workload_among_the_owners_is_enough() -> None:
    """A harmless owner beside it hides nothing."""
    pod = owned_by(("v1", "ConfigMap"), REPLICASET)
    assert subjects_of_pod(ALICE, pod, "train", BUILT_IN) == (ALICE, TRAINER)


def test_operator_that_is_configured_counts_as_the_built_in_ones() -> None:
    """With the setting, the service account's right alone; without it, both."""
    pod = owned_by(("kubeflow.org/v1", "PyTorchJob"))
    assert subjects_of_pod(OPERATOR, pod, "train", CONFIGURED) == (TRAINER,)
    assert subjects_of_pod(OPERATOR, pod, "train", BUILT_IN) == (OPERATOR, TRAINER)
    assert subjects_of_pod(REPLICASETS, owned_by(REPLICASET), "train", CONFIGURED) == (TRAINER,)


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
    found = subjects_of_pod(impostor, owned_by(REPLICASET), "train", BUILT_IN)
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
    assert pod_service_account(pod, "other") == service_account_subject("other", expected)


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
    found = subjects_of_pod(requester, owned_by(*owners), "train", controllers)
    if controllers.is_any(requester.username):
        assert found in ((TRAINER,), (requester, TRAINER))
    else:
        assert found in ((requester,), (requester, TRAINER))


OTHER = service_account_subject("train", "other")


def test_all_accounts_of_a_workload_count_once() -> None:
    """Of what a controller makes; a requester who is one of them is not asked twice."""
    deployments = service_account_subject("kube-system", "deployment-controller")
    owner = OwnerReference("apps/v1", "Deployment", "d", "u", controller=True)
    accounts = (TRAINER, OTHER)
    assert subjects_of(deployments, (owner,), accounts, BUILT_IN) == accounts
    assert subjects_of(ALICE, (owner,), accounts, BUILT_IN) == (ALICE, *accounts)
    assert subjects_of(TRAINER, (owner,), accounts, BUILT_IN) == (TRAINER, OTHER)
    assert subjects_of(ALICE, (), accounts, BUILT_IN) == (ALICE,)


def test_a_kinds_own_controller_may_change_what_is_there() -> None:
    """Only on an update is the object's own kind given: nobody creates out of nothing."""
    job = ("batch", "Job")
    assert subjects_of(JOBS, (), (TRAINER,), BUILT_IN, job) == (TRAINER,)
    assert subjects_of(JOBS, (), (TRAINER,), BUILT_IN) == (JOBS, TRAINER)
