"""Who is at risk is refused, warned, or contained by a real kube-apiserver, and let in again."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

import pytest

from core.risk.model import RiskLevel
from tests.api.people.risk.conftest import (
    ANN,
    CLIENT,
    CLOSED,
    EVENT,
    NAMESPACE,
    Risks,
    deployment,
    pod,
)
from tests.harness.programs.client import Answer, Client, Json, Outcome

SOON_S: Final = 60.0
_POLL_S: Final = 0.1


async def until(ask: Callable[[], Awaitable[Answer]], wanted: Callable[[Answer], bool]) -> Answer:
    """Return the first answer that is wanted.

    Raises:
        TimeoutError: none was within SOON_S; with the last.
    """
    deadline = time.monotonic() + SOON_S
    while not wanted(found := await ask()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"still {found.outcome}: {found.message or found.body}")
        await asyncio.sleep(_POLL_S)
    return found


async def refused(client: Client, item: Json) -> str:
    """Return the gate's words to who may not create an object."""
    found = await until(lambda: client.dry_run(item), lambda a: a.outcome is Outcome.DENIED)
    return found.message


async def admitted(client: Client, item: Json) -> Json:
    """Return an object as it would be stored."""
    found = await until(lambda: client.dry_run(item), lambda a: a.outcome is Outcome.ALLOWED)
    return found.body


async def enter(client: Client, name: str = "running") -> Answer:
    """Ask to enter a Pod; what the gate lets in fails later, without a node."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/exec"
    status, answer = await client.request("POST", path, parameters={"command": "id"})
    message = str(answer.get("message", answer))
    denied = status == HTTPStatus.FORBIDDEN and "admission webhook" in message
    return Answer(Outcome.DENIED if denied else Outcome.ALLOWED, message, answer)


USE = {"azure.workload.identity/use": "true"}
APPROVAL: Json = {
    "apiVersion": "sallyport.dev/v1alpha1",
    "kind": "Approval",
    "metadata": {"name": "yes", "namespace": NAMESPACE},
    "spec": {
        "for": {"kind": "PolicyException", "name": "none"},
        "expiresAt": "2099-01-01T00:00:00Z",
    },
}


def signing_in(**spec: Any) -> Json:
    """Return a Pod of the account that signs in as CLIENT."""
    made = pod("robot", serviceAccountName="robot", **spec)
    made["metadata"]["labels"] = USE
    return made


async def test_nobody_at_risk_does_as_before(risks: Risks, ann: Client) -> None:
    """And nothing is said of it."""
    del risks
    ann.warnings.clear()
    await admitted(ann, pod("plain"))
    found = await until(lambda: enter(ann), lambda a: a.outcome is Outcome.ALLOWED)
    assert "host" in found.message
    assert ann.warnings == []


async def test_who_is_at_high_risk_creates_and_enters_nothing(
    risks: Risks, ann: Client, ben: Client
) -> None:
    """In words that say what to do; others are not concerned, and she is let in again."""
    await risks.put(ANN)
    words = await refused(ann, pod("plain"))
    assert "Your account is at risk (level high" in words
    assert "https://mysignins.microsoft.com" in words
    assert EVENT in words
    assert "ann@example.com" not in words
    assert (await enter(ann)).outcome is Outcome.DENIED
    assert (await ben.dry_run(pod("plain"))).outcome is Outcome.ALLOWED
    assert (await enter(ben)).outcome is Outcome.ALLOWED
    await risks.put()
    await admitted(ann, pod("plain"))
    assert (await enter(ann)).outcome is Outcome.ALLOWED


async def test_requester_at_low_risk_is_warned(risks: Risks, ann: Client) -> None:
    """As kubectl prints it."""
    await risks.put(ANN, level=RiskLevel.LOW)

    async def warned() -> Any:
        ann.warnings.clear()
        return await ann.dry_run(pod("plain"))

    found = await until(warned, lambda _: bool(ann.warnings))
    assert found.outcome is Outcome.ALLOWED
    assert "your account is at risk (level low" in ann.warnings[0]


async def test_who_is_at_medium_risk_runs_in_a_sandbox(risks: Risks, ann: Client) -> None:
    """The class is set where nobody else asks for one; what it cannot run is refused."""
    await risks.put(ANN, level=RiskLevel.MEDIUM)
    found = await until(
        lambda: ann.dry_run(pod("contained")),
        lambda a: a.body.get("spec", {}).get("runtimeClassName") == "gvisor",
    )
    assert found.outcome is Outcome.ALLOWED
    template = (await admitted(ann, deployment("contained")))["spec"]["template"]
    assert template["spec"]["runtimeClassName"] == "gvisor"
    options = {"seLinuxOptions": {"level": "s0:c1"}}
    words = await refused(ann, pod("apart", securityContext=options))
    assert "cannot run under the RuntimeClass gvisor" in words
    assert (await enter(ann)).outcome is Outcome.DENIED


async def test_pods_of_a_workload_whose_author_came_to_be_at_risk(
    risks: Risks, ann: Client, admin: Client
) -> None:
    """Its next Pod runs in a sandbox: the ReplicaSet has the template of before the risk."""
    made = await ann.create(deployment("lasting"))
    try:
        first = await _pods_of(admin, "lasting", 1)
        assert "runtimeClassName" not in first[0]["spec"]
        await risks.put(ANN, level=RiskLevel.MEDIUM)
        await until(lambda: enter(ann), lambda a: a.outcome is Outcome.DENIED)
        await admin.patch(made, {"spec": {"replicas": 2}})
        both = await _pods_of(admin, "lasting", 2)
        classes = sorted(each["spec"].get("runtimeClassName", "") for each in both)
        assert classes == ["", "gvisor"]
    finally:
        await admin.delete(made)


async def _pods_of(admin: Client, app: str, count: int) -> list[Json]:
    """Return a workload's Pods once there are so many."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    deadline = time.monotonic() + 2 * SOON_S
    while True:
        _, found = await admin.request("GET", path, parameters={"labelSelector": f"app={app}"})
        items: list[Json] = found["items"]
        if len(items) >= count:
            return items
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(items)} Pods of {app}, not {count}")
        await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (signing_in(), "spec.serviceAccountName"),
        (
            pod(
                "own",
                containers=[
                    {
                        "name": "main",
                        "image": "registry.example/train:1",
                        "env": [{"name": "AZURE_CLIENT_ID", "value": CLIENT}],
                    }
                ],
            ),
            "spec.containers[0].env[0].value",
        ),
        (
            pod(
                "token",
                serviceAccountName="robot",
                volumes=[
                    {
                        "name": "mine",
                        "projected": {
                            "sources": [
                                {
                                    "serviceAccountToken": {
                                        "audience": "api://AzureADTokenExchange",
                                        "path": "t",
                                    }
                                }
                            ]
                        },
                    }
                ],
            ),
            "spec.serviceAccountName",
        ),
    ],
    ids=["service account", "own client id", "own token"],
)
async def test_what_a_pod_signs_in_as_counts(
    risks: Risks, ben: Client, made: Json, field: str
) -> None:
    """However it comes by it, and whoever submits it."""
    await risks.put(client=True)
    words = await refused(ben, made)
    assert f"{field}: what it signs in as is at risk (level high" in words
    await risks.put()
    await admitted(ben, made)


