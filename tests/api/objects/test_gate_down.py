"""While no gate answers: refused, and said so; Sallyport's own volumes go on; it recovers."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.objects.claims import Storage
from tests.api.objects.other_objects import MAKINGS, ORDINARY_CLAIM, csi, persistent_volume
from tests.api.objects.people import People
from tests.harness.programs.client import Client, Json
from tests.harness.programs.gate import Gate
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.programs.ports import free_ports
from tests.harness.programs.webhooks import configurations

WEBHOOK = "objects.sallyport.dev"
SETTLES_WITHIN_S = 60.0


@pytest.fixture
async def port(admin: Client, installation: Installation) -> AsyncIterator[int]:
    """A port without a gate, to which the registered webhooks point for this test."""
    (free,) = free_ports(1)
    ca_pem = installation.apiserver.authority.pem
    await admin.apply(configurations(f"https://127.0.0.1:{free}", ca_pem))
    await until(admin, 500)
    yield free
    await admin.apply(configurations(installation.gate.url, ca_pem))
    await until(admin, 201)


async def until(client: Client, status: int) -> None:
    """Wait until a claim for a device, which needs nothing, is answered so."""
    end = time.monotonic() + SETTLES_WITHIN_S
    while (answered := (await asked(client, ORDINARY_CLAIM))[0]) != status:
        assert time.monotonic() < end, f"still {answered}"
        await asyncio.sleep(0.1)


async def asked(client: Client, item: Json) -> tuple[int, str]:
    """Ask for an object as a dry run; give the status and the message."""
    group = item["apiVersion"]
    plural = f"{item['kind'].lower()}{'es' if item['kind'].endswith('s') else 's'}"
    namespace = item["metadata"].get("namespace")
    place = f"/namespaces/{namespace}" if namespace else ""
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    path = f"{root}{place}/{plural}"
    status, answer = await client.request("POST", path, item, parameters={"dryRun": "All"})
    return status, str(answer.get("message", ""))


async def test_without_a_gate_nothing_that_it_judges_is_made(
    people: People, admin: Client, port: int
) -> None:
    """Every kind is refused to everyone, cluster-admin too, and the message names the webhook."""
    for making in MAKINGS:
        for asked_by in (people.using(f"may-{making.name}"), admin):
            status, message = await asked(asked_by, making.item)
            assert status == 500, (making.name, message)
            assert f'failed calling webhook "{WEBHOOK}"' in message


async def test_sallyports_own_volumes_do_not_wait_for_it(
    people: People, storage: Storage, port: int
) -> None:
    """A volume kept for a claim in its own namespace is made while it is down, and no other.

    The gate and the auditor may need it to start.
    """
    own = persistent_volume(f"own-{port}", csi("disk.csi.azure.com"))
    own["spec"]["claimRef"] = {"namespace": "sallyport-system", "name": "spool"}
    provisioner = people.account("csi-azuredisk-controller-sa")
    await provisioner.create(own)
    claim = storage.claim("spool")
    claim["metadata"]["namespace"] = "sallyport-system"
    claim["spec"]["volumeName"] = own["metadata"]["name"]
    await provisioner.create(claim)
    other = persistent_volume("other", csi("disk.csi.azure.com"), f"{storage.namespace}/spool")
    status, _ = await asked(provisioner, other)
    assert status == 500


async def test_objects_are_judged_again_once_a_gate_is_ready(
    people: People, admin: Client, installation: Installation, port: int, tmp_path: Path
) -> None:
    """As soon as a gate is ready there, objects are judged again: refused and admitted."""
    authority = installation.apiserver.authority
    gate = await asyncio.to_thread(Gate, tmp_path, authority, installation.kubeconfig, port=port)
    try:
        await until(admin, 201)
        making = MAKINGS[0]
        status, message = await asked(people.using("restricted"), making.item)
        assert status == 403
        assert f'admission webhook "{WEBHOOK}" denied the request' in message
        status, _ = await asked(people.using(f"may-{making.name}"), making.item)
        assert status == 201
    finally:
        await asyncio.to_thread(gate.stop)
