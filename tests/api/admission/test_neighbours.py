"""Tenants who submit the most expensive objects hold up themselves, and not their neighbours."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import pytest

from tests.api.admission.objects import GOOD, allow_pods, new_namespace
from tests.harness.evidence import record
from tests.harness.load.expensive_objects import longest_to_judge, refused_for_size
from tests.harness.load.reviews import pod_review, post
from tests.harness.load.tenants import JUDGED, Tenant, tenants_creating
from tests.harness.programs.client import Client, Json, connect
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.programs.webhooks import unregistered
from tests.harness.sizes import PROOF, size
from tests.harness.worlds.rbac import grant, rule, user

TENANTS: Final = size(ci=3, proof=6)
AT_ONCE: Final = 6
"""Creates of each tenant."""
CREATES: Final = size(ci=20, proof=500)
"""Of the neighbour."""
MOST_S: Final = 0.1
"""The neighbour's 99th of a hundred creates."""
MOST_OF_GATE_S: Final = 0.25
"""The 99th of a hundred of the gate's own answers to the neighbour, each over a new connection:
kube-apiserver reads megabytes for the tenants meanwhile, on the same cores."""


class Waits:
    """How long each of many answers took, in seconds."""

    def __init__(self, taken: list[float]) -> None:
        self._taken = sorted(taken)

    def at(self, share: float) -> float:
        """Return how long this share of them took at most."""
        return self._taken[int(len(self._taken) * share) - 1]

    def __str__(self) -> str:
        """Return the median and the 99th of a hundred, in milliseconds."""
        return f"median {self.at(0.5) * 1000:.0f} ms, 99th {self.at(0.99) * 1000:.0f} ms"


async def take_times(
    submit: Callable[[], Awaitable[object]], answers: Counter[str] | None = None
) -> Waits:
    """Submit many times, with a pause after each, and until the tenants have an answer more."""
    taken: list[float] = []
    before = answers[JUDGED] if answers else 0
    async with asyncio.timeout(300):
        while len(taken) < CREATES or (answers is not None and answers[JUDGED] == before):
            start = time.perf_counter()
            await submit()
            taken.append(time.perf_counter() - start)
            await asyncio.sleep(0.01)
    return Waits(taken)


@asynccontextmanager
async def hostile_tenants(
    installation: Installation, admin: Client, objects: Callable[[str], list[Json]]
) -> AsyncIterator[Counter[str]]:
    """Have tenants create these objects of their namespaces without pause; count the answers."""
    rights = rule(["apps", "rbac.authorization.k8s.io"], "deployments roles", "create get escalate")
    tenants = []
    for number in range(TENANTS):
        namespace, name = await new_namespace(admin), f"tenant-{number}@example.com"
        await admin.apply(grant("large", rights, user(name), namespace=namespace))
        attributes = {"resource": "roles", "group": "rbac.authorization.k8s.io"}
        await admin.as_user(name).wait_until_can("create", attributes | {"namespace": namespace})
        tenants.append(Tenant(name, objects(namespace)))
    async with tenants_creating(installation.apiserver, tenants, AT_ONCE) as answers:
        await until_answered(answers, TENANTS * AT_ONCE)
        yield answers


async def until_answered(answers: Counter[str], count: int) -> None:
    """Wait until the tenants have so many answers more."""
    before = answers.total()
    async with asyncio.timeout(60):
        while answers.total() < before + count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.proof
async def test_neighbour_is_admitted_while_tenants_create_what_takes_longest(
    installation: Installation, admin: Client
) -> None:
    """Objects within every bound, and each with as many privileges as it may need."""
    namespace, name = await new_namespace(admin), "neighbour@example.com"
    await allow_pods(admin, namespace, name)
    async with connect(installation.apiserver) as session:
        neighbour = session.as_user(name)

        async def create() -> None:
            answer = await neighbour.dry_run_create(GOOD(), namespace)
            assert not answer.message, answer.message

        alone = await take_times(create)
        async with hostile_tenants(installation, admin, longest_to_judge) as answers:
            beside = await take_times(create, answers)
            if PROOF:
                ca_pem = installation.apiserver.authority.pem
                async with unregistered(admin, installation.gate.url, ca_pem):
                    await until_answered(answers, TENANTS * AT_ONCE)
                    without = await take_times(create, answers)
    if PROOF:
        record(
            "neighbours",
            [
                f"- A neighbour's creates through a real kube-apiserver, alone: {alone}",
                f"- Beside {TENANTS} tenants with {AT_ONCE} of the most expensive creates at a "
                f"time: {beside}",
                f"- The same where kube-apiserver asks no webhook: {without}",
                "- kube-apiserver, etcd, the gate and the tenants share the cores",
            ],
        )
        assert beside.at(0.99) < MOST_S, str(beside)
    assert beside.at(0.5) < 1, str(beside)


@pytest.mark.proof
async def test_gate_answers_neighbour_while_it_refuses_objects_for_their_size(
    installation: Installation, admin: Client
) -> None:
    """What kube-apiserver does with such objects is its own: the gate is asked past it."""
    namespace = await new_namespace(admin)
    url = f"{installation.gate.url}/validate?timeout=10s"
    ca_pem, shown = installation.apiserver.authority.pem, installation.apiserver.webhook_client
    body = pod_review(GOOD(), namespace, "neighbour@example.com")

    async def ask() -> None:
        _, review = await post(url, body, ca_pem, shown=shown)
        assert review["response"]["allowed"], review

    alone = await take_times(ask)
    async with hostile_tenants(installation, admin, refused_for_size) as answers:
        beside = await take_times(ask, answers)
    if PROOF:
        record(
            "neighbours-gate",
            [
                f"- The gate's answers to a neighbour, alone: {alone}",
                f"- Beside {TENANTS} tenants with {AT_ONCE} creates at a time that it refuses for "
                f"their size: {beside}",
            ],
        )
        assert beside.at(0.99) < MOST_OF_GATE_S, str(beside)
    assert beside.at(0.5) < 1, str(beside)
