"""Asks kube-apiserver whether it reaches a gate, by the way that every review takes.

A webhook of its own, `probe.sallyport.dev`, is asked about one ConfigMap that never is: control
tries to create it, as a dry run, and the gate refuses it with words that nobody else says. So name,
CA, certificate, NetworkPolicies and the gate's port are tried, and nobody's Pod depends on it.
"""

from http import HTTPStatus
from typing import Final

from core.base import names
from core.base.errors import ClusterError
from kube.client.objects import Objects

NAME: Final = "sallyport-webhook-probe"
_REFUSED: Final = f'"{names.PROBE_WEBHOOK}" denied the request: {names.PROBE_ANSWER}'
_CALL: Final = f'failed calling webhook "{names.PROBE_WEBHOOK}": '


async def ask(objects: Objects, namespace: str) -> str:
    """Return why kube-apiserver reaches no gate; empty where it does.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses for another reason.
    """
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}}
    try:
        await objects.try_create(f"/api/v1/namespaces/{namespace}/configmaps", body)
    except ClusterError as error:
        text = str(error)
        if error.status == HTTPStatus.FORBIDDEN and _REFUSED in text:
            return ""
        if _CALL in text:
            return f"kube-apiserver does not reach a gate: {text.partition(_CALL)[2]}"
        raise
    return f"kube-apiserver does not ask {names.PROBE_WEBHOOK}: it is not registered, or just was"
