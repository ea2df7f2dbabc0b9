"""Who can use a profile: each way to come to it, with the chain that explains it."""

import pytest

from identity.rights.holders import Holder
from identity.rights.who_can import ProfileUser, who_can_use
from kube.rbac.objects import (
    GROUP,
    AggregationRule,
    Binding,
    BindingSubject,
    Meta,
    PolicyRule,
    RbacSelector,
    Role,
    RoleRef,
)
from tests.unit.identity.rights.rbac_worlds import bind

RESEARCHERS = Holder("Group", "researchers")
ALICE = Holder("User", "alice")
BOB = Holder("User", "bob")
TRAINER = Holder("ServiceAccount", "trainer", "train")


def cluster_role(name: str, *rules: str, resource_names: str = "", **labels: str) -> Role:
    """Return a ClusterRole; a rule is `verbs group/resources`, and all have the same names."""
    made = [_rule(rule, resource_names.split()) for rule in rules]
    return Role(Meta(name, labels=labels or None), made, kind="ClusterRole")


def _rule(text: str, names: list[str]) -> PolicyRule:
    verbs, _, what = text.partition(" ")
    group, _, resources = what.partition("/")
    return PolicyRule(verbs.split(","), [group], resources.split(","), names or None)


USE = cluster_role("use-net", "use sallyport.dev/containerprofiles", resource_names="net")


def found(
    roles: list[Role], bindings: list[Binding], space: str | None = "train"
) -> list[ProfileUser]:
    """Return who can use `net`, but for system:masters, whom kube-apiserver always lets."""
    reached = who_can_use(roles, bindings, "net", space)
    masters = Holder("Group", "system:masters")
    assert any((r.holder, r.namespace, r.direct) == (masters, "", True) for r in reached)
    return [each for each in reached if each.holder != masters]


def why(reached: list[ProfileUser]) -> dict[str, str]:
    """Return the explanations of those who come to it through others, by who."""
    return {str(each.holder): each.why for each in reached if not each.direct}


def test_a_binding_makes_direct() -> None:
    """A RoleBinding in its namespace, a ClusterRoleBinding in all; another profile is not ours."""
    other = cluster_role("other", "use sallyport.dev/containerprofiles", resource_names="other")
    bindings = [
        bind(USE, "train", [RESEARCHERS, TRAINER], "x"),
        bind(USE, "", [ALICE], "y"),
        bind(other, "", [BOB], "z"),
    ]
    assert [
        (r.holder, r.namespace, r.direct, r.why) for r in found([USE, other], bindings, None)
    ] == [
        (RESEARCHERS, "train", True, "has RoleBinding train/x"),
        (TRAINER, "train", True, "has RoleBinding train/x"),
        (ALICE, "", True, "has ClusterRoleBinding y"),
    ]
    assert [r.holder for r in found([USE, other], bindings, "serve")] == [ALICE]


@pytest.mark.parametrize(
    ("power", "target", "says"),
    [
        ("impersonate /users", Holder("User", "dana"), "impersonates user dana"),
        ("impersonate /users,groups", RESEARCHERS, "impersonates group researchers"),
        (
            "impersonate:user-info authentication.k8s.io/users,groups",
            RESEARCHERS,
            "impersonates group researchers",
        ),
        (
            "impersonate /serviceaccounts",
            TRAINER,
            "impersonates service account train/trainer",
        ),
        (
            "impersonate:serviceaccount authentication.k8s.io/serviceaccounts",
            TRAINER,
            "impersonates service account train/trainer",
        ),
        (
            "create /serviceaccounts/token",
            TRAINER,
            "creates tokens of service account train/trainer",
        ),
        (
            "create,get /secrets",
            TRAINER,
            "makes Secrets with tokens of service account train/trainer",
        ),
        ("create /pods", TRAINER, "creates Pods that run as service account train/trainer"),
        (
            "patch apps/deployments",
            TRAINER,
            "creates workloads that run as service account train/trainer",
        ),
        (
            "create /pods",
            Holder("Group", "system:serviceaccounts:train"),
            "creates Pods that run as a service account of train",
        ),
        (
            "create batch/jobs",
            Holder("Group", "system:serviceaccounts"),
            "creates workloads that run as a service account",
        ),
    ],
)
def test_who_can_lists_subjects_who_can_become_a_holder(
    power: str, target: Holder, says: str
) -> None:
    """Whoever becomes one who can, can; the chain says how, and what the other has."""
    only = target.name if "groups" in power else ""  # Else it is system:masters at once.
    roles = [USE, cluster_role("power", power, resource_names=only)]
    bindings = [bind(USE, "train", [target], "x"), bind(roles[1], "", [ALICE], "y")]
    reached = found(roles, bindings)
    assert why(reached) == {"user alice": f"{says}, which has RoleBinding train/x"}
    step = next(each for each in reached if not each.direct).chain[0]
    assert (step.holder, step.by) == (ALICE, "ClusterRoleBinding y")


