"""Rights are given by those who may give them, and gained by nobody else."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.api.people.rights.people import (
    OPERATED,
    OTHERS,
    TEAM,
    Givers,
    account,
    bound,
    cluster_role,
)
from tests.api.people.rights.tries import TRIES, Try
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome
from tests.harness.worlds.rbac import (
    GROUP,
    binding,
    group,
    role,
    rule,
    service_account,
    use_of,
    user,
)

_CERTIFICATES: Final = "cert-manager.io"
_QUEUES: Final = "kueue.x-k8s.io"
_MONITORING: Final = "monitoring.coreos.com"
_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-{}"


def _given(name: str, *rules: Json) -> Iterator[Json]:
    yield cluster_role(*rules, name=name)
    yield binding(name, service_account(name, OPERATED))


def certificates() -> Iterator[Json]:
    """An issuer of certificates: reads Secrets everywhere, approves, renews CAs in webhooks."""
    yield from _given(
        "certificates",
        rule([_CERTIFICATES], "issuers certificates certificates/status", "get list watch update"),
        rule([""], "secrets", "get list watch create update delete"),
        rule([""], "events", "create patch"),
        rule(["certificates.k8s.io"], "signers", "approve", f"issuers.{_CERTIFICATES}/*"),
    )
    yield from _given(
        "certificates-injector",
        rule(
            ["admissionregistration.k8s.io"],
            "validatingwebhookconfigurations mutatingwebhookconfigurations",
            "get list watch update patch",
        ),
        rule(["apiregistration.k8s.io"], "apiservices", "get list watch update patch"),
        rule(["apiextensions.k8s.io"], "customresourcedefinitions", "get list watch update patch"),
    )
    for to in ("view", "edit", "admin"):
        read = rule([_CERTIFICATES], "certificates issuers", "get list watch")
        labels = {_AGGREGATE.format(to): "true"}
        yield cluster_role(read, name=f"certificates-{to}", metadata={"labels": labels})
    token = rule([""], "serviceaccounts/token", "create", "certificates")
    yield role("certificates-token", token, OPERATED)
    accounts = service_account("certificates", OPERATED)
    yield binding("certificates-token", accounts, namespace=OPERATED)


def queues() -> Iterator[Json]:
    """A queue of jobs: starts and stops workloads everywhere."""
    yield from _given(
        "queues",
        rule([_QUEUES], "workloads clusterqueues localqueues", "get list watch create update"),
        rule(["batch"], "jobs jobs/status", "get list watch update patch"),
        rule([""], "pods", "get list watch delete patch update"),
        rule([""], "secrets", "get list watch update"),
        rule(
            ["admissionregistration.k8s.io"],
            "mutatingwebhookconfigurations",
            "get list watch update",
        ),
    )
    leases = rule(["coordination.k8s.io"], "leases", "get list watch create update patch delete")
    yield role("queues-leader", leases, OPERATED)
    yield binding("queues-leader", service_account("queues", OPERATED), namespace=OPERATED)


def monitoring() -> Iterator[Json]:
    """Monitoring: every verb on its own kinds, metrics of nodes."""
    yield from _given(
        "monitoring",
        rule([_MONITORING], "prometheuses alertmanagers servicemonitors", "*"),
        rule(["apps"], "statefulsets", "*"),
        rule([""], "configmaps secrets", "*"),
        rule([""], "nodes nodes/metrics services endpoints pods", "get list watch"),
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    )


OPERATORS: Final = {
    "certificates": certificates,
    "queues": queues,
    "monitoring": monitoring,
}


COLLEAGUE = user("colleague@example.com")
CLIENT_ID = "azure.workload.identity/client-id"


@pytest.mark.parametrize("tried", TRIES, ids=lambda tried: tried.name)
async def test_a_researcher_gains_nothing(givers: Givers, tried: Try) -> None:
    """RBAC would let it through; the gate refuses, and names the privilege."""
    answer = await givers.researcher.dry_run(tried.item)
    assert answer.outcome is Outcome.DENIED, answer.body
    assert f"privilege {tried.privilege}," in answer.message


@pytest.mark.parametrize("operator", OPERATORS)
async def test_the_platform_team_installs_operators(
    givers: Givers, made: Callable[[Json], Json], operator: str
) -> None:
    """Roles, then bindings, as Helm installs them: `rights-manager` covers them all."""
    for item in OPERATORS[operator]():
        await givers.manager.create(made(item))


async def test_helm_may_install_them_again(givers: Givers, made: Callable[[Json], Json]) -> None:
    """An upgrade that changes nothing asks nobody, whoever runs it."""
    items = list(OPERATORS["queues"]())
    for item in items:
        await givers.manager.create(made(item))
    await givers.researcher.apply(items)


async def test_a_namespace_admin_binds_view(givers: Givers, made: Callable[[Json], Json]) -> None:
    """The harmless needs nothing, of nobody: a colleague may look."""
    await givers.local.create(made(bound("view", COLLEAGUE)))
    answer = await givers.researcher.dry_run(
        {**bound("view", COLLEAGUE), "metadata": {"name": "another", "namespace": OTHERS}}
    )
    assert answer.outcome is Outcome.ALLOWED, answer.message


async def test_a_plain_role_needs_nothing(givers: Givers) -> None:
    """Reading and writing one's own in a namespace, its Secrets too."""
    rules = [
        rule([""], "configmaps secrets services pods pods/log", "get list watch create update"),
        rule(["apps", "batch"], "deployments jobs", "get list watch create update patch delete"),
        rule(["kubeflow.org"], "pytorchjobs", "get create"),
    ]
    plain = role("tried", rules[0], TEAM)
    plain["rules"] = rules
    answer = await givers.researcher.dry_run(plain)
    assert answer.outcome is Outcome.ALLOWED, answer.message


