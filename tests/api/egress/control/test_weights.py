"""What leads to model weights is told to the gate before it opens, and taken back after."""

import json
from functools import partial

import pytest

from core.base import names
from core.base.errors import ClusterError
from tests.api.egress.control.field import OWN, PATIENCE_S, Field, later
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.client import Client, Json
from tests.harness.programs.egress_control import Controlled

OPENINGS = f"/api/v1/namespaces/{OWN}/configmaps/sallyport-weight-openings"


@pytest.fixture
async def store(client: Client) -> str:
    """A store behind a private endpoint."""
    await client.wait_for_kind("sallyport.dev/v1alpha1", "WeightStore")
    name = new_name("store")
    spec = {
        "account": "llamaweights",
        "containers": [{"name": "prod"}],
        "owner": "weights-team",
        "privateEndpoints": ["10.77.1.5/32"],
    }
    head = {"apiVersion": "sallyport.dev/v1alpha1", "kind": "WeightStore"}
    await client.create({**head, "metadata": {"name": name}, "spec": spec})
    return name


async def told(client: Client, namespace: str) -> list[Json]:
    """Return what the gate is told of a namespace."""
    status, found = await client.request("GET", OPENINGS)
    text = (found.get("data") or {}).get(namespace) if status == 200 else None
    return list(json.loads(text)["openings"]) if text else []


@pytest.mark.usefixtures("controlled")
async def test_an_allowlist_that_leads_to_weights_is_told(
    client: Client, field: Field, store: str
) -> None:
    """Its service account, the store and the address; one that leads elsewhere is not."""
    elsewhere = await field.allow("elsewhere", {"cidr": "10.78.1.0/28"})
    await field.settle_reason("elsewhere", "Open")
    assert not await told(client, field.name)
    made = await field.allow("wide", {"cidr": "10.77.1.0/28"})
    await field.settle_reason("wide", "Open")
    (one,) = [each for each in await told(client, field.name) if each["store"] == store]
    assert (one["account"], one["store"], one["to"]) == ("default", store, "10.77.1.5/32")
    await client.delete(made)

    async def gone() -> bool:
        return not await told(client, field.name)

    await wait_for(partial(gone), PATIENCE_S)
    await client.delete(elsewhere)


async def test_who_leads_again_tells_anew(
    client: Client, field: Field, store: str, controlled: Controlled
) -> None:
    """Another replica led in between, and took back what was told."""
    await field.allow("wide", {"cidr": "10.77.1.0/28"})
    await field.settle_reason("wide", "Open")
    (one,) = [each for each in await told(client, field.name) if each["store"] == store]
    await client.request(
        "PATCH",
        OPENINGS,
        {"data": {field.name: None}},
        content_type="application/merge-patch+json",
    )
    controlled.egress.forget()

    async def is_told() -> bool:
        return one in await told(client, field.name)

    await wait_for(is_told, PATIENCE_S)


async def test_what_has_ended_closes_though_the_gate_cannot_be_told(
    client: Client,
    field: Field,
    store: str,
    controlled: Controlled,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only what opens more waits for that."""
    assert store
    await field.allow("ends", {"cidr": "10.77.1.0/28"}, expiresAt=later(8))
    await field.settle_reason("ends", "Open")

    async def refused(*_: object) -> None:
        raise ClusterError("the ConfigMap is too large", 422)

    monkeypatch.setattr(controlled.egress.reconciler.weights, "tell", refused)
    await field.settle_names()


@pytest.mark.usefixtures("controlled")
async def test_of_an_audited_namespace_nothing_is_told(client: Client, store: str) -> None:
    """Its Pods connect everywhere, as those of one that is left open."""
    audited = Field(client, new_name("egress"))
    await audited.prepare("audit")
    await audited.allow("wide", {"cidr": "10.77.1.0/28"})
    await audited.settle_reason("wide", "NotEnrolled")
    assert not await told(client, audited.name)
    item = await client.get("v1", "Namespace", audited.name)
    await client.patch(item, {"metadata": {"labels": {names.EGRESS_LABEL: "deny"}}})
    await audited.settle_reason("wide", "Open")
    assert store in {each["store"] for each in await told(client, audited.name)}
    await client.patch(item, {"metadata": {"labels": {names.EGRESS_LABEL: "audit"}}})

    async def is_gone() -> bool:
        return not await told(client, audited.name)

    await wait_for(is_gone, PATIENCE_S)
