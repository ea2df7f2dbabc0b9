"""Changes of grants and of who signs in as whom, on a real cluster: recorded once, also later."""

import asyncio
import datetime as dt
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from audit.ledger.records.recorder import LedgerRecorder
from control.weights.changes.loop import ChangeParts, Changes
from control.weights.changes.store import ChangeStore
from control.weights.checkpoint import CheckpointStore
from core.base import names
from core.people.two_person import (
    ORDINARY_TERMS,
    Approvable,
    Approved,
    Consent,
    NotApproved,
    judge_approval,
)
from kube.client.objects import Objects
from kube.manifests.reader import read_paths
from kube.weights.recorded_objects import RecordedObjects
from tests.api.kube.objects import new_name, wait_for
from tests.api.weights.followers import CLUSTER, QUICK, Scene, Taken, scene_of, term
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client

CRDS = Path("helm/sallyport-crds/templates")
KINDS = ("AccessGrant", "Approval", "ServiceAccount")


@pytest.fixture
async def scene(apiserver: ApiServer, client: Client) -> AsyncIterator[Scene]:
    """An installation of this test's own, with the kinds served."""
    paths = [CRDS / "accessgrants.yaml", CRDS / "approvals.yaml"]
    await client.apply(manifest.value for manifest in read_paths(paths))
    for kind in ("AccessGrant", "Approval"):
        await client.wait_for_kind(names.API_VERSION, kind)
    async with scene_of(apiserver, client, new_name("changes")) as made:
        yield made


async def approve(
    what: Approvable, consents: Sequence[Consent], kind: str, now: float
) -> Approved | NotApproved:
    """Return the approval by two, or why there is none; everybody has the right."""
    assert kind == "AccessGrant"
    return judge_approval(what, consents, {each.approval for each in consents}, now, ORDINARY_TERMS)


@asynccontextmanager
async def recording(
    scene: Scene, taken: Taken, number: int, clock: Callable[[], float] = time.time
) -> AsyncIterator[None]:
    """Have a control lead that records changes."""
    objects = Objects(scene.connection, 4.0)
    watched = RecordedObjects(scene.connection, QUICK, KINDS)
    changes = Changes(
        ChangeParts(
            CLUSTER,
            watched,
            ChangeStore(objects, scene.namespace, CLUSTER),
            CheckpointStore(objects, scene.namespace, CLUSTER),
            LedgerRecorder(taken, lambda: CLUSTER, lambda _: ""),
            approve,
            kept_until=time.time,
            clock=clock,
        )
    )
    leadership = term(number)

    async def lead() -> None:
        while True:
            with suppress(Exception):  # As the loop: whatever it is, it is tried again.
                await changes.run(leadership)
            await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(watched.run()), asyncio.create_task(lead())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def grant(name: str, namespace: str) -> dict[str, Any]:
    """Return an AccessGrant of an hour, as the webhook leaves it."""
    ends = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
    return {
        "apiVersion": names.API_VERSION,
        "kind": "AccessGrant",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {names.AUTHOR_ANNOTATION: "user:00000000000000aa"},
        },
        "spec": {
            "store": "frontier",
            "rights": ["read"],
            "reason": "evaluation",
            "serviceAccounts": ["trainer"],
            "people": ["user:00000000000000aa"],
            "expiresAt": f"{ends:%Y-%m-%dT%H:%M:%SZ}",
        },
    }


def approval(of: dict[str, Any], digest: str, user: str) -> dict[str, Any]:
    """Return an Approval of an object, as the webhook leaves it."""
    meta = of["metadata"]
    ends = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    annotations = {
        names.APPROVED_UID_ANNOTATION: meta["uid"],
        names.APPROVED_DIGEST_ANNOTATION: digest,
        names.APPROVER_ACCOUNT_ANNOTATION: json.dumps({"user": user, "groups": []}),
    }
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Approval",
        "metadata": {
            "name": f"{meta['name']}-{user.partition('@')[0]}",
            "namespace": meta["namespace"],
            "annotations": annotations,
        },
        "spec": {
            "for": {"kind": of["kind"], "name": meta["name"]},
            "expiresAt": f"{ends:%Y-%m-%dT%H:%M:%SZ}",
        },
    }


