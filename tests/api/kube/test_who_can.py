"""Who can use a profile, read from a real cluster, and what that cluster itself says of them."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from app.settings.root import Settings, read_settings
from cli.profile.check import check_profile
from cli.profile.suggest import suggest_profile
from cli.who_can.run import UsersOfProfile, list_users
from core.base.errors import ClusterError, NotSyncedError
from identity.rights.holders import Holder, as_subject
from identity.rights.who_can import who_can_use
from kube.client.objects import list_objects, open_objects
from kube.cluster.live import LiveCluster
from kube.cluster.rbac_snapshot import read_live_rbac
from tests.api.kube.objects import new_name, profile, wait_for
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.worlds import rbac

_TOKENS = rbac.rule([""], "serviceaccounts/token", "create")


@pytest.fixture
async def named(client: Client, crds: None, live: LiveCluster) -> str:
    """A profile of a name that no other test uses, in force."""
    name = new_name("who-can")
    await client.create(profile(name, "host/network"))
    await wait_for(lambda: name in live.profiles().by_name, 60)
    return name


def settings_of(kubeconfig: Path) -> Settings:
    """Return settings that name a real cluster."""
    return read_settings(None, {"kubeconfig": kubeconfig})


def _holders(mark: str, spaces: Iterable[str]) -> list[tuple[Holder, Json]]:
    """Return test users, and each as the subject of a binding."""
    accounts = [
        (Holder("ServiceAccount", "default", space), rbac.service_account("default", space))
        for space in spaces
    ]
    people = [Holder("User", f"{mark}-user-{number}") for number in range(4)]
    teams = [Holder("Group", f"{mark}-team-{number}") for number in range(3)]
    return [
        *accounts,
        *((person, rbac.user(person.name)) for person in people),
        *((team, rbac.group(team.name)) for team in teams),
    ]


def _rbac(rng: random.Random, mark: str, spaces: list[str], name: str) -> list[Json]:
    """Return roles that let use it, by name, by wildcard or not at all, and their bindings."""
    subjects = [subject for _, subject in _holders(mark, spaces)]
    made: list[Json] = []
    rules = [
        rbac.use_of(name),
        rbac.rule(["sallyport.dev"], "containerprofiles", "use"),
        rbac.rule(["*"], "*", "*"),
        rbac.use_of("another"),
        rbac.rule(["sallyport.dev"], "containerprofiles", "get list"),
        rbac.rule(["sallyport.dev"], "namespaces", "use"),
    ]
    for number in range(12):
        space = rng.choice([None, *spaces])
        chosen = rng.sample(subjects, rng.randint(1, 2))
        rule = rng.choice(rules if space else rules[:1] + rules[3:])
        made += rbac.grant(f"{mark}-{number}", rule, *chosen, namespace=space)
    return made


async def _settle(
    client: Client, live: LiveCluster, mark: str, name: str, spaces: Iterable[str]
) -> None:
    """Wait until kube-apiserver's authorizer knows what was written before, of every kind."""
    canary = f"{mark}-canary"
    for space in (None, *spaces):
        for item in rbac.grant(canary, rbac.use_of(name), rbac.user(canary), namespace=space):
            await client.create(item)
    subject = as_subject(Holder("User", canary))

    async def known() -> bool:
        places = [new_name("x"), *spaces]
        asked = [await live.allowed(subject, "use", "containerprofiles", name, p) for p in places]
        return all(asked)

    await wait_for(known, 60)


@pytest.mark.parametrize("seed", range(3))
async def test_direct_ones_are_those_whom_the_cluster_lets(
    client: Client, live: LiveCluster, apiserver: ApiServer, named: str, seed: int
) -> None:
    """Everyone listed as direct is allowed by a SubjectAccessReview; every other user is not."""
    rng = random.Random(seed)  # noqa: S311 -- must repeat, need not be secret
    mark = new_name("holders")
    spaces = [f"{mark}-a", f"{mark}-b"]
    for space in spaces:
        await client.create_namespace(space)
    for item in _rbac(rng, mark, spaces, named):
        await client.create(item)
    await _settle(client, live, mark, named, spaces)
    async with open_objects(apiserver.kubeconfig()) as objects:
        read = await read_live_rbac(objects, page_size=3)
    reached = who_can_use(read.roles, read.bindings, named, None, read.aggregated)
    listed = {(each.holder, each.namespace) for each in reached if each.direct}
    answers = []
    for holder, _ in _holders(mark, spaces):
        for space in spaces:
            said = await live.allowed(as_subject(holder), "use", "containerprofiles", named, space)
            assert said is bool({(holder, ""), (holder, space)} & listed), (holder, space)
            answers.append(said)
    assert 0 < sum(answers) < len(answers), "the questions are too alike"