async def test_rights_of_one_namespace_stay_there(
    givers: Givers, made: Callable[[Json], Json]
) -> None:
    """A manager of one namespace binds `edit` there, not next door and not for all."""
    await givers.local.create(made(bound("edit", COLLEAGUE)))
    for item in (
        bound("edit", COLLEAGUE, namespace=OTHERS),
        bound("edit", COLLEAGUE, namespace=None),
        cluster_role(rule([""], "secrets", "get")),
    ):
        answer = await givers.local.dry_run(item)
        assert answer.outcome is Outcome.DENIED, answer.body


async def test_whoever_may_use_a_profile_may_give_it(givers: Givers) -> None:
    """Where they may use it themselves, and nothing wider."""
    everywhere = cluster_role(use_of("restricted"))
    here = role("tried", use_of("restricted"), TEAM)
    wider = role("tried", use_of("baseline"), TEAM)
    every = role("tried", rule(["sallyport.dev"], "containerprofiles", "use"), TEAM)
    outcomes = {
        name: [(await client.dry_run(item)).outcome for item in (everywhere, here, wider, every)]
        for name, client in (
            ("researcher", givers.researcher),
            ("local", givers.local),
            ("administrator", givers.administrator),
        )
    }
    yes, no = Outcome.ALLOWED, Outcome.DENIED
    assert outcomes == {
        "researcher": [yes, yes, no, no],
        "local": [no, yes, no, no],
        "administrator": [yes, yes, yes, yes],
    }


@pytest.mark.parametrize("tried", TRIES, ids=lambda tried: tried.name)
async def test_a_cluster_administrator_may_all(givers: Givers, tried: Try) -> None:
    """cluster-admin by RBAC has the use of pss-privileged, which covers everything."""
    answer = await givers.administrator.dry_run(tried.item)
    assert answer.outcome is Outcome.ALLOWED, answer.message


async def test_a_role_cannot_be_widened_later(
    admin: Client, givers: Givers, made: Callable[[Json], Json]
) -> None:
    """By a patch, by another field manager, or by a binding that gets it."""
    harmless = role("widened", rule([""], "configmaps", "get"), TEAM)
    await admin.create(made(harmless))
    wide = {"rules": [rule([""], "serviceaccounts/token", "create")]}
    with pytest.raises(ApiStatusError, match="rights/token"):
        await givers.researcher.patch(harmless, wide)
    with pytest.raises(ApiStatusError, match="rights/token"):
        await givers.researcher.apply([{**harmless, **wide}], fieldManager="another")
    label = {"metadata": {"labels": {"harmless": "yes"}, "annotations": {"note": "x"}}}
    await givers.researcher.patch(harmless, label)


async def test_a_binding_cannot_be_turned(
    admin: Client, givers: Givers, made: Callable[[Json], Json]
) -> None:
    """Whoever adds a subject to a binding gives the role, as if they had made the binding."""
    editors = bound("edit", COLLEAGUE)
    await admin.create(made(editors))
    more = {"subjects": [COLLEAGUE, group("researchers")]}
    with pytest.raises(ApiStatusError, match="rights/token"):
        await givers.researcher.patch(editors, more)
    await givers.researcher.patch(editors, {"metadata": {"labels": {"harmless": "yes"}}})
    await givers.local.patch(editors, more)


