"""A Pod runs in an enrolled namespace once it is closed, and not a moment earlier."""

import asyncio

import pytest

from app.cluster.default_deny import default_deny_of
from app.settings.egress import EgressSection
from egress.render.target import EngineKind
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from tests.api.egress.gate.conftest import enrol, floor, pod, soon
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.guarded_apiserver import Installation

DENY = "sallyport-default-deny"


async def test_only_who_may_exempt_enrols(person: Client, free: str, closed: str) -> None:
    """Neither in, nor out, nor by making a namespace that is enrolled."""
    for name, word in ((free, "deny"), (closed, "open"), (closed, None)):
        item = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        with pytest.raises(ApiStatusError, match="exempt"):
            await person.patch(item, {"metadata": {"labels": {"sallyport.dev/egress": word}}})


async def test_a_pod_waits_for_the_default_deny(
    admin: Client, person: Client, control: Client
) -> None:
    """Refused with the hint to try again; admitted at once when the policy is there."""
    namespace = await enrol(admin)
    for client in (person, admin):
        with pytest.raises(ApiStatusError, match="try again") as raised:
            await client.create(pod(namespace))
        assert raised.value.status == 403
        assert "egress/default-deny" in str(raised.value)
    await control.apply(floor(namespace))
    await soon(lambda: person.create(pod(namespace)))


async def test_namespace_and_pod_in_one_go(admin: Client, control: Client) -> None:
    """Control needs a moment after the namespace: the Pod's review waits for it."""
    waits: list[bool] = []
    while not any(waits):
        assert len(waits) < 10, "no review waited"  # On a busy machine, one may wait in vain.
        namespace = await enrol(admin)
        asked = asyncio.create_task(admin.create(pod(namespace)))
        await asyncio.sleep(0.1)
        await control.apply(floor(namespace))
        (answer,) = await asyncio.gather(asked, return_exceptions=True)
        assert not isinstance(answer, BaseException) or "try again" in str(answer)
        waits.append(not isinstance(answer, BaseException))


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"egress": [{}]}},
        {"spec": {"podSelector": {"matchLabels": {"app": "x"}}}},
        {"spec": {"policyTypes": ["Ingress"]}},
        {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}},
        None,
    ],
)
async def test_one_that_is_not_as_it_is_made_does_not_count(
    admin: Client, person: Client, control: Client, closed: str, change: Json | None
) -> None:
    """However it came about: it is compared whole, and missed at once."""
    await soon(lambda: person.create(pod(closed, "before")))
    deny = next(each for each in floor(closed) if each["metadata"]["name"] == DENY)
    if change is not None:
        await control.patch(deny, change)
    else:
        await control.delete(deny)

    async def refused() -> None:
        status, answer = await person.request(
            "POST", f"/api/v1/namespaces/{closed}/pods", pod(closed, "after")
        )
        if status == 201:
            await person.delete(pod(closed, "after"))
            raise ApiStatusError("POST", "pods", status, "was admitted")
        assert "egress/default-deny" in answer["message"]

    await soon(refused)
    if change is not None:
        await control.delete(deny)
    await control.apply([deny])
    await soon(lambda: person.create(pod(closed, "again")))


async def test_control_is_no_exception_for_pods(admin: Client, control: Client) -> None:
    """Who asks makes no difference to whether a namespace is closed."""
    namespace = await enrol(admin)
    with pytest.raises(ApiStatusError, match="egress/default-deny"):
        await control.create(pod(namespace))


@pytest.mark.parametrize("engine", ["networkpolicy", "cilium", "cilium-aks", "cilium-aks-basic"])
async def test_each_engine_closes_by_its_own_kind(
    installation: Installation, admin: Client, control: Client, engine: EngineKind
) -> None:
    """What is stored is what is rendered, and the gate's account may see it."""
    namespace = await enrol(admin)
    deny = default_deny_of(EgressSection(engine=engine))
    settings = LiveSettings(default_deny=deny, namespace_wait_s=10.0)
    cluster = LiveCluster(installation.kubeconfig, settings)
    await cluster.start()
    try:
        await cluster.wait(60)
        closed = asyncio.create_task(cluster.is_egress_closed(namespace))
        await control.apply(floor(namespace, engine))
        assert await closed
    finally:
        await cluster.stop()