async def _answer(apiserver: ApiServer, name: str, namespace: str | None = None) -> UsersOfProfile:
    return await list_users(settings_of(apiserver.kubeconfig()), name, namespace)


async def test_the_command_lists_direct_ones_and_those_who_become_them(
    client: Client, live: LiveCluster, apiserver: ApiServer, named: str
) -> None:
    """And the one who is said to make tokens really makes one that the profile is used with."""
    mark = new_name("chain")
    await client.create_namespace(mark)
    account, maker = rbac.service_account("default", mark), rbac.user("alice")
    for item in [
        *rbac.grant(f"{mark}-use", rbac.use_of(named), account, namespace=mark),
        *rbac.grant(f"{mark}-token", _TOKENS, maker, namespace=mark),
    ]:
        await client.create(item)
    await _settle(client, live, mark, named, [mark])
    answer = await _answer(apiserver, named, mark)
    told = {user.name: user for user in answer.users}
    assert answer.warnings == []
    assert (told["default"].direct, told["default"].where) == (True, mark)
    assert told["alice"].why == (
        f"creates tokens of service account {mark}/default, which has RoleBinding {mark}/{mark}-use"
    )
    alice = client.as_user("alice")
    token = await alice.create_token("default", mark)
    resource = {"group": "sallyport.dev", "resource": "containerprofiles", "name": named}
    await client.with_token(token).wait_until_can("use", {**resource, "namespace": mark})


async def test_a_missing_right_is_named(client: Client, apiserver: ApiServer, named: str) -> None:
    """Who may not list roles is told which right is missing, not given half a list."""
    mark = new_name("poor")
    rules = {
        "sallyport.dev": rbac.rule(
            ["sallyport.dev"], "containerprofiles weightstores", "list watch"
        ),
        "core": rbac.rule([""], "namespaces persistentvolumes pods", "list watch"),
        "rbac": rbac.rule([rbac.GROUP], "clusterroles", "list"),
    }
    for name, rule in rules.items():
        for item in rbac.grant(f"{mark}-{name}", rule, rbac.user("gate")):
            await client.create(item)
    poor = settings_of(apiserver.kubeconfig("gate"))

    wanted = "the right to list clusterroles, roles, clusterrolebindings and rolebindings"

    async def told() -> bool:
        with pytest.raises((NotSyncedError, ClusterError)) as refused:
            await list_users(poor, named, None)
        return wanted in str(refused.value) and '"roles"' in str(refused.value)

    await wait_for(told, 60)  # At first the authorizer does not know even the rights from above.


def _pod(name: str, **spec: Any) -> Json:
    containers = [{"name": "main", "image": "registry.example/a:1"}]
    metadata = {"name": name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, **spec},
    }


async def test_what_runs_is_read_page_by_page_and_judged(
    client: Client, apiserver: ApiServer, named: str
) -> None:
    """`suggest` covers what runs in a namespace, `check` says what a profile would refuse there."""
    space = new_name("runs")
    await client.create_namespace(space)
    for number in range(3):
        pod = _pod(f"p{number}", hostPID=number == 1, nodeName="node-1")
        pod["metadata"]["namespace"] = space
        await client.create(pod)
    async with open_objects(apiserver.kubeconfig()) as objects:
        path = f"/api/v1/namespaces/{space}/pods"
        assert len([item async for item in list_objects(objects, path, page_size=2)]) == 3
    live = settings_of(apiserver.kubeconfig())
    made = await suggest_profile(live, [space], None, generalise=False)
    privileges = {line.privilege: line for line in made.lines}
    assert (made.examined, made.profile["metadata"]["name"]) == (3, space)
    assert [place.object for place in privileges["host/pid"].places] == [f"Pod {space}/p1"]
    assert "scheduling/node-name" not in privileges, "the scheduler sets it too"
    await client.create(made.profile)
    await wait_for(lambda: _covers(live, space, space), 60)
    checked = await check_profile(live, named, space)
    assert {each.workload: each.verdict.value for each in checked} == {
        f"Pod {space}/p{number}": "deny" for number in range(3)
    }


async def _covers(live: Settings, name: str, space: str) -> bool:
    checked = await check_profile(live, name, space)
    return all(each.verdict.value == "allow" for each in checked)
