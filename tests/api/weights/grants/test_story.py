"""Grants from end to end: asked for, approved by two, used, over; and whom they do not cover."""

import asyncio
from functools import partial

import pytest

from tests.api.weights.grants.conftest import (
    ANN,
    CAROL,
    DAVE,
    OIDS,
    TEAM,
    Installation,
    approve,
    asked_for,
    deployment,
    human,
    in_seconds,
    place,
    pod,
    pods_made,
    pods_of,
    refused,
    soon,
)
from tests.harness.programs.client import ApiStatusError, Client, Json

REFUSAL = "It reaches model weights without a live grant."


async def test_a_grant_from_its_asking_to_its_end(
    admin: Client, installation: Installation
) -> None:
    """Nothing before two approved it; then who is named starts it; then it ends for all."""
    namespace = await place(admin, "story")
    carol, dave = human(admin, CAROL), human(admin, DAVE)
    message = await refused(partial(carol.create, pod(namespace, "first")), REFUSAL)
    assert "no AccessGrant of this namespace is about it" in message
    assert f'"people":["oid:{OIDS[CAROL]}"]' in message
    assert CAROL not in message
    written = await carol.create(asked_for(namespace, expiresAt=in_seconds(30)))
    assert written["metadata"]["annotations"]["sallyport.dev/author"].startswith("oid:")
    await refused(partial(carol.create, pod(namespace, "first")), "0 of 2 people")
    with pytest.raises(ApiStatusError, match="nobody approves their own"):
        await approve(admin, written, CAROL)
    await approve(admin, written, ANN)
    await refused(partial(carol.create, pod(namespace, "first")), "1 of 2 people")
    await approve(admin, written, "ben@example.com")
    made = await soon(partial(carol.create, pod(namespace, "first")))
    await refused(partial(dave.create, pod(namespace, "of-dave")), "does not name who asked")
    elsewhere = await place(admin, "story-elsewhere")
    await refused(partial(carol.create, pod(elsewhere, "first")), "no AccessGrant")
    await refused(partial(carol.create, pod(namespace, "next")), "it expired at")
    decision = await installation.decision_on(made["metadata"]["uid"])
    uid = written["metadata"]["uid"]
    assert decision["weightStores"] == ["llama"]
    assert decision["grants"] == [f"{namespace}/llama@{uid}"]


async def test_a_grant_that_is_taken_away_ends_at_once(admin: Client) -> None:
    """Deleted, or an approval of it withdrawn: the next Pod is refused."""
    namespace = await place(admin, "taken-away")
    carol = human(admin, CAROL)
    by_dave = await human(admin, DAVE).create(asked_for(namespace))
    await approve(admin, by_dave)
    await soon(partial(carol.create, pod(namespace, "one")))
    withdrawn = {"namespace": namespace, "name": "llama-ann"}
    approval: Json = {"apiVersion": by_dave["apiVersion"], "kind": "Approval"}
    await admin.delete(approval | {"metadata": withdrawn})
    await refused(partial(carol.create, pod(namespace, "early")), "1 of 2 people")
    await approve(admin, by_dave, ANN)
    await soon(partial(carol.create, pod(namespace, "two")))
    await human(admin, DAVE).delete(by_dave)
    await refused(partial(carol.create, pod(namespace, "three")), "no AccessGrant")


async def test_whoever_changes_a_grant_begins_from_none(admin: Client) -> None:
    """It is another one then: not even who was named before is covered."""
    namespace = await place(admin, "changed")
    written = await human(admin, DAVE).create(asked_for(namespace))
    await approve(admin, written)
    await soon(partial(human(admin, CAROL).create, pod(namespace, "one")))
    written["spec"]["people"] += [f"oid:{OIDS[DAVE]}"]
    path = f"/apis/sallyport.dev/v1alpha1/namespaces/{namespace}/accessgrants/llama"
    status, _ = await human(admin, CAROL).request("PUT", path, written)
    assert status == 200
    for who in (CAROL, DAVE):
        again = partial(human(admin, who).create, pod(namespace, "two"))
        await refused(again, "as it was before it changed")


async def test_pods_of_a_workload_are_its_authors(admin: Client) -> None:
    """Under a grant to a group: noted when it is submitted, since groups are not known later."""
    namespace = await place(admin, "traced")
    written = await human(admin, DAVE).create(asked_for(namespace, people=None, groups=[TEAM]))
    await approve(admin, written)
    outside = partial(human(admin, CAROL).create, deployment(namespace, "llama"))
    await refused(outside, "does not name who asked")
    member = human(admin, CAROL, TEAM)
    made = await soon(partial(member.create, deployment(namespace, "llama")))
    noted = made["metadata"]["annotations"]["sallyport.dev/grants"]
    assert noted.startswith(f"llama@{written['metadata']['uid']}#")
    assert await pods_made(admin, namespace, "llama"), "it is admitted for its author"
    made["metadata"]["annotations"].pop("sallyport.dev/grants")
    forged = made | {"metadata": made["metadata"] | {"managedFields": None}}
    forged["metadata"]["annotations"]["sallyport.dev/grants"] = noted + ",other@u#0"
    status, answer = await human(admin, DAVE).ask_to_replace(forged)
    assert (status, "notes/grants" in answer["message"]) == (403, True), answer


async def test_a_grant_that_ends_keeps_controllers_from_making_more(admin: Client) -> None:
    """What a controller makes later is judged then."""
    namespace = await place(admin, "over")
    short = asked_for(namespace, expiresAt=in_seconds(30))
    written = await human(admin, DAVE).create(short)
    await approve(admin, written)
    carol = human(admin, CAROL)
    await soon(partial(carol.create, deployment(namespace, "llama")))
    await pods_made(admin, namespace, "llama")
    await refused(partial(carol.create, pod(namespace, "probe")), "it expired at")
    (running,) = await pods_of(admin, namespace, "llama")
    await admin.delete({"apiVersion": "v1", "kind": "Pod", **running})
    path = f"/apis/apps/v1/namespaces/{namespace}/replicasets"
    said: list[Json] = []
    for _ in range(600):
        sets = (await admin.request("GET", path))[1]["items"]
        said = [each for one in sets for each in one["status"].get("conditions", ())]
        if any("It reaches model weights" in each.get("message", "") for each in said):
            break
        await asyncio.sleep(0.1)
    assert any("It reaches model weights" in each.get("message", "") for each in said), said
    assert not await pods_of(admin, namespace, "llama")
