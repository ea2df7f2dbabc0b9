"""A folder of YAML is a cluster; what is wrong in it is named."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.base.errors import InvalidObjectError, SettingsError
from core.cluster import AccountSignIn
from core.people.subject import Subject, service_account_subject
from core.profiles.container_profiles import ContainerProfile, ProfileSpec
from kube.cluster.folder import FolderCluster, read_profiles

PROFILE = """\
apiVersion: sallyport.dev/v1alpha1
kind: ContainerProfile
metadata: {name: NAME}
spec: {rank: 5, catalogue: 1, privileges: [host/network]}
"""
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: use, namespace: train}
rules:
  - {apiGroups: [sallyport.dev], resources: [containerprofiles], verbs: [use]}
"""
BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: use, namespace: train}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: use}
subjects:
  - {kind: ServiceAccount, name: default}
"""
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: train
  labels: {sallyport.dev/mode: warn, kubernetes.io/metadata.name: forged}
  annotations: {sallyport.dev/ceiling: "a,b"}
"""


def shipped(name: str) -> ContainerProfile:
    """Return a profile that comes with Sallyport."""
    return ContainerProfile(name, ProfileSpec(privileges=["host/pid"], rank=9, catalogue=1))


async def test_a_folder_answers_as_a_cluster(tmp_path: Path) -> None:
    """Profiles, namespaces and RBAC come from all its files; other kinds are left alone."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "p.yml").write_text(PROFILE.replace("NAME", "own"))
    (tmp_path / "rest.yaml").write_text(
        f"{ROLE}---\n{BINDING}---\n{NAMESPACE}---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n---\n"
        "apiVersion: iam.example.org/v1\nkind: Role\nspec: {}\n"
    )
    cluster = FolderCluster(tmp_path, shipped=[shipped("own"), shipped("stock")])
    assert cluster.missing() == []
    by_name = cluster.profiles().by_name
    assert by_name.keys() == {"own", "stock"}
    assert by_name["own"].covers("host/network"), "the folder's own wins over the shipped one"
    train = await cluster.namespace("train")
    assert train.labels == {"sallyport.dev/mode": "warn", "kubernetes.io/metadata.name": "train"}
    assert train.ceiling == frozenset({"a", "b"})
    trainer = service_account_subject("train", "default")
    question = ("use", "containerprofiles", "own")
    assert await cluster.allowed(trainer, *question, "train")
    assert not await cluster.allowed(trainer, *question, "other")
    assert not await cluster.allowed(Subject("alice"), *question, "train")


def test_what_lets_traffic_in_and_how_old_accounts_are(tmp_path: Path) -> None:
    """Services that name no namespace lie in `default`; an account without a time is not new.

    What an account says of Entra ID is read of both.
    """
    (tmp_path / "all.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
        "spec: {type: NodePort, selector: {app: web}}\n---\n"
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: train}\n"
        "spec: {selector: {app: web}}\n---\n"
        "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: other}\n---\n"
        "apiVersion: v1\nkind: ServiceAccount\n"
        "metadata: {name: old, creationTimestamp: 1970-01-02T00:00:00Z}\n---\n"
        "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: written, namespace: train,"
        " annotations: {azure.workload.identity/client-id: c, other: x}}\n"
    )
    cluster = FolderCluster(tmp_path)
    assert cluster.service_account_sign_in("train", "written") == AccountSignIn("c")
    assert cluster.service_account_sign_in("default", "old") == AccountSignIn()
    assert cluster.service_account_sign_in("train", "absent") == AccountSignIn()
    assert cluster.exposing_services("default", {"app": "web"}) == ("web",)
    assert cluster.exposing_services("default", {"app": "other"}) == ()
    assert cluster.exposing_services("train", {"app": "web"}) == ()
    assert cluster.service_account_made("default", "old") == 86400.0
    assert cluster.service_account_made("train", "written") == 0.0
    assert cluster.service_account_made("train", "absent") == 0.0


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("kind: Service\nmetadata: {name: web}\nspec: {type: 5}\n", "spec.type"),
        (
            "kind: ServiceAccount\nmetadata: {name: a, creationTimestamp: soon}\n",
            "metadata.creationTimestamp",
        ),
    ],
)
def test_a_broken_service_or_account_is_named(tmp_path: Path, text: str, field: str) -> None:
    """File and field."""
    (tmp_path / "x.yaml").write_text(f"apiVersion: v1\n{text}")
    with pytest.raises(InvalidObjectError, match=field) as caught:
        FolderCluster(tmp_path)
    assert "x.yaml" in str(caught.value)


async def test_a_namespace_that_is_not_there_has_no_marks(tmp_path: Path) -> None:
    """It is one with no label but the one that kube-apiserver sets."""
    found = await FolderCluster(tmp_path).namespace("new")
    assert found.labels == {"kubernetes.io/metadata.name": "new"}
    assert found.annotations == {}


def test_without_a_folder_the_shipped_profiles_are_all() -> None:
    """`None` is an empty cluster."""
    assert FolderCluster(None, shipped=[shipped("stock")]).profiles().by_name.keys() == {"stock"}


def test_relaxations_follow_the_version(tmp_path: Path) -> None:
    """The cluster's version is an argument; the newest is the default."""
    text = PROFILE.replace("NAME", "p").replace(
        "catalogue: 1,",
        "catalogue: 1, relaxations: [{minimumVersion: '1.36', privileges: [new]}],",
    )
    (tmp_path / "p.yaml").write_text(text)
    assert FolderCluster(tmp_path).profiles().by_name["p"].covers("new")
    old = FolderCluster(tmp_path, cluster_version=(1, 35))
    assert not old.profiles().by_name["p"].covers("new")


