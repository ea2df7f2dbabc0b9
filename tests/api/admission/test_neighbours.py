"""Tenants who submit the most expensive objects hold up themselves, and not their neighbours."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import cycle
from typing import Final

import pytest

from tests.api.admission.objects import GOOD, allow_pods, new_namespace
from tests.harness.evidence import record
from tests.harness.programs.client import ApiStatusError, Client, Json, connect
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.rbac import grant, rule, user

TENANTS: Final = size(ci=3, proof=6)
AT_ONCE: Final = 6
"""Creates of each tenant."""
CREATES: Final = size(ci=20, proof=500)
"""Of the neighbour."""
JUDGED: Final = "sallyport.dev"
"""In the answers that the gate gave: the name of its webhooks."""
MOST_S: Final = 0.1
"""The neighbour's 99th of a hundred, on an otherwise idle machine."""

CONTAINER: Final[Json] = {
    "image": "a.example/i",
    "stdin": True,
    "securityContext": {
        "privileged": True,
        "runAsUser": 0,
        "capabilities": {"add": ["SYS_ADMIN", "NET_ADMIN"]},
    },
    "ports": [{"containerPort": 1, "hostPort": 1}],
}
"""It needs as much as one container may."""


def pod_spec(containers: int) -> Json:
    """Return a Pod's spec of so many containers."""
    return {"containers": [{"name": f"c{n}", **CONTAINER} for n in range(containers)]}


def deployment(namespace: str, containers: int) -> Json:
    """Return a Deployment whose Pods have so many containers."""
    labels = {"app": "a"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "large", "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(containers)},
        },
    }


def role(namespace: str, rules: int) -> Json:
    """Return a Role of so many rules, each of which gives everything."""
    every = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "large", "namespace": namespace},
        "rules": [every] * rules,
    }


def expensive_objects(namespace: str) -> list[Json]:
    """Return objects that take long to judge, and some that are refused for it."""
    variables = [{"name": f"A{n}_VISIBLE_DEVICES", "value": "x"} for n in range(3_900)]
    env = deployment(namespace, 1)
    env["spec"]["template"]["spec"]["containers"][0]["env"] = variables
    noted = deployment(namespace, 128)
    noted["metadata"]["annotations"] = {f"a{n}": "" for n in range(9_000)}
    return [
        deployment(namespace, 128),
        role(namespace, 250),
        deployment(namespace, 1024),
        env,
        noted,
        deployment(namespace, 40),
    ]


async def keep_submitting(client: Client, namespace: str, answers: Counter[str]) -> None:
    """Submit expensive objects until cancelled; count what the gate says of them."""
    for item in cycle(expensive_objects(namespace)):
        try:
            await client.dry_run(item)
        except ApiStatusError as error:
            answers["judged" if JUDGED in error.message else error.message[:200]] += 1
        else:
            answers["judged"] += 1


@asynccontextmanager
async def hostile_tenants(installation: Installation, admin: Client) -> AsyncIterator[Counter[str]]:
    """Have tenants submit without pause, each over connections of its own; count the answers."""
    answers = Counter[str]()
    rights = rule(["apps", "rbac.authorization.k8s.io"], "deployments roles", "create get")
    async with AsyncExitStack() as stack:
        working = []
        for n in range(TENANTS):
            namespace, name = await new_namespace(admin), f"tenant-{n}@example.com"
            await admin.apply(grant("large", rights, user(name), namespace=namespace))
            client = (await stack.enter_async_context(connect(installation.apiserver))).as_user(
                name
            )
            attributes = {"resource": "roles", "group": "rbac.authorization.k8s.io"}
            await client.wait_until_can("create", attributes | {"namespace": namespace})
            working += [
                asyncio.create_task(keep_submitting(client, namespace, answers))
                for _ in range(AT_ONCE)
            ]
        try:
            yield answers
        finally:
            for task in working:
                task.cancel()
            for task in working:
                with suppress(asyncio.CancelledError):
                    await task


async def seconds_of(submit: Callable[[], Awaitable[object]], times: int) -> list[float]:
    """Return how long each of some submissions takes, the shortest first."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        await submit()
        taken.append(time.perf_counter() - start)
        await asyncio.sleep(0.01)
    return sorted(taken)


@pytest.mark.proof
async def test_a_neighbour_is_admitted_in_time(installation: Installation, admin: Client) -> None:
    """An ordinary Pod's create goes on while others submit what takes long."""
    namespace, name = await new_namespace(admin), "neighbour@example.com"
    await allow_pods(admin, namespace, name)
    async with connect(installation.apiserver) as session:
        neighbour = session.as_user(name)

        async def submit() -> None:
            answer = await neighbour.dry_run_create(GOOD(), namespace)
            assert not answer.message, answer.message

        alone = await seconds_of(submit, CREATES)
        async with hostile_tenants(installation, admin) as answers:
            async with asyncio.timeout(60):
                while answers["judged"] < TENANTS * AT_ONCE:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            before = answers["judged"]
            beside = await seconds_of(submit, CREATES)
    assert answers["judged"] > before + TENANTS, answers
    last = int(CREATES * 0.99) - 1
    if PROOF:
        record(
            "neighbours",
            [
                f"- A neighbour's create through a real kube-apiserver: median "
                f"{alone[CREATES // 2] * 1000:.0f} ms alone, {beside[CREATES // 2] * 1000:.0f} ms "
                f"beside {TENANTS} tenants with {AT_ONCE} of the most expensive creates at a time",
                f"- 99th of a hundred: {alone[last] * 1000:.0f} ms alone, "
                f"{beside[last] * 1000:.0f} ms beside them",
            ],
        )
        assert beside[last] < MOST_S, f"{beside[last] * 1000:.0f} ms"
    assert beside[CREATES // 2] < 1, f"{beside[CREATES // 2] * 1000:.0f} ms"