def events(taken: Taken, name: str) -> list[str]:
    """Return what was recorded of an object, in order."""
    return [each.event for each in taken.changes if each.name == name]


async def test_a_grant_is_recorded_from_its_writing_to_its_end(
    client: Client, scene: Scene
) -> None:
    """There, approved by two, ended when it says so, deleted; with whole `spec`, by labels."""
    taken, space, later_s = Taken(scene.namespace), scene.namespace, 0.0
    async with recording(scene, taken, 1, lambda: time.time() + later_s):
        made = await client.create(grant("eval", space))
        await wait_for(lambda: events(taken, "eval") == ["there"], 60)
        there = taken.changes[-1]
        for user in ("ann@example.com", "bo@example.com"):
            await client.create(approval(made, there.digest, user))
        await wait_for(lambda: "approved" in events(taken, "eval"), 60)
        later_s = 3600.0
        await wait_for(lambda: "ended" in events(taken, "eval"), 60)
        await client.delete(made)
        await wait_for(lambda: "deleted" in events(taken, "eval"), 60)
    assert events(taken, "eval") == ["there", "approved", "ended", "deleted"]
    of = {each.event: each for each in taken.changes if each.name == "eval"}
    assert of["there"].spec == made["spec"]
    assert of["there"].by == ["user:00000000000000aa"]
    assert len(of["approved"].approvers) == 2
    assert of["ended"].time == made["spec"]["expiresAt"].replace("Z", ".000Z")
    assert "example.com" not in str(taken.changes), "labels, never names"


async def test_what_changed_while_nobody_led_is_noticed_and_said_to_be(
    client: Client, scene: Scene
) -> None:
    """The next leader compares with what was recorded, and repeats nothing."""
    first, second, space = Taken(scene.namespace), Taken(scene.namespace), scene.namespace
    async with recording(scene, first, 1):
        kept = [await client.create(grant(name, space)) for name in ("stays", "goes")]
        known = ChangeStore(Objects(scene.connection, 4.0), space, CLUSTER)

        async def is_stored() -> bool:
            stored = [await known.load(kind) for kind in KINDS]
            return None not in stored and {f"{space}/stays", f"{space}/goes"} <= set(
                stored[0] or {}
            )

        await wait_for(is_stored, 60)
    await client.delete(kept[1])
    await client.patch(kept[0], {"spec": {"reason": "another"}})
    async with recording(scene, second, 2):
        await wait_for(lambda: "deleted" in events(second, "goes"), 60)
        await wait_for(lambda: "changed" in events(second, "stays"), 60)
    assert events(second, "stays") == ["changed"]
    assert events(second, "goes") == ["deleted"]
    assert not second.gaps
    (deleted,) = [each for each in second.changes if each.name == "goes"]
    assert deleted.why.startswith("noticed when")


async def test_it_is_recorded_as_whom_a_service_account_signs_in(
    client: Client, scene: Scene
) -> None:
    """From when, until when; of those that sign in as nobody there is nothing."""
    taken, space = Taken(scene.namespace), scene.namespace
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": "trainer",
            "namespace": space,
            "annotations": {"azure.workload.identity/client-id": "AAAAAAAA-0000-4000-8000-1"},
        },
    }
    async with recording(scene, taken, 1):
        await client.apply([account])
        await wait_for(lambda: events(taken, "trainer") == ["there"], 60)
        nothing = {"azure.workload.identity/client-id": None}
        await client.patch(account, {"metadata": {"annotations": nothing}})
        await wait_for(lambda: events(taken, "trainer") == ["there", "deleted"], 60)
        gaps = {"changes", "identities"}
        await wait_for(lambda: {each.log for each in taken.gaps} == gaps, 60)
    there = next(each for each in taken.changes if each.name == "trainer")
    assert there.spec == {"clientId": "aaaaaaaa-0000-4000-8000-1", "tenant": ""}
    assert "default" not in {each.name for each in taken.changes}
