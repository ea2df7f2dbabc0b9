"""RBAC as Kubernetes has it: what each rule, subject and binding gives, and what it does not."""

from typing import Any, Final

import msgspec
import pytest

from core.people.subject import Subject, service_account_subject
from kube.rbac.authorizer import Rbac, RbacQuestion, applies_to, rule_allows, selects
from kube.rbac.objects import Binding, BindingSubject, PolicyRule, RbacSelector, Role

AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"
USE = RbacQuestion("use", "sallyport.dev", "containerprofiles", "small", "train")
STATUS = RbacQuestion("use", "sallyport.dev", "containerprofiles", "small", "train", "status")
UNNAMED = RbacQuestion("use", "sallyport.dev", "containerprofiles", "", "train")


def rule(
    verbs: str = "use",
    groups: str = "sallyport.dev",
    resources: str = "containerprofiles",
    names: str = "",
) -> PolicyRule:
    """Return a rule of words."""
    return PolicyRule(verbs.split(), groups.split(), resources.split(), names.split())


@pytest.mark.parametrize(
    ("given", "question", "allowed"),
    [
        (rule(), USE, True),
        (rule("get use"), USE, True),
        (rule("*"), USE, True),
        (rule("get"), USE, False),
        (rule("Use"), USE, False),
        (rule(groups="*"), USE, True),
        (rule(groups="apps"), USE, False),
        (PolicyRule(["use"], [""], ["containerprofiles"]), USE, False),
        (PolicyRule(["use"], None, ["containerprofiles"]), USE, False),
        (PolicyRule(["*"], non_resource_urls=["*"]), USE, False),
        (rule(resources="*"), USE, True),
        (rule(resources="namespaces"), USE, False),
        (rule(resources="containerprofiles/*"), USE, False),
        (rule(resources="container*"), USE, False),
        (rule(names="small"), USE, True),
        (rule(names="large small"), USE, True),
        (rule(names="large"), USE, False),
        (rule(names="*"), USE, False),
        (rule(names="small"), UNNAMED, False),
        (rule(), UNNAMED, True),
        (rule(), STATUS, False),
        (rule(resources="containerprofiles/status"), STATUS, True),
        (rule(resources="*/status"), STATUS, True),
        (rule(resources="*"), STATUS, True),
        (rule(resources="*/scale"), STATUS, False),
        (rule(resources="*/status"), USE, False),
    ],
)
def test_a_rule(given: PolicyRule, question: RbacQuestion, *, allowed: bool) -> None:
    """Verbs, groups, resources and names must all match (evaluation_helpers.go)."""
    assert rule_allows(given, question) is allowed


ALICE = Subject("alice", groups=["team"])
TRAINER = service_account_subject("train", "trainer")


@pytest.mark.parametrize(
    ("subject", "user", "namespace", "applies"),
    [
        (BindingSubject("User", "alice"), ALICE, "", True),
        (BindingSubject("User", "bob"), ALICE, "", False),
        (BindingSubject("User", "*"), ALICE, "", False),
        (BindingSubject("Group", "team"), ALICE, "", True),
        (BindingSubject("Group", "alice"), ALICE, "", False),
        (BindingSubject("User", "team"), ALICE, "", False),
        (BindingSubject("ServiceAccount", "trainer", "train"), TRAINER, "", True),
        (BindingSubject("ServiceAccount", "trainer", "train"), TRAINER, "other", True),
        (BindingSubject("ServiceAccount", "trainer"), TRAINER, "train", True),
        (BindingSubject("ServiceAccount", "trainer"), TRAINER, "other", False),
        (BindingSubject("ServiceAccount", "trainer"), TRAINER, "", False),
        (BindingSubject("User", TRAINER.username), TRAINER, "", True),
        (BindingSubject("Group", "system:serviceaccounts:train"), TRAINER, "", True),
        (BindingSubject("Group", "system:serviceaccounts:other"), TRAINER, "", False),
        (BindingSubject("Robot", "alice"), ALICE, "", False),
    ],
)
def test_a_subject(
    subject: BindingSubject, user: Subject, namespace: str, *, applies: bool
) -> None:
    """Users and groups by name, service accounts by namespace and name (rule.go)."""
    assert applies_to(subject, user, namespace) is applies


