"""`sallyport weights access`, as a person types it, on what control wrote into a real cluster."""

import asyncio
import json
import math
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from control.weights.access.status import AccessStatus
from core.weights.documents.store_access import (
    FORMAT,
    Ability,
    AccessDifference,
    DifferenceKind,
    Holder,
    StoreAccess,
)
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from tests.api.kube.objects import new_name
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client

PROGRAM = Path(sys.executable).parent / "sallyport"
ACCOUNT = "/subscriptions/0e0e/resourcegroups/weights/providers/microsoft.storage/storageaccounts/a"
SOMEBODY = "7d1c2b1e-52a3-4a44-9d6c-8d9c0d9f2a11"
TRAINER = "11111111-2222-3333-4444-555555555555"
READER = "Storage Blob Data Reader"


TRAINER_READS = Holder(
    principal=TRAINER,
    kind="ServicePrincipal",
    abilities=[Ability.READ],
    role=READER,
    assignment="/a/1",
    scope=f"{ACCOUNT}/blobservices/default/containers/prod",
    container="prod",
)
SOMEBODY_HAS_KEYS = Holder(
    principal=SOMEBODY,
    kind="User",
    abilities=[Ability.KEYS, Ability.READ],
    role="Contributor",
    assignment="/a/2",
    scope="/subscriptions/0e0e",
)


def access(
    store: str,
    *more: Holder,
    differing: Sequence[AccessDifference] = (),
    gaps: Sequence[str] = (),
) -> StoreAccess:
    """Return what was read of a store: one who is listed has what is written, and more."""
    return StoreAccess(
        format=FORMAT,
        store=store,
        resource=ACCOUNT,
        at="2026-11-22T10:00:00Z",
        holders=[TRAINER_READS, *more],
        differing=list(differing),
        gaps=list(gaps),
    )


LEADING = Leadership(1, math.inf, lambda: 0.0)

UNLISTED = AccessDifference(
    difference=DifferenceKind.UNLISTED,
    principal=SOMEBODY,
    detail="can read, and is not among the identities of the WeightStore",
    remedy="Remove the role assignment, or list them.",
)

DIFFERS = access("llama", SOMEBODY_HAS_KEYS, differing=[UNLISTED])


@pytest.fixture
async def namespace(client: Client) -> str:
    """A namespace of this test's own, in Sallyport's place."""
    name = new_name("access")
    await client.create_namespace(name)
    return name


@pytest.fixture
async def shown(apiserver: ApiServer, namespace: str) -> AsyncIterator[AccessStatus]:
    """What control writes with."""
    connection = Connection(apiserver.kubeconfig())
    await connection.open()
    yield AccessStatus(Objects(connection, 4.0), namespace, lambda: 0.0)
    await connection.close()


async def run(
    apiserver: ApiServer, namespace: str, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    command: Sequence[str | Path] = [PROGRAM, "weights", "access", *arguments]
    environment = {
        "PATH": os.environ["PATH"],
        "SALLYPORT_NAMESPACE": namespace,
        "SALLYPORT_KUBECONFIG": str(apiserver.kubeconfig()),
    }

    def work() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    return await asyncio.to_thread(work)


async def test_before_control_has_read_nobody_can_say(apiserver: ApiServer, namespace: str) -> None:
    """Not "nobody can open it": exit code 2, and what to set."""
    done = await run(apiserver, namespace)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing was read from Azure yet: set weights.azure.enabled" in done.stderr
    assert len(done.stderr.splitlines()) == 1


async def test_it_shows_who_can_and_what_differs(
    apiserver: ApiServer, namespace: str, shown: AccessStatus
) -> None:
    """Each store with its holders and the remedy; exit code 1."""
    await shown.show(LEADING, {"llama": DIFFERS, "gpt": access("gpt")})
    done = await run(apiserver, namespace)
    assert (done.returncode, done.stderr) == (1, "")
    first, _, second = done.stdout.partition("\n\ngpt, as of ")[0].partition("llama, as of ")
    assert first.startswith("gpt, as of 2026-11-22T10:00:00Z")
    assert "All is as the WeightStore and the grants say." in first
    assert f"\n{SOMEBODY}  User  can read, keys\n    Contributor, at the subscription\n" in second
    assert f"\n{TRAINER}  ServicePrincipal  can read\n    {READER}, at container prod\n" in second
    assert f"unlisted: {SOMEBODY} can read, and is not among" in second
    assert "    Remove the role assignment, or list them." in second


async def test_one_store_is_as_it_should_be(
    apiserver: ApiServer, namespace: str, shown: AccessStatus
) -> None:
    """Exit code 0; the other store's trouble is not this one's."""
    await shown.show(LEADING, {"llama": DIFFERS, "gpt": access("gpt")})
    done = await run(apiserver, namespace, "gpt")
    assert (done.returncode, done.stderr) == (0, "")
    assert "llama" not in done.stdout
    missing = await run(apiserver, namespace, "mistral")
    assert missing.returncode == 64
    assert "mistral: no such WeightStore was read from Azure" in missing.stderr


async def test_programs_get_the_same(
    apiserver: ApiServer, namespace: str, shown: AccessStatus
) -> None:
    """`-o json`: a format, and all stores by name; the exit code says the gravest."""
    gaps = ["deny assignments: forbidden"]
    await shown.show(LEADING, {"llama": DIFFERS, "gpt": access("gpt", gaps=gaps)})
    done = await run(apiserver, namespace, "-o", "json")
    assert (done.returncode, done.stderr) == (2, "")
    found = json.loads(done.stdout)
    assert found["format"] == 1
    assert [one["store"] for one in found["stores"]] == ["gpt", "llama"]
    assert found["stores"][0]["gaps"] == gaps
    (differing,) = found["stores"][1]["differing"]
    assert (differing["difference"], differing["principal"]) == ("unlisted", SOMEBODY)
