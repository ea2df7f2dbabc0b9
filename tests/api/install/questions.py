"""What the tests of installing ask kube-apiserver."""

from typing import Final

from tests.api.install.conftest import TEAM
from tests.harness.programs.client import Client, Json
from tests.harness.programs.helm import NAMESPACE

ROOT: Final = "/apis/admissionregistration.k8s.io/v1"
REGISTRATIONS: Final = tuple(
    f"{ROOT}/{kind}/{name}"
    for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
    for name in ("sallyport", "sallyport-discovered")
)
GATE: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/sallyport-gate"
MERGE: Final = "application/merge-patch+json"


def pod(name: str, namespace: str) -> Json:
    """Return a Pod that the gate would admit."""
    container = {"name": "c", "image": "registry.example/c"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container]},
    }


async def created(client: Client, namespace: str = TEAM) -> tuple[int, str]:
    """Create a Pod in a dry run; give the status, and what was said."""
    status, answer = await client.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/pods",
        pod("asked", namespace),
        parameters={"dryRun": "All"},
    )
    return status, answer.get("message", "")


async def registrations(client: Client) -> list[int]:
    """Return the status of each registration."""
    return [(await client.request("GET", path))[0] for path in REGISTRATIONS]


async def be_ready(client: Client, gates: int) -> None:
    """Say, as a controller would, how many gates are ready."""
    status, answer = await client.request(
        "PATCH",
        f"{GATE}/status",
        {"status": {"replicas": 2, "readyReplicas": gates, "availableReplicas": gates}},
        content_type=MERGE,
    )
    assert status == 200, answer
