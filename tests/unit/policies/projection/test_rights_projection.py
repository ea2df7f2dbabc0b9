"""What policies see of roles, bindings and service accounts."""

import json
import re
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InvalidObjectError
from core.kubernetes.roles import RoleRule
from core.people.subject import Subject, pseudonymous_user
from policies.projection.model import encode
from policies.projection.objects import project_object
from policies.projection.rbac import MAX_RULES, MAX_WORDS, PROVIDERS, RBAC, with_role
from tests.harness.evidence import ROOT
from tests.harness.programs.client import read_objects
from tests.unit.policies.projection.whole_pod import SCHEMA

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["a"]}


def projected(kind: str, made: Any, group: str = RBAC) -> Any:
    """Return the object of the projection, as policies see it, checked by the published schema."""
    found = json.loads(encode(project_object(group, kind, msgspec.json.encode(made))))
    jsonschema.validate(found, SCHEMA)
    return found["object"]


def test_a_cluster_role_shows_rules_labels_and_selectors() -> None:
    """Each with its path; other labels are nobody's business."""
    made = {
        "metadata": {"name": "x", "labels": {"a": "b", "k8s.io/aggregate-to-edit": "true"}},
        "rules": [RULE, {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
        "aggregationRule": {
            "clusterRoleSelectors": [
                {"matchLabels": {"d": "e", "a": "b"}},
                {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In"}]},
                {},
            ]
        },
    }
    selectors = "aggregationRule.clusterRoleSelectors"
    label = "k8s.io/aggregate-to-edit"
    assert projected("ClusterRole", made) == {
        "kind": "ClusterRole",
        "name": "x",
        "rights": {
            "everywhere": True,
            "rules": [
                {"path": "rules[0]", **RULE},
                {"path": "rules[1]", "verbs": ["get"], "urls": ["/healthz"]},
            ],
            "aggregated": [{"path": f"metadata.labels[{label}]", "label": label}],
            "collected": [
                {"path": f"{selectors}[0]", "labels": "a=b,d=e"},
                {"path": f"{selectors}[1]"},
                {"path": f"{selectors}[2]"},
            ],
        },
    }


@pytest.mark.parametrize(
    ("rule", "hidden"),
    [
        ({"resources": ["users"]}, True),
        ({"resources": ["uids"], "apiGroups": ["authentication.k8s.io"]}, True),
        ({"resources": ["userextras/email"], "apiGroups": ["authentication.k8s.io"]}, True),
        ({"resources": ["users"], "verbs": ["impersonate:user-info"]}, True),
        ({"resources": ["users", "groups"]}, True),
        ({"resources": ["*"], "verbs": ["*"], "apiGroups": ["*"]}, True),
        ({"resources": ["*/email"], "apiGroups": ["*"]}, True),
        ({"resources": ["groups"]}, False),
        ({"resources": ["serviceaccounts"]}, False),
        ({"resources": ["users"], "verbs": ["get"]}, False),
        ({"resources": ["users"], "apiGroups": ["example.com"]}, False),
    ],
)
def test_people_whom_a_rule_lets_impersonate_have_no_names(
    rule: dict[str, Any],
    hidden: bool,  # noqa: FBT001
) -> None:
    """In whatever spelling; the cluster's own users and object ids stay, and other names do."""
    oid = "0b1f6471-1bf0-4dda-aec3-111122223333"
    named = ["ada@example.com", "system:admin", oid]
    made = {"verbs": ["impersonate"], "apiGroups": [""], **rule, "resourceNames": named}
    found = projected("ClusterRole", {"metadata": {"name": "x"}, "rules": [made]})
    shown = found["rights"]["rules"][0]["resourceNames"]
    people = [Subject("ada@example.com").label, "system:admin", oid]
    assert shown == (people if hidden else named)


@given(st.text(), st.text())
def test_two_users_never_share_a_name(one: str, other: str) -> None:
    """A privilege means one user: nobody is called like another's pseudonym."""
    assert (pseudonymous_user(one) == pseudonymous_user(other)) is (one == other)
    assert pseudonymous_user(pseudonymous_user(one)) == pseudonymous_user(one) or pseudonymous_user(
        one
    ).startswith("user:")
    assert pseudonymous_user(f"user:{one}") != f"user:{one}"


def test_a_binding_shows_its_role_once_it_is_known() -> None:
    """Until then nobody knows what it gives; a service account by its user name is that account."""
    made = {
        "metadata": {"name": "x", "namespace": "train"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "reader"},
        "subjects": [
            {"kind": "Group", "name": "researchers", "apiGroup": RBAC},
            {"kind": "ServiceAccount", "name": "a"},
            {"kind": "User", "name": "system:serviceaccount:other:b"},
        ],
    }
    rights = {
        "role": "Role/reader",
        "subjects": [
            {"path": "subjects[0]", "kind": "Group", "name": "user:c1fd42bca012c149"},
            {"path": "subjects[1]", "kind": "ServiceAccount", "name": "a", "namespace": "train"},
            {"path": "subjects[2]", "kind": "ServiceAccount", "name": "b", "namespace": "other"},
        ],
        "foreign": True,
    }
    assert projected("RoleBinding", made)["rights"] == {**rights, "unknown": True}
    unknown = project_object(RBAC, "RoleBinding", msgspec.json.encode(made))
    known = json.loads(encode(with_role(unknown, [RoleRule(["get"], [""], ["pods"])])))
    given = {"path": "roleRef", "verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    assert known["object"]["rights"] == {**rights, "rules": [given]}
    assert with_role(unknown, None) == unknown


@pytest.mark.parametrize(
    ("subject", "foreign"),
    [
        ({"kind": "User", "name": "alice"}, False),
        ({"kind": "Group", "name": "researchers"}, False),
        ({"kind": "ServiceAccount", "name": "a"}, False),
        ({"kind": "ServiceAccount", "name": "a", "namespace": "train"}, False),
        ({"kind": "ServiceAccount", "name": "a", "namespace": "other"}, True),
        ({"kind": "User", "name": "system:serviceaccount:train:a"}, False),
        ({"kind": "User", "name": "system:serviceaccount:other:a"}, True),
        ({"kind": "Group", "name": "system:serviceaccounts:train"}, False),
        ({"kind": "Group", "name": "system:serviceaccounts:train-2"}, True),
        ({"kind": "Group", "name": "system:serviceaccounts"}, True),
    ],
)
def test_a_subject_of_another_namespace_is_foreign(subject: Any, foreign: bool) -> None:  # noqa: FBT001
    """People live in no namespace."""
    made = {"metadata": {"name": "x", "namespace": "train"}, "subjects": [subject]}
    assert projected("RoleBinding", made)["rights"].get("foreign", False) is foreign


def test_a_service_account_shows_its_identities_alone() -> None:
    """By annotation or label; an empty value is kept, and so is a key that says nothing."""
    made = {
        "metadata": {
            "name": "x",
            "annotations": {"azure.workload.identity/client-id": "", "a": "b"},
            "labels": {"azure.workload.identity/use": "true", "iam.gke.io/": "c"},
        }
    }
    assert projected("ServiceAccount", made, "")["identities"] == [
        {
            "path": "metadata.annotations[azure.workload.identity/client-id]",
            "cloud": "azure",
            "value": "",
        },
        {
            "path": "metadata.labels[azure.workload.identity/use]",
            "cloud": "azure",
            "value": "true",
            "setting": "use",
        },
        {"path": "metadata.labels[iam.gke.io/]", "cloud": "gcp", "value": "c", "setting": "%00"},
    ]


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("Role", {"rules": [RULE] * (MAX_RULES + 1)}),
        ("Role", {"rules": [{"verbs": ["get"] * (MAX_WORDS + 1)}]}),
        ("Role", {"rules": [{"verbs": ["a" * 2000]}]}),
        ("Role", {"rules": "all"}),
        ("RoleBinding", {"subjects": [{"kind": "User", "name": "a"}] * (MAX_RULES + 1)}),
        ("ClusterRole", {"aggregationRule": {"clusterRoleSelectors": [{}] * 300}}),
    ],
)
def test_what_no_real_object_is_is_refused(kind: str, made: Any) -> None:
    """With the field, before the policies see it."""
    with pytest.raises(InvalidObjectError):
        project_object(RBAC, kind, msgspec.json.encode(made))


@pytest.mark.parametrize("kind", ["RoleBinding", "ClusterRoleBinding"])
@pytest.mark.parametrize("who", ["User", "Group"])
def test_nobody_is_named(kind: str, who: str) -> None:
    """A projection is kept; who gets a role is no part of any rule, but that it changed is."""
    ann, ben, anyone = (
        projected(kind, {"subjects": [{"kind": who, "name": name}]})["rights"]["subjects"]
        for name in ("ann@example.com", "ben@example.com", "*")
    )
    assert "example.com" not in json.dumps([ann, ben])
    assert ann != ben
    assert anyone[0]["name"] == "*"


def test_the_webhook_lets_every_identity_come() -> None:
    """Its match condition names the prefixes that are read, for labels and for annotations."""
    (webhook,) = (
        each
        for item in read_objects(ROOT / "deploy/webhooks.yaml")
        for each in item["webhooks"]
        if each["name"] == "rights.sallyport.dev"
    )
    (condition,) = (
        each["expression"]
        for each in webhook["matchConditions"]
        if each["name"] == "only-identities-of-accounts"
    )
    found = re.findall(r"key\.startsWith\('([^']+)'\)", condition)
    assert sorted(found) == sorted([*PROVIDERS, *PROVIDERS])