@pytest.mark.parametrize(
    "power",
    [
        "impersonate /groups",
        "impersonate:user-info authentication.k8s.io/groups",
        "get,list /serviceaccounts/token",
        "create /secrets",
        "get /secrets",
        "create /pods/eviction",
        "get apps/deployments",
        "bind rbac.authorization.k8s.io/clusterroles",
        "create rbac.authorization.k8s.io/rolebindings",
        "update rbac.authorization.k8s.io/clusterroles",
        "escalate rbac.authorization.k8s.io/clusterroles",
    ],
)
def test_half_a_power_is_none(power: str) -> None:
    """A group needs a user to be impersonated too, a binding needs `bind`, and so on."""
    roles = [USE, cluster_role("power", power)]
    bindings = [
        bind(USE, "train", [RESEARCHERS, TRAINER], "x"),
        bind(roles[1], "", [ALICE], "y"),
    ]
    assert why(found(roles, bindings)) == {}


def test_power_in_another_namespace_is_none() -> None:
    """Tokens of `serve` do not open `train`; those of a user cannot be had by a RoleBinding."""
    power = cluster_role("power", "create /serviceaccounts/token,pods", "impersonate /users")
    bindings = [
        bind(USE, "train", [TRAINER, Holder("User", "dana")], "x"),
        bind(power, "serve", [ALICE], "y"),
    ]
    assert why(found([USE, power], bindings)) == {}
    assert list(why(found([USE, power], [*bindings, bind(power, "train", [BOB], "z")]))) == [
        "user bob"
    ]


def test_a_long_chain_is_followed_to_its_end() -> None:
    """A user impersonates alice, who makes tokens of the runner, which may bind the role."""
    runner = Holder("ServiceAccount", "runner", "ci")
    roles = [
        USE,
        cluster_role(
            "bind", "bind rbac.authorization.k8s.io/clusterroles", resource_names="use-net"
        ),
        cluster_role("write", "create rbac.authorization.k8s.io/rolebindings"),
        cluster_role("token", "create /serviceaccounts/token"),
        cluster_role("act", "impersonate /users", resource_names="alice"),
    ]
    bindings = [
        bind(roles[1], "train", [runner], "b"),
        bind(roles[2], "train", [runner], "w"),
        bind(roles[3], "ci", [ALICE], "t"),
        bind(roles[4], "", [BOB], "a"),
    ]
    last = "may bind ClusterRole use-net in namespace train"
    middle = f"creates tokens of service account ci/runner, which {last}"
    assert why(found(roles, bindings)) == {
        "service account ci/runner": last,
        "user alice": middle,
        "user bob": f"impersonates user alice, which {middle}",
    }


