"""Asks kube-apiserver to evict a Pod (the Eviction subresource of policy/v1)."""

from http import HTTPStatus
from typing import Any

from core.base.errors import ClusterError
from kube.client.objects import Objects
from kube.resources.live_pods import LivePod


async def evict(objects: Objects, namespace: str, pod: LivePod) -> str:
    """Ask for one; say why it stays, empty where it does not.

    Raises:
        ClusterError: kube-apiserver does not answer.
    """
    path = f"/api/v1/namespaces/{namespace}/pods/{pod.name}/eviction"
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": namespace},
        "deleteOptions": {"preconditions": {"uid": pod.uid}},
    }
    try:
        await objects.create(path, body)
    except ClusterError as error:
        if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
            return ""
        if error.status == HTTPStatus.TOO_MANY_REQUESTS:
            return "a PodDisruptionBudget keeps it"
        if not error.status:
            raise
        return str(error)
    return ""
