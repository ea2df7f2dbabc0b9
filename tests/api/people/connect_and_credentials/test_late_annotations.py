"""Annotations that reach a Pod after it was made: with a Binding, or with its status.

Kubernetes takes both without asking for an update of the Pod.
"""

from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest

from tests.api.objects.pods import pod
from tests.api.people.connect_and_credentials.requests import NAMESPACE, Visitors, Way, ask
from tests.harness.programs.client import Client, Json

STEERING = {"dev.gvisor.flag.debug": "true"}
NOTES = ({"sallyport.dev/requester": "oid:ann"}, {"sallyport.dev/profile": "pss-privileged"})
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


def bind(name: str, annotations: Json, *, legacy: bool = False) -> Way:
    """Return a binding that brings annotations."""
    body: Json = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "gpu-7"},
    }
    where = "bindings" if legacy else f"pods/{name}/binding"
    return Way("binding", f"/api/v1/namespaces/{NAMESPACE}/{where}", body=body)


async def report(client: Client, name: str, annotations: Json) -> tuple[int, str]:
    """Change a Pod's annotations along with its status."""
    status, answer = await client.request(
        "PATCH",
        f"{PODS}/{name}/status",
        {"metadata": {"annotations": annotations}},
        content_type="application/merge-patch+json",
    )
    return status, str(answer.get("message", ""))


@pytest.fixture
async def waiting(visitors: Visitors, admin: Client) -> AsyncIterator[str]:
    """A Pod without a node, which `restricted` covers."""
    made = pod("late", NAMESPACE)
    await visitors.using("restricted").create(made)
    yield "late"
    await admin.request("DELETE", f"{PODS}/late", {"gracePeriodSeconds": 0})


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("annotations", [STEERING, *NOTES])
async def test_a_binding_brings_no_annotation_that_is_judged(
    visitors: Visitors, waiting: str, annotations: Json, *, legacy: bool
) -> None:
    """Whoever may bind sets neither what steers the runtime, nor who asked."""
    asked = await ask(visitors.using("binder"), bind(waiting, annotations, legacy=legacy))
    assert asked.refused, asked
    assert next(iter(annotations)) in asked.message


async def test_a_scheduler_of_ones_own_still_binds(visitors: Visitors, waiting: str) -> None:
    """With annotations that nobody judges."""
    asked = await ask(visitors.using("binder"), bind(waiting, {"scheduler.example.com/gpu": "3"}))
    assert asked.status == HTTPStatus.CREATED, asked


@pytest.mark.parametrize("annotations", [STEERING, *NOTES])
async def test_a_status_brings_no_annotation_that_is_judged(
    visitors: Visitors, waiting: str, annotations: Json
) -> None:
    """Also from whoever may use every profile but the named one, and from a node's name."""
    for client in (visitors.using("restricted"), visitors.component("system:node:gpu-7")):
        status, message = await report(client, waiting, annotations)
        assert status == HTTPStatus.FORBIDDEN, message
        assert "validate.sallyport.dev" in message


async def test_a_network_plugins_annotations_are_left_alone(
    visitors: Visitors, waiting: str
) -> None:
    """They come with each Pod's status; the gate is not even asked."""
    annotations = {"cni.projectcalico.org/podIP": "10.0.0.7/32"}
    status, message = await report(visitors.nobody(), waiting, annotations)
    assert status == HTTPStatus.OK, message