def role(kind: str, name: str, namespace: str = "", **more: Any) -> Role:
    """Return a role that uses any profile, unless `more` says otherwise."""
    rules = [{"verbs": ["use"], "apiGroups": ["sallyport.dev"], "resources": ["*"]}]
    metadata = {"name": name, "namespace": namespace, "labels": more.pop("labels", None)}
    whole = {"kind": kind, "metadata": metadata, "rules": rules, **more}
    return msgspec.convert(whole, Role)


def binding(kind: str, reference: str, name: str, namespace: str = "") -> Binding:
    """Return a binding of a role to alice."""
    return msgspec.convert(
        {
            "kind": kind,
            "metadata": {"name": "b", "namespace": namespace},
            "roleRef": {"kind": reference, "name": name},
            "subjects": [{"kind": "User", "name": "alice"}],
        },
        Binding,
    )


EVERYWHERE = RbacQuestion("use", "sallyport.dev", "containerprofiles", "small", "")
ELSEWHERE = RbacQuestion("use", "sallyport.dev", "containerprofiles", "small", "other")


@pytest.mark.parametrize(
    ("roles", "given", "places"),
    [
        ([role("Role", "r", "train")], binding("RoleBinding", "Role", "r", "train"), {"train"}),
        ([role("Role", "r", "other")], binding("RoleBinding", "Role", "r", "train"), set()),
        ([role("ClusterRole", "r")], binding("RoleBinding", "Role", "r", "train"), set()),
        (
            [role("ClusterRole", "r")],
            binding("RoleBinding", "ClusterRole", "r", "train"),
            {"train"},
        ),
        (
            [role("ClusterRole", "r")],
            binding("ClusterRoleBinding", "ClusterRole", "r"),
            {"train", "other", ""},
        ),
        ([], binding("ClusterRoleBinding", "ClusterRole", "cluster-admin"), {"train", "other", ""}),
        ([], binding("RoleBinding", "ClusterRole", "cluster-admin", "train"), {"train"}),
        ([], binding("RoleBinding", "ClusterRole", "edit", "train"), set()),
        ([], binding("RoleBinding", "ClusterRole", "missing", "train"), set()),
    ],
)
def test_a_binding(roles: list[Role], given: Binding, places: set[str]) -> None:
    """A RoleBinding gives its role in its namespace, a ClusterRoleBinding everywhere."""
    rbac = Rbac(roles, [given])
    questions = {"train": USE, "other": ELSEWHERE, "": EVERYWHERE}
    allowed = {place for place, question in questions.items() if rbac.allows(ALICE, question)}
    assert allowed == places
    assert not rbac.allows(Subject("bob"), USE)


def test_masters_may_do_everything() -> None:
    """The group system:masters needs no binding; a user of that name has nothing."""
    rbac = Rbac([], [])
    assert rbac.allows(Subject("x", groups=["system:masters"]), EVERYWHERE)
    assert not rbac.allows(Subject("system:masters"), EVERYWHERE)


def test_a_binding_to_nothing_is_found() -> None:
    """It gives nothing, as in Kubernetes, and can be told of."""
    lost = binding("RoleBinding", "Role", "missing", "train")
    found = binding("RoleBinding", "ClusterRole", "view", "train")
    assert list(Rbac([], [lost, found]).dangling()) == [lost]


def _aggregating(name: str, selector: dict[str, Any], **more: Any) -> Role:
    rule = {"clusterRoleSelectors": [selector]}
    return role("ClusterRole", name, aggregationRule=rule, **more)


READING: Final = [{"verbs": ["get"], "apiGroups": ["*"], "resources": ["*"]}]


def test_aggregation_replaces_rules_and_goes_on() -> None:
    """An aggregated role has the rules of those it selects, through others too; not its own."""
    top = _aggregating("top", {"matchLabels": {"to": "top"}})
    middle = _aggregating("middle", {"matchLabels": {"to": "middle"}}, labels={"to": "top"})
    given = binding("ClusterRoleBinding", "ClusterRole", "top")
    leaf = role("ClusterRole", "leaf", labels={"to": "middle"})
    assert Rbac([top, middle, leaf], [given]).allows(ALICE, USE)
    reader = role("ClusterRole", "leaf", labels={"to": "middle"}, rules=READING)
    assert not Rbac([top, middle, reader], [given]).allows(ALICE, USE)