def test_rewriting_a_role_that_one_has() -> None:
    """`escalate` and `update` on one's own role give everything; through aggregation too."""
    write = "escalate,update rbac.authorization.k8s.io/clusterroles"
    plain = cluster_role("plain", write, resource_names="plain")
    assert why(found([plain], [bind(plain, "train", [ALICE], "p")])) == {}, "not for the cluster"
    bindings = [bind(plain, "", [ALICE], "p")]
    assert why(found([plain], bindings)) == {
        "user alice": "may rewrite ClusterRole plain, and has ClusterRoleBinding p"
    }
    made = Role(
        Meta("made"),
        aggregation_rule=AggregationRule([RbacSelector({"to": "made"})]),
        kind="ClusterRole",
    )
    fresh = cluster_role("fresh", "escalate,create rbac.authorization.k8s.io/clusterroles")
    bindings = [bind(fresh, "", [BOB], "f"), bind(made, "train", [BOB], "m")]
    assert why(found([made, fresh], bindings)) == {
        "user bob": "may rewrite ClusterRole made, and has RoleBinding train/m"
    }


def test_two_identities_that_only_together_suffice() -> None:
    """Alice has a role that she cannot rewrite, and becomes the runner, which can."""
    runner = Holder("ServiceAccount", "runner", "ci")
    write = "escalate,patch rbac.authorization.k8s.io/clusterroles"
    roles = [
        cluster_role("plain", "get /pods"),
        cluster_role("write", write, resource_names="plain"),
        cluster_role("token", "create /serviceaccounts/token"),
    ]
    bindings = [
        bind(roles[0], "train", [ALICE], "p"),
        bind(roles[1], "", [runner], "w"),
        bind(roles[2], "ci", [ALICE, BOB], "t"),
    ]
    assert why(found(roles, bindings)) == {
        "user alice": "becomes another that may rewrite ClusterRole plain, and has RoleBinding "
        "train/p"
    }


def test_adding_oneself_to_a_binding_that_is_there() -> None:
    """`update` on the binding is enough, with `bind` on its role; on another binding it is not."""
    for name, expected in (("x", ["user alice"]), ("other", [])):
        roles = [
            USE,
            cluster_role(
                "bind", "bind rbac.authorization.k8s.io/clusterroles", resource_names="use-net"
            ),
            cluster_role(
                "write", "update rbac.authorization.k8s.io/rolebindings", resource_names=name
            ),
        ]
        bindings = [
            bind(USE, "train", [RESEARCHERS], "x"),
            bind(roles[1], "train", [ALICE], "b"),
            bind(roles[2], "train", [ALICE], "w"),
        ]
        assert list(why(found(roles, bindings))) == expected


def test_impersonating_any_group_is_being_a_master() -> None:
    """Who may impersonate every group may impersonate the one that kube-apiserver always lets."""
    power = cluster_role("power", "impersonate /users,groups")
    assert why(found([power], [bind(power, "", [ALICE], "y")])) == {
        "user alice": "impersonates group system:masters, which is let through by kube-apiserver "
        "without any binding"
    }


def test_members_of_a_named_group_are_not_named_one_by_one() -> None:
    """Where everyone who signs in can, nobody is listed for becoming someone."""
    power = cluster_role("power", "create /pods,serviceaccounts/token", "impersonate /users")
    everyone = Holder("Group", "system:authenticated")
    bindings = [
        bind(USE, "train", [everyone, TRAINER], "x"),
        bind(power, "", [ALICE, RESEARCHERS], "y"),
    ]
    assert why(found([USE, power], bindings)) == {}


def test_a_user_named_as_a_service_account_is_one() -> None:
    """kube-apiserver tells them apart by nothing but the name."""
    subject = BindingSubject("User", "system:serviceaccount:train:trainer")
    reference = RoleRef("ClusterRole", "use-net", GROUP)
    binding = Binding(Meta("x", "train"), reference, [subject])
    assert [each.holder for each in found([USE], [binding])] == [TRAINER]


def test_all_powerful_ones_are_named_once() -> None:
    """cluster-admin binds nothing that it has not, so it is direct and nothing else."""
    admin = Role(Meta("cluster-admin"), [PolicyRule(["*"], ["*"], ["*"])], kind="ClusterRole")
    reached = found([admin, USE], [bind(admin, "", [ALICE], "a"), bind(USE, "train", [BOB], "b")])
    assert [(each.holder, each.direct) for each in reached] == [(ALICE, True), (BOB, True)]
