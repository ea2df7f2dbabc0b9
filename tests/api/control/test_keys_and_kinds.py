"""The signing keys' Secret, and the look at CustomResourceDefinitions, on a real cluster."""

import base64
import datetime as dt
import json
from http import HTTPStatus
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from control import required_crds
from control.certificates.signing_keys import SECRET, LedgerSigningKeys
from control.required_crds import RequiredDefinitions
from core.base.errors import ClusterError
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.client import Client

FOREVER = Leadership(1, 1.0, lambda: 0.0)
START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


async def test_signing_keys_are_made_once_and_follow_each_other(
    client: Client, objects: Objects
) -> None:
    """A year in the cluster: one key, then the next beside it, then that one alone."""
    namespace = new_name("signing")
    await client.create_namespace(namespace)
    now = [START]
    loop = LedgerSigningKeys(objects, namespace, clock=lambda: now[0])

    async def stored() -> tuple[dict[str, bytes], list[Any]]:
        await loop.run(FOREVER)
        data = (await client.get("v1", "Secret", SECRET, namespace))["data"]
        content = {key: base64.b64decode(value) for key, value in data.items()}
        return content, json.loads(content["public.json"])["keys"]

    first, public = await stored()
    assert (len(public), first["coming.key"]) == (1, b"")
    assert await stored() == (first, public)
    now[0] += dt.timedelta(days=340)
    both, public = await stored()
    assert both["current.key"] == first["current.key"]
    assert [key["since"][:10] for key in public] == ["2026-03-01", "2027-03-06"]
    now[0] += dt.timedelta(days=30)
    last, public = await stored()
    assert last["current.key"] == both["coming.key"]
    assert last["coming.key"] == b""
    assert public[0]["until"] == public[1]["since"]


async def test_of_two_that_make_a_signing_key_one_wins(client: Client, objects: Objects) -> None:
    """The other's is refused: a ledger is not signed by a key that nobody can look up."""
    namespace = new_name("signing")
    await client.create_namespace(namespace)

    class Late(Objects):
        """Has another control write first."""

        async def create(self, collection: str, body: Any) -> dict[str, Any]:
            await LedgerSigningKeys(objects, namespace).run(FOREVER)
            return await super().create(collection, body)

    late = Late(objects._connection, 4.0)  # noqa: SLF001 -- the same connection
    with pytest.raises(ClusterError) as raised:
        await LedgerSigningKeys(late, namespace).run(FOREVER)
    assert raised.value.status == 409


def definition(plural: str, version: str = "v1alpha1") -> dict[str, Any]:
    """Return a CustomResourceDefinition; all have the same kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.looked-at.example"},
        "spec": {
            "group": "looked-at.example",
            "scope": "Cluster",
            "names": {"kind": "Thing", "plural": plural},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }


async def test_definitions_are_seen_to_come_to_collide_and_to_go(
    client: Client, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As kube-apiserver itself says: not there, served, names taken, another version."""
    named, other = definition("things"), definition("others")
    names = tuple(each["metadata"]["name"] for each in (named, other))
    monkeypatch.setattr(required_crds, "NEEDED", names)
    registry = CollectorRegistry()
    loop = RequiredDefinitions(objects, registry)

    async def healthy() -> tuple[float | None, ...]:
        await loop.run(FOREVER)
        values = ({"crd": name} for name in names)
        return tuple(registry.get_sample_value("sallyport_crd_healthy", each) for each in values)

    async def becomes(*values: float) -> None:
        async def so() -> bool:
            return await healthy() == values

        await wait_for(so, 60)

    assert await healthy() == (0, 0)
    await client.create(named)
    await becomes(1, 0)
    await client.create(other)

    async def collides() -> bool:
        found = await objects.get(f"{required_crds._PATH}/{names[1]}")  # noqa: SLF001 -- as the loop asks
        return any(
            "NamesAccepted is False" in each
            for each in required_crds.find_definition_problems(found, "v1alpha1")
        )

    await wait_for(collides, 60)
    assert await healthy() == (1, 0)
    await client.delete(named)
    await becomes(0, 1)
    await client.delete(other)
    await becomes(0, 0)
    other = definition("others", "v2")

    async def created() -> bool:
        status, _ = await client.request("POST", required_crds._PATH, other)  # noqa: SLF001 -- as above
        return status == HTTPStatus.CREATED

    await wait_for(created, 60)  # The one before may still be on its way out.
    assert await healthy() == (0, 0)
    await client.delete(other)