async def test_a_label_added_later_is_judged(
    admin: Client, givers: Givers, made: Callable[[Json], Json]
) -> None:
    """By it the rules of a role reach everyone who holds `admin`."""
    plain = cluster_role(rule(["example.com"], "things", "get"), name="labelled")
    await admin.create(made(plain))
    key = "rbac.authorization.k8s.io/aggregate-to-admin"
    with pytest.raises(ApiStatusError, match="rights/aggregate"):
        await givers.researcher.patch(plain, {"metadata": {"labels": {key: "true"}}})


async def test_a_generated_name_changes_nothing(givers: Givers) -> None:
    """A role without a name is judged by its rules."""
    item = role("", rule([""], "serviceaccounts/token", "create"), TEAM)
    item["metadata"] = {"generateName": "tried-", "namespace": TEAM}
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{TEAM}/roles"
    status, answer = await givers.researcher.request("POST", path, item)
    assert status == 403
    assert "rights/token" in answer["message"]


async def test_an_identity_cannot_be_changed(
    admin: Client, givers: Givers, made: Callable[[Json], Json]
) -> None:
    """Labels and other annotations may, and so may taking the identity away."""
    signed_in = account(annotations={CLIENT_ID: "a"})
    await admin.create(made(signed_in))
    await givers.researcher.patch(signed_in, {"metadata": {"labels": {"harmless": "yes"}}})
    with pytest.raises(ApiStatusError, match="identity/azure/b"):
        await givers.researcher.patch(signed_in, {"metadata": {"annotations": {CLIENT_ID: "b"}}})
    await givers.manager.patch(signed_in, {"metadata": {"annotations": {CLIENT_ID: "b"}}})
    await givers.researcher.patch(signed_in, {"metadata": {"annotations": {CLIENT_ID: None}}})
    with pytest.raises(ApiStatusError, match="identity/azure/b"):
        await givers.researcher.patch(signed_in, {"metadata": {"annotations": {CLIENT_ID: "b"}}})


async def test_a_plain_service_account_is_nobodys_business(givers: Givers) -> None:
    """The gate is not even asked."""
    plain = account(annotations={"kubernetes.io/enforce-mountable-secrets": "true"})
    assert (await givers.researcher.dry_run(plain)).outcome is Outcome.ALLOWED


async def test_kubernetes_fills_aggregated_roles(
    admin: Client, givers: Givers, made: Callable[[Json], Json]
) -> None:
    """Its controller writes rules into roles that have an aggregationRule, and into no other."""
    name = "system:serviceaccount:kube-system:clusterrole-aggregation-controller"
    controller = admin.as_user(name)
    collecting = {"clusterRoleSelectors": [{"matchLabels": {"rights.example.com/a": "true"}}]}
    aggregated = cluster_role(name="aggregated", aggregationRule=collecting)
    await givers.administrator.create(made(aggregated))
    wide = {"rules": [rule([""], "secrets", "get")]}
    await controller.patch(aggregated, wide)
    plain = cluster_role(name="plain")
    await admin.create(made(plain))
    for item, patch in (
        (plain, wide),
        (aggregated, {**wide, "aggregationRule": {"clusterRoleSelectors": [{}]}}),
    ):
        with pytest.raises(ApiStatusError, match="privilege rights/"):
            await controller.patch(item, patch)


async def test_kubernetes_own_controller_is_not_in_the_way(
    admin: Client, givers: Givers, made: Callable[[Json], Json]
) -> None:
    """Rules that the platform team adds to `view` are there soon, and go with their role."""
    things = rule(["aggregated.example.com"], "things", "get")
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    added = cluster_role(things, name="added", metadata={"labels": labels})
    await givers.manager.create(made(added))
    end = time.monotonic() + 60
    while things not in (await admin.get(f"{GROUP}/v1", "ClusterRole", "view"))["rules"]:
        assert time.monotonic() < end
        await asyncio.sleep(0.1)


async def test_a_namespaces_own_profile_has_no_say(admin: Client, givers: Givers) -> None:
    """It says how the namespace's workloads run; rights are given under others."""
    team: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}}
    key = "sallyport.dev/profile"
    await admin.patch(team, {"metadata": {"annotations": {key: "restricted"}}})
    answer = await givers.local.dry_run(bound("edit", COLLEAGUE))
    await admin.patch(team, {"metadata": {"annotations": {key: None}}})
    assert answer.outcome is Outcome.ALLOWED, answer.message
