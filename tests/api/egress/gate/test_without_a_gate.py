"""While no gate answers, what is closed stays closed, and what must go on goes on."""

import base64
from collections.abc import AsyncIterator

import pytest

from tests.api.egress.gate.conftest import enrol, floor, soon, until
from tests.harness.evidence import ROOT
from tests.harness.programs.client import ApiStatusError, Client, Json, read_objects
from tests.harness.programs.guarded_apiserver import Installation

NOBODY = "https://127.0.0.1:9"
"""Nothing listens there."""
REFUSED = r"failed calling webhook|rule egress/"
"""The folder's own gate is asked at the same time, and may be quicker."""


@pytest.fixture
async def unanswered(installation: Installation, admin: Client) -> AsyncIterator[str]:
    """An enrolled namespace for whose policies a gate is asked that does not answer."""
    namespace = await enrol(admin)
    item, _ = read_objects(ROOT / "deploy/webhooks.yaml")
    (webhook,) = (each for each in item["webhooks"] if each["name"] == "policies.sallyport.dev")
    bundle = base64.b64encode(installation.apiserver.authority.pem).decode()
    webhook["clientConfig"] = {"url": f"{NOBODY}/validate", "caBundle": bundle}
    name = "kubernetes.io/metadata.name"
    webhook["namespaceSelector"] = {"matchLabels": {name: namespace}}
    item["metadata"] = {"name": namespace}
    item["webhooks"] = [webhook]
    await admin.apply([item])
    opening = policy(namespace, egress=[{}])

    async def is_asked() -> bool | None:
        status, answer = await admin.request(
            "POST", path(namespace), opening, parameters={"dryRun": "All"}
        )
        return True if status == 500 and "failed calling webhook" in answer["message"] else None

    try:
        await until(is_asked)
        yield namespace
    finally:
        await admin.delete(item)


def path(namespace: str) -> str:
    """Return where a namespace's policies are."""
    return f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies"


def policy(namespace: str, **spec: object) -> Json:
    """Return a NetworkPolicy."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "own", "namespace": namespace},
        "spec": {"podSelector": {}, **spec},
    }


async def test_control_goes_on(person: Client, control: Client, unanswered: str) -> None:
    """It closes, opens and takes away; what it made is nobody else's meanwhile."""
    made = floor(unanswered)
    await control.apply(made)
    for each in made:
        with pytest.raises(ApiStatusError, match=REFUSED):
            await person.delete(each)
        await control.delete(each)


async def test_what_is_about_ingress_goes_on(person: Client, unanswered: str) -> None:
    """It can be written, changed and deleted; what opens something cannot."""
    own = policy(unanswered, ingress=[{}])
    await soon(lambda: person.create(own))
    await person.patch(own, {"spec": {"ingress": []}})
    with pytest.raises(ApiStatusError, match=REFUSED):
        await person.patch(own, {"spec": {"egress": [{}]}})
    await person.delete(own)


async def test_a_namespace_goes(admin: Client, control: Client, unanswered: str) -> None:
    """With the policies in it."""
    await control.apply(floor(unanswered))
    where = f"/api/v1/namespaces/{unanswered}"
    assert (await admin.request("DELETE", where))[0] == 200

    async def gone() -> bool | None:
        return True if (await admin.request("GET", where))[0] == 404 else None

    assert await until(gone)