async def test_a_token_for_entra_counts_as_its_account(risks: Risks, ben: Client) -> None:
    """Whoever makes one signs in with it elsewhere."""
    await risks.put(client=True)
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/robot/token"
    body: Json = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": ["api://AzureADTokenExchange"]},
    }
    await refused(ben, signing_in())
    status, answer = await ben.request("POST", path, body)
    assert status == 403
    assert "what it signs in as is at risk" in answer["message"]


async def test_approval_of_a_requester_at_risk_is_refused(risks: Risks, ann: Client) -> None:
    """At whatever level; the words name the risk beside what else is wrong with it."""
    await risks.put(ANN, level=RiskLevel.LOW)
    found = await until(lambda: ann.dry_run(APPROVAL), lambda a: "rule identity/risk" in a.message)
    assert found.outcome is Outcome.DENIED


async def test_what_is_not_known_is_the_namespaces_choice(
    risks: Risks, ann: Client, admin: Client
) -> None:
    """Nothing is known of anybody: a denial where the label says so, and no error."""
    await risks.known(as_of=None)
    words = await refused(ann, pod("plain", CLOSED))
    assert "rule identity/stale" in words
    assert "This is an error" not in words
    assert (await ann.dry_run(pod("plain"))).outcome is Outcome.ALLOWED
    assert (await admin.dry_run(pod("plain", CLOSED))).outcome is Outcome.ALLOWED


async def test_stale_data_clears_nobody(risks: Risks, ann: Client) -> None:
    """Who was at risk when Entra was last heard of is refused."""
    await risks.put(ANN)
    await risks.known(as_of=time.time() - 7200)
    assert "Your account is at risk" in await refused(ann, pod("plain"))
