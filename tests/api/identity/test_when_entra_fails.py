"""Entra, Graph and control may be down, or wrong: gates decide by what they have; glass breaks."""

import time
from http import HTTPStatus
from typing import Final

import msgspec

from cli.risk.words import shown_time
from core.risk.snapshot import SnapshotDraft
from kube.client.objects import open_objects
from kube.risk.store import RiskStore
from tests.api.admission.objects import until_known
from tests.api.identity.requests import enter, until, until_refused
from tests.api.identity.scene import Scene, new_id, pod
from tests.harness.programs.client import Client, Json
from tests.harness.programs.helm import NAMESPACE
from tests.harness.worlds.approvals import seen

_SEEN_S: Final = 60.0
_AGED_S: Final = 7200.0
SEALERS: Final = ("ines", "jonas")


def glass(name: str, namespace: str) -> Json:
    """Return a sealed BreakGlass for risk."""
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "BreakGlass",
        "metadata": {"name": name},
        "spec": {
            "namespaces": [namespace],
            "rules": ["identity/risk", "identity/stale"],
            "hours": 1,
            "reason": "Entra ID is down or wrong.",
        },
    }


def consent(name: str, who: str) -> Json:
    """Return an approval of it."""
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "ClusterApproval",
        "metadata": {"name": f"{name}-{who}"},
        "spec": {
            "for": {"kind": "BreakGlass", "name": name},
            "expiresAt": shown_time(time.time() + 3600),
        },
    }


async def seal(scene: Scene, admin: Client, name: str, namespace: str) -> None:
    """Write it, and have two others approve it, as on an ordinary day."""
    author = scene.person(admin, "hana@example.com", new_id())
    await author.create(glass(name, namespace))
    for who in SEALERS:
        approver = scene.person(admin, f"{who}@example.com", new_id())
        await approver.create(await seen(admin, consent(name, who)))


async def open_glass(client: Client, name: str) -> tuple[int, Json]:
    """Open it, as docs/operate/identity.md says."""
    path = f"/apis/sallyport.dev/v1alpha1/breakglasses/{name}"
    merge = "application/merge-patch+json"
    return await client.request("PATCH", path, {"spec": {"activated": True}}, content_type=merge)


async def until_open(client: Client, name: str) -> None:
    """Open it once the gate knows that it is sealed."""

    async def opened() -> bool:
        return (await open_glass(client, name))[0] == HTTPStatus.OK

    await until(opened, _SEEN_S)


async def make_place(admin: Client, when_stale: str = "") -> str:
    """Make a namespace of a test's own, with a Pod."""
    name = f"place-{new_id()[:8]}"
    labels = {"sallyport.dev/when-risk-stale": when_stale} if when_stale else {}
    await admin.create_namespace(name, labels)
    await until_known(admin, name)
    await admin.create(pod(namespace=name))
    return name


async def age(scene: Scene) -> None:
    """Let what is known grow old by hours, as if Entra had been away: control must not run."""
    async with open_objects(scene.apiserver.kubeconfig()) as objects:
        store = RiskStore(objects, NAMESPACE)

        def change(draft: SnapshotDraft) -> None:
            users, principals = draft.head.users, draft.head.service_principals
            past = time.time() - _AGED_S
            draft.head = msgspec.structs.replace(
                draft.head,
                users=msgspec.structs.replace(users, as_of=past),
                service_principals=msgspec.structs.replace(principals, as_of=past),
            )

        await store.update(change)


async def test_a_gate_that_starts_while_all_is_down_still_refuses(
    scene: Scene, admin: Client
) -> None:
    """The last snapshot outlives Graph, control and the gate's own memory."""
    object_id = new_id()
    person = scene.person(admin, "kim@example.com", object_id)
    other = scene.person(admin, "lena@example.com", new_id())
    scene.entra.put_user(object_id, level="high", state="atRisk")
    await until_refused(person, _SEEN_S)
    scene.entra.down()
    scene.stop("control")
    scene.stop("gate")
    try:
        await scene.start("gate", admin)
        assert (await enter(person)).for_risk
        assert not (await enter(other)).refused
    finally:
        scene.entra.up()
        await scene.start("control", admin)


async def test_glass_breaks_when_entra_is_down(scene: Scene, admin: Client) -> None:
    """A namespace that denies while data is stale lets people work once the glass is broken."""
    place = await make_place(admin, "deny")
    name = f"down-{place}"
    await seal(scene, admin, name, place)
    person = scene.person(admin, "mara@example.com", new_id())
    scene.entra.down()
    scene.stop("control")
    try:
        await age(scene)

        async def refused() -> bool:
            said = await enter(person, namespace=place)
            return said.refused and "identity/stale" in said.message

        await until(refused, _SEEN_S)
        await until_open(admin, name)  # The local admin: sign-in is down.

        async def let_in() -> bool:
            return not (await enter(person, namespace=place)).refused

        await until(let_in, _SEEN_S)
    finally:
        scene.entra.up()
        await scene.start("control", admin)
        await scene.wait_until_fresh()
    assert not (await enter(person, namespace=place)).refused


async def test_glass_breaks_when_entra_is_wrong(scene: Scene, admin: Client) -> None:
    """A false alarm about whoever is on call: they work again, and still approve nothing."""
    place = await make_place(admin)
    name = f"wrong-{place}"
    await seal(scene, admin, name, place)
    object_id = new_id()
    person = scene.person(admin, "nils@example.com", object_id)
    scene.entra.put_user(object_id, level="high", state="atRisk")

    async def refused() -> bool:
        return (await enter(person, namespace=place)).for_risk

    await until(refused, _SEEN_S)
    status, _ = await open_glass(person, name)
    assert status == 403
    await until_open(admin, name)

    async def let_in() -> bool:
        return not (await refused())

    await until(let_in, _SEEN_S)
    path = "/apis/sallyport.dev/v1alpha1/clusterapprovals"
    made = await seen(admin, consent(name, "nils"))
    status, answer = await person.request("POST", path, made)
    assert (status, "at risk" in answer["message"]) == (403, True), answer
