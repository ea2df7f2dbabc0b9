"""The CA bundle in the webhook configurations of a real cluster."""

import base64
import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.base.errors import ClusterError
from kube.client.objects import Objects
from tests.api.control.certificates.secrets import FOREVER, certificates, read, require_sound
from tests.harness.programs.client import Client

KINDS = "ValidatingWebhookConfiguration MutatingWebhookConfiguration".split()


def webhook(name: str) -> dict[str, Any]:
    """Return a webhook that matches nothing here."""
    return {
        "name": f"{name}.sallyport.dev",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 7,
        "clientConfig": {"service": {"namespace": "none", "name": "none", "path": "/x"}},
        "rules": [
            {
                "apiGroups": ["nothing.example"],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["nothings"],
            }
        ],
    }


@pytest.fixture
async def configurations(client: Client) -> AsyncIterator[list[dict[str, Any]]]:
    """Both webhook configurations, with two webhooks each."""
    made = [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "sallyport", "annotations": {"theirs": "stays"}},
            "webhooks": [webhook("one"), webhook("two")],
        }
        for kind in KINDS
    ]
    for each in made:
        await client.request("DELETE", configuration_path(each))
        await client.create(each)
    yield made
    for each in made:
        await client.delete(each)


def configuration_path(configuration: dict[str, Any]) -> str:
    """Return a webhook configuration's path."""
    plural = configuration["kind"].lower() + "s"
    return f"/apis/admissionregistration.k8s.io/v1/{plural}/sallyport"


def without_bundle(configuration: dict[str, Any]) -> dict[str, Any]:
    """Return what is none of control's business."""
    kept = copy.deepcopy(configuration)
    for each in ("resourceVersion", "managedFields", "generation"):
        del kept["metadata"][each]
    for each in kept["webhooks"]:
        each["clientConfig"].pop("caBundle", None)
    return kept


async def test_the_bundle_is_put_into_each_webhook_and_nothing_else_is_touched(
    client: Client, objects: Objects, namespace: str, configurations: list[dict[str, Any]]
) -> None:
    """And again when somebody takes it away, or puts another there."""
    loop = certificates(objects, namespace)
    for change in (None, "", base64.b64encode(b"-----BEGIN JUNK-----").decode()):
        for each in configurations:
            found = (await client.request("GET", configuration_path(each)))[1]
            if change is not None:
                found["webhooks"][1]["clientConfig"]["caBundle"] = change
                await client.request("PUT", configuration_path(each), found)
        before = [(await client.request("GET", configuration_path(x)))[1] for x in configurations]
        await loop.run(FOREVER)
        bundle = (await read(client, namespace, "sallyport-gate-tls"))["ca.crt"]
        for each, old in zip(configurations, before, strict=True):
            found = (await client.request("GET", configuration_path(each)))[1]
            assert without_bundle(found) == without_bundle(old)
            values = {one["clientConfig"]["caBundle"] for one in found["webhooks"]}
            assert values == {base64.b64encode(bundle).decode()}
            owned = [x for x in found["metadata"]["managedFields"] if "control" in x["manager"]]
            assert "f:caBundle" in str(owned)
            assert "f:rules" not in str(owned)
    before = [(await client.request("GET", configuration_path(x)))[1] for x in configurations]
    await loop.run(FOREVER)
    after = [(await client.request("GET", configuration_path(x)))[1] for x in configurations]
    assert after == before


async def test_a_configuration_that_changed_meanwhile_is_left_for_the_next_run(
    client: Client, objects: Objects, namespace: str, configurations: list[dict[str, Any]]
) -> None:
    """A conflict: the webhook that was second may be first by now."""

    class Slow(Objects):
        """Has somebody swap the webhooks right before the change."""

        async def change(self, path: str, version: str, operations: Any) -> dict[str, Any]:
            found = (await client.request("GET", path))[1]
            found["webhooks"].reverse()
            await client.request("PUT", path, found)
            return await super().change(path, version, operations)

    slow = Slow(objects._connection, 4.0)  # noqa: SLF001 -- the same connection
    with pytest.raises(ClusterError) as raised:
        await certificates(slow, namespace).run(FOREVER)
    assert raised.value.status == 409
    for each in configurations:
        found = (await client.request("GET", configuration_path(each)))[1]
        assert not any("caBundle" in one["clientConfig"] for one in found["webhooks"])


async def test_without_webhook_configurations_all_else_is_done(
    client: Client, objects: Objects, namespace: str
) -> None:
    """They may be applied later."""
    for kind in KINDS:
        await client.request("DELETE", configuration_path({"kind": kind}))
    await certificates(objects, namespace).run(FOREVER)
    await require_sound(client, namespace)