def test_a_binding_without_its_role_is_told_of(tmp_path: Path) -> None:
    """It gives nothing in Kubernetes too; on a laptop it is mostly a mistake."""
    (tmp_path / "b.yaml").write_text(BINDING)
    with capture_logs() as logs:
        FolderCluster(tmp_path)
    assert [log["role"] for log in logs] == ["Role use"]


def test_a_missing_folder_is_a_wrong_setting(tmp_path: Path) -> None:
    """The path is named."""
    with pytest.raises(SettingsError, match="nowhere does not exist"):
        FolderCluster(tmp_path / "nowhere")


WRONG = {
    "rules is a map": (ROLE.replace("rules:\n  - {", "rules:\n    {"), "rules: Expected `array"),
    "verb is a number": (ROLE.replace("[use]", "[1]"), r"rules\[0\].verbs\[0\]: Expected `str`"),
    "no verbs": (ROLE.replace(", verbs: [use]", ""), "missing required field `verbs`"),
    "empty verbs": (ROLE.replace("[use]", "[]"), r"rules\[0\].verbs: must have at least one"),
    "misspelled": (ROLE.replace("resources", "resource"), "unknown field `resource`"),
    "no groups": (ROLE.replace("apiGroups: [sallyport.dev], ", ""), "apiGroups: must have"),
    "old version": (ROLE.replace("k8s.io/v1", "k8s.io/v1beta1"), "apiVersion: 'rbac"),
    "no namespace": (ROLE.replace(", namespace: train", ""), "metadata.namespace: is missing"),
    "cluster in namespace": (ROLE.replace("Role", "ClusterRole"), "metadata.namespace: a Cluster"),
    "no name": (ROLE.replace("name: use, ", ""), "missing required field `name`"),
    "urls": (
        ROLE.replace("resources: [containerprofiles]", "nonResourceURLs: ['*']"),
        "nonResourceURLs: only in a ClusterRole",
    ),
    "aggregated Role": (
        ROLE + "aggregationRule: {clusterRoleSelectors: [{}]}",
        "aggregationRule: only a ClusterRole",
    ),
    "bad operator": (
        ROLE.replace("Role", "ClusterRole").replace(", namespace: train", "")
        + "aggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: a, operator: is}]}]}",
        r"matchExpressions\[0\].operator: 'is' must be one of",
    ),
    "bad reference": (BINDING.replace("kind: Role,", "kind: Rule,"), "roleRef.kind: 'Rule'"),
    "bad subject": (BINDING.replace("ServiceAccount", "Account"), r"subjects\[0\].kind: 'Account'"),
    "subject's group": (
        BINDING.replace("kind: ServiceAccount,", "kind: ServiceAccount, apiGroup: x,"),
        r"subjects\[0\].apiGroup",
    ),
    "account nowhere": (
        BINDING.replace("RoleBinding", "ClusterRoleBinding")
        .replace("kind: Role,", "kind: ClusterRole,")
        .replace(", namespace: train", ""),
        r"subjects\[0\].namespace: is missing",
    ),
    "label is a number": (NAMESPACE.replace("warn", "5"), "metadata.labels.*: Expected `str`"),
    "bad profile": (PROFILE.replace("rank: 5", "rank: x"), "ContainerProfile NAME: spec.rank"),
    "bad pattern": (PROFILE.replace("host/", "host//"), r"spec.privileges\[0\]"),
    "broken yaml": ("a: [", "x.yaml, line 2: did not find"),
    "twice": (f"{ROLE}---\n{ROLE}", "x.yaml#2: metadata.name: Role use stands in .*x.yaml#1 too"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case: str, tmp_path: Path) -> None:
    """File, document and field are in the message."""
    text, says = WRONG[case]
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(InvalidObjectError, match=says) as caught:
        FolderCluster(tmp_path)
    assert "x.yaml" in str(caught.value)


def test_the_shipped_profiles_and_roles_can_be_read() -> None:
    """What the repository ships reads cleanly."""
    assert {one.name for one in read_profiles([Path("policies/profiles")])} >= {"pss-baseline"}
    FolderCluster(Path("deploy/rbac.yaml"))
