"""kube-apiserver says which gate's Pod a token is bound to."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from audit.clients.gate_tokens import MOST_REMEMBERED, REFUSED_S, REMEMBERED_S, GateTokens
from audit.ledger.server.instances import AUDIENCE, NotProvedError
from core.base.errors import LedgerError
from core.people.subject import Subject
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.worlds import rbac
from tests.harness.worlds.pods import RESTRICTED

PLACE = "gates"
ACCOUNT = f"{PLACE}/sallyport-gate"


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        """Return seconds."""
        return self.now


@pytest.fixture
async def place(client: Client) -> AsyncIterator[Client]:
    """A namespace with two gates' Pods, and a Pod of another account."""
    status, _ = await client.request("GET", f"/api/v1/namespaces/{PLACE}")
    if status != 200:
        await client.create_namespace(PLACE)
        for account in ("sallyport-gate", "other"):
            await client.create_service_account(account, PLACE)
    for name, account in (
        ("gate-0", "sallyport-gate"),
        ("gate-1", "sallyport-gate"),
        ("o", "other"),
    ):
        pod = RESTRICTED.pod()
        pod["metadata"] = {"name": name, "namespace": PLACE}
        pod["spec"]["serviceAccountName"] = account
        await client.create(pod)
    yield client
    for name in ("gate-0", "gate-1", "o"):
        await client.request(
            "DELETE",
            f"/api/v1/namespaces/{PLACE}/pods/{name}",
            parameters={"gracePeriodSeconds": "0"},
        )


async def token_of(
    client: Client, pod: str, account: str = "sallyport-gate", audience: str = AUDIENCE
) -> str:
    """Return a token as kubelet asks for it: bound to a Pod; without one, to none."""
    return await client.create_token(account, PLACE, pod, audience)


async def test_a_token_proves_the_pod_that_it_is_bound_to(
    place: Client, apiserver: ApiServer
) -> None:
    """Each gate's its own, until the Pod is gone; what is known is remembered for a minute."""
    clock = Clock()
    reviews = GateTokens(apiserver.kubeconfig(), ACCOUNT, clock)
    try:
        first, second = await token_of(place, "gate-0"), await token_of(place, "gate-1")
        assert await reviews.prove(first) == "gate-0"
        assert await reviews.prove(second) == "gate-1"
        path = f"/api/v1/namespaces/{PLACE}/pods/gate-0"
        await place.request("DELETE", path, parameters={"gracePeriodSeconds": "0"})
        assert await reviews.prove(first) == "gate-0"
        assert "or it is over" in await refusal(reviews, first, clock)
        assert await reviews.prove(second) == "gate-1"
    finally:
        await reviews.close()


async def refusal(reviews: GateTokens, token: str, clock: Clock) -> str:
    """Return why a token proves nothing, once kube-apiserver forgets it, after ten seconds."""
    async with asyncio.timeout(60):
        while True:
            clock.now += REMEMBERED_S
            try:
                await reviews.prove(token)
            except NotProvedError as error:
                return str(error)
            await asyncio.sleep(0.5)


async def test_other_tokens_prove_nothing(place: Client, apiserver: ApiServer) -> None:
    """Of no Pod, of another account, for another audience, of nobody."""
    wrong = {
        await token_of(place, ""): "bound to no Pod",
        await token_of(place, "o", "other"): "not of the service account",
        await token_of(place, "gate-0", audience="https://kubernetes.default.svc"): "does not know",
        "none": "does not know",
        "x" * 9000: "longer than any token",
    }
    reviews = GateTokens(apiserver.kubeconfig(), ACCOUNT)
    try:
        for token, says in wrong.items():
            with pytest.raises(NotProvedError, match=says) as caught:
                await reviews.prove(token)
            assert token[:40] == "none" or token[:40] not in str(caught.value)
    finally:
        await reviews.close()


class CountingTokens(GateTokens):
    """Counts how often kube-apiserver is asked."""

    asked = 0

    async def _review(self, token: str) -> Subject | None:
        self.asked += 1
        return await super()._review(token)


async def test_a_refused_token_is_asked_about_once_in_a_while(
    place: Client, apiserver: ApiServer
) -> None:
    """A holder of the shipping certificate alone makes no TokenReview of each request."""
    clock = Clock()
    reviews = CountingTokens(apiserver.kubeconfig(), ACCOUNT, clock)
    good = await token_of(place, "gate-1")
    try:
        for _ in range(50):
            with pytest.raises(NotProvedError, match="does not know"):
                await reviews.prove("none")
        assert reviews.asked == 1
        clock.now += REFUSED_S
        with pytest.raises(NotProvedError, match="does not know"):
            await reviews.prove("none")
        assert reviews.asked == 2
        assert await reviews.prove(good) == "gate-1"
        for number in range(MOST_REMEMBERED):
            reviews._refused[number.to_bytes(32)] = ("", 0.0)  # noqa: SLF001 -- thousands take long
        with pytest.raises(NotProvedError, match="does not know"):
            await reviews.prove("other")
        assert len(reviews._refused) == MOST_REMEMBERED  # noqa: SLF001
        assert await reviews.prove(good) == "gate-1"
        assert reviews.asked == 4
    finally:
        await reviews.close()


async def test_who_may_not_ask_is_told(place: Client, apiserver: ApiServer) -> None:
    """An error, never a denial: the gate tries again. The one right that it needs is `create`."""
    config = apiserver.kubeconfig_for_token("auditor", await place.create_token("other", PLACE))
    token = await token_of(place, "gate-1")
    reviews = GateTokens(config, ACCOUNT)
    try:
        with pytest.raises(LedgerError, match="did not say whose a token is"):
            await reviews.prove(token)
        rule = rbac.rule(["authentication.k8s.io"], "tokenreviews", "create")
        subject = rbac.service_account("other", PLACE)
        await place.apply(rbac.grant("asks-whose-tokens", rule, subject))
        await place.with_token(await place.create_token("other", PLACE)).wait_until_can(
            "create", {"group": "authentication.k8s.io", "resource": "tokenreviews"}
        )
        assert await reviews.prove(token) == "gate-1"
    finally:
        await reviews.close()