def test_what_selects_nothing_keeps_its_own_rules() -> None:
    """As on a cluster (test_rbac_agreement): the controller then applies no rules at all."""
    top = _aggregating("top", {"matchLabels": {"to": "top"}})
    empty = role("ClusterRole", "leaf", labels={"to": "top"}, rules=[])
    given = binding("ClusterRoleBinding", "ClusterRole", "top")
    assert Rbac([top, empty], [given]).allows(ALICE, USE)


def test_the_stock_roles_fill_a_role() -> None:
    """One that selects what is aggregated to view has its rules, though the folder has none."""
    top = _aggregating("top", {"matchLabels": {f"{AGGREGATE}view": "true"}})
    given = binding("ClusterRoleBinding", "ClusterRole", "top")
    assert not Rbac([top], [given]).allows(ALICE, USE)
    label = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    every = _aggregating("top", {"matchLabels": label})
    assert Rbac([every], [given]).allows(ALICE, USE), "cluster-admin is among them"


def test_a_circle_of_aggregation_ends() -> None:
    """Two roles that select each other come to rest, with what one of them selects beside."""
    one = _aggregating("one", {"matchLabels": {"to": "one"}}, labels={"to": "two"}, rules=[])
    two = _aggregating("two", {"matchLabels": {"to": "two"}}, labels={"to": "one"}, rules=[])
    leaf = role("ClusterRole", "leaf", labels={"to": "one"})
    given = binding("ClusterRoleBinding", "ClusterRole", "two")
    assert Rbac([one, two, leaf], [given]).allows(ALICE, USE)
    assert not Rbac([one, two], [given]).allows(ALICE, USE)


def test_a_circle_beside_another() -> None:
    """A role that selects one of a circle has what the circle has."""
    one = _aggregating("one", {"matchLabels": {"to": "one"}}, labels={"to": "two"}, rules=[])
    two = _aggregating("two", {"matchLabels": {"to": "two"}}, labels={"to": "one", "x": ""})
    top = _aggregating("top", {"matchLabels": {"x": ""}}, rules=READING)
    given = binding("ClusterRoleBinding", "ClusterRole", "top")
    assert Rbac([top, one, two], [given]).allows(ALICE, USE)


def test_the_stock_roles_aggregate() -> None:
    """What is aggregated to edit is in edit and in admin, and not in view."""
    label = {f"{AGGREGATE}edit": "true"}
    leaf = role("ClusterRole", "leaf", labels=label)
    for name, allowed in {"admin": True, "edit": True, "view": False}.items():
        given = binding("RoleBinding", "ClusterRole", name, "train")
        assert Rbac([leaf], [given]).allows(ALICE, USE) is allowed, name


def _expression(operator: str, *values: str) -> dict[str, Any]:
    one = {"key": "k", "operator": operator}
    return {"matchExpressions": [{**one, "values": list(values)} if values else one]}


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        ({}, {}, True),
        ({"matchLabels": {"k": "v"}}, {"k": "v", "l": "w"}, True),
        ({"matchLabels": {"k": "v"}}, {"k": "w"}, False),
        ({"matchLabels": {"k": "v"}}, {}, False),
        ({"matchLabels": {"k": ""}}, {}, False),
        (_expression("In", "v", "w"), {"k": "w"}, True),
        (_expression("In", "v"), {"k": "w"}, False),
        (_expression("In", "v"), {}, False),
        (_expression("NotIn", "v"), {"k": "w"}, True),
        (_expression("NotIn", "v"), {}, True),
        (_expression("NotIn", "v"), {"k": "v"}, False),
        (_expression("Exists"), {"k": "v"}, True),
        (_expression("Exists"), {}, False),
        (_expression("DoesNotExist"), {}, True),
        (_expression("DoesNotExist"), {"k": "v"}, False),
        ({"matchLabels": {"a": "b"}, **_expression("Exists")}, {"a": "b"}, False),
    ],
)
def test_a_label_selector(
    selector: dict[str, Any], labels: dict[str, str], *, selected: bool
) -> None:
    """All labels and all expressions must hold; an empty selector selects everything."""
    assert selects(msgspec.convert(selector, RbacSelector), labels) is selected
