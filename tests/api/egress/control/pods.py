"""Pods, as a cluster without nodes and controllers can have them."""

from tests.harness.programs.client import Client, Json


def pod(namespace: str, name: str, **labels: str) -> Json:
    """Return a Pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "containers": [{"name": "a", "image": "a"}],
            "terminationGracePeriodSeconds": 0,
        },
    }


async def running(client: Client, made: Json, address: str) -> Json:
    """Make a Pod that runs, with an address; a Pod that does not is no budget's."""
    made = await client.create(made)
    metadata = made["metadata"]
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    await client.request(
        "PATCH",
        f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status",
        {"status": status},
        content_type="application/merge-patch+json",
    )
    return made


async def has_pod(client: Client, namespace: str, name: str) -> bool:
    """Return whether a Pod is there, and not on its way out."""
    status, found = await client.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
    return status == 200 and "deletionTimestamp" not in found["metadata"]
