"""Whoever comes to be at risk is looked back on, in a real kube-apiserver and a real ledger."""

import uuid
from pathlib import Path

import pytest

from control.risk.look_back.search import NO_RECORDS
from control.risk.look_back.store import NAME
from core.risk.look_back import Item, LookBackDocument, Sort, State
from core.risk.model import RiskLevel, RiskSource, identity_key
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from kube.client.objects import Objects
from tests.api.control.look_back.scene import Died, Mortal, Scene, new_scene, only
from tests.api.kube.objects import new_name
from tests.harness.programs.client import Client
from tests.harness.worlds import rbac


@pytest.fixture
async def scene(objects: Objects, client: Client, namespace: str, tmp_path: Path) -> Scene:
    """Somebody who is not at risk yet."""
    return await new_scene(objects, client, namespace, tmp_path)


def listed(document: LookBackDocument) -> list[tuple[Sort, str, str]]:
    """Return what is listed, shortly."""
    return [(each.sort, each.kind, each.name) for each in document.items]


async def test_an_exec_of_46_hours_ago_is_listed_when_a_detection_is_47_hours_late(
    scene: Scene, client: Client
) -> None:
    """The Pod is there still; one that was replaced by another of its name is only counted."""
    pod = await client.create(scene.pod("llm-0"))
    other = await client.create(scene.pod("llm-1"))
    entering = {
        "kind": "PodExecOptions",
        "group": "",
        "operation": "CONNECT",
        "subresource": "exec",
    }
    decision = await scene.did(46, pod, **entering)
    await scene.did(46, other, **{**entering, "object_uid": str(uuid.uuid4())})
    await scene.did(60, pod, **entering)
    scene.rises(active_h=47)
    await scene.look()
    document = only(scene)
    (item,) = document.items
    assert item == Item(
        sort=Sort.ENTERED,
        state=State.THERE,
        at=item.at,
        how="entered",
        kind="Pod",
        namespace=scene.namespace,
        name="llm-0",
        uid=pod["metadata"]["uid"],
        acts=1,
        decision=decision,
    )
    assert document.gone == {"entered": 1}
    assert (document.subject, document.standing) == (scene.label, "high")
    assert document.events == ["0f1e2d3c-0000-4000-8000-000000000001"]


async def test_all_sorts_are_found_the_gravest_first(scene: Scene, client: Client) -> None:
    """Exec, token, rights, approval, exception, workload with its Pods."""
    deployment = await client.create(scene.deployment("web"))
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    owner["uid"] = deployment["metadata"]["uid"]
    pod = await client.create(scene.pod("web-1", ownerReferences=[owner]))
    role = rbac.role("grows", rbac.rule([""], "pods", "get"), namespace=scene.namespace)
    made = await client.create(role)
    entering = {"kind": "PodAttachOptions", "operation": "CONNECT", "subresource": "attach"}
    await scene.did(3, deployment)
    await scene.did(0, made, object_uid="")
    await scene.did(1, pod, **entering)
    token = {"kind": "TokenRequest", "group": "authentication.k8s.io", "subresource": "token"}
    await scene.did(1, None, name="default", **token)
    approval = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "Approval",
        "metadata": {
            "name": "ok",
            "namespace": scene.namespace,
            "annotations": {"sallyport.dev/approver": f"{scene.label} user:0123456789abcdef"},
        },
        "spec": {
            "for": {"kind": "PolicyException", "name": "hole"},
            "expiresAt": "2099-01-01T00:00:00Z",
        },
    }
    await client.create(approval)
    scene.rises()
    await scene.look()
    document = only(scene)
    assert listed(document) == [
        (Sort.ENTERED, "Pod", "web-1"),
        (Sort.CREDENTIAL, "ServiceAccount", "default"),
        (Sort.RIGHTS, "Role", "grows"),
        (Sort.APPROVAL, "Approval", "ok"),
        (Sort.WORKLOAD, "Deployment", "web"),
    ]
    assert document.items[-1].pods == 1
    assert document.items[1].state is State.OUTLIVES
    assert document.gaps == []


async def test_each_namespace_is_told_once_and_again_with_the_next_rise(
    scene: Scene, client: Client
) -> None:
    """One Event, which counts; with the label and the event's id, without any name."""
    elsewhere = new_name("elsewhere")
    await client.create_namespace(elsewhere)
    await client.create_service_account("default", elsewhere)
    pod = await client.create(scene.pod("a"))
    far = scene.pod("b")
    far["metadata"]["namespace"] = elsewhere
    there = await client.create(far)
    await scene.did(1, pod)
    await scene.did(1, there, namespace=elsewhere)
    scene.rises(RiskLevel.LOW)
    await scene.look()
    await scene.look()
    (event,) = await scene.events()
    (other,) = await scene.events(elsewhere)
    assert (event["reason"], event["type"]) == ("IdentityAtRisk", "Warning")
    assert event["note"] == other["note"]
    assert f"{scene.label} is at risk (low, since " in event["note"]
    assert "event 0f1e2d3c-0000-4000-8000-000000000001" in event["note"]
    assert "still there: 1 (1 workload)" in event["note"]
    assert f"sallyport risk look-back {scene.label}" in event["note"]
    assert event["deprecatedCount"] == 1
    scene.now += 120
    scene.rises(RiskLevel.HIGH)
    await scene.look()
    (event,) = await scene.events()
    assert event["deprecatedCount"] == 2
    assert "is at risk (high, since " in event["note"]
    assert len(scene.records.kept) == 2


async def test_what_is_done_is_not_done_again(scene: Scene, client: Client) -> None:
    """Neither at the next poll, nor by the next leader, nor when the level falls."""
    await scene.did(1, await client.create(scene.pod("a")))
    scene.rises(RiskLevel.HIGH)
    await scene.look()
    scene.snapshot = SnapshotDraft.of(scene.snapshot).finish(scene.now)
    await scene.look()
    scene.rises(RiskLevel.LOW)
    await scene.look()
    assert scene.records.calls == 1


async def test_a_leader_may_die_anywhere(scene: Scene, objects: Objects, client: Client) -> None:
    """Before it is begun, before anybody is told, before it is done: the next one ends it.

    There is one document, and each namespace is told once.
    """
    await scene.did(1, await client.create(scene.pod("a")))
    scene.rises()
    for writes, recorded in ((0, 0), (1, 1), (1, 2)):
        with pytest.raises(Died):
            await scene.look(Mortal(objects, writes))
        assert scene.records.calls == recorded
    await scene.look()
    await scene.look()
    assert scene.records.calls == 3
    assert len(scene.records.kept) == 1
    (event,) = await scene.events()
    assert event["deprecatedCount"] == 1


async def test_nobody_who_did_nothing_here_is_told_of(scene: Scene) -> None:
    """Most whom a tenant has at risk never touched this cluster: no document, no Event."""
    scene.rises()
    await scene.look()
    await scene.look()
    assert scene.records.kept == {}
    assert await scene.events() == []


async def test_before_the_snapshot_is_loaded_nothing_is_forgotten(
    scene: Scene, client: Client
) -> None:
    """A control that has just started must not take "not loaded" for "nobody is at risk"."""
    await scene.did(1, await client.create(scene.pod("a")))
    scene.rises()
    await scene.look()
    known, scene.snapshot = scene.snapshot, RiskSnapshot()
    await scene.look()
    scene.snapshot = known
    await scene.look()
    assert scene.records.calls == 1


async def test_whoever_is_not_at_risk_any_more_is_forgotten(scene: Scene, client: Client) -> None:
    """A new risk is looked back on again; the Secret does not grow."""
    await scene.did(1, await client.create(scene.pod("a")))
    scene.rises()
    await scene.look()
    draft = SnapshotDraft.of(scene.snapshot)
    draft.drop(RiskSource.ENTRA, identity_key(scene.label))
    scene.snapshot = draft.finish(scene.now)
    await scene.look()
    scene.now += 100
    scene.rises()
    await scene.look()
    assert len(scene.records.kept) == 2


async def test_without_an_auditor_live_objects_alone_tell_and_the_report_says_so(
    scene: Scene, client: Client
) -> None:
    """Their Deployment by its note; the exec is not known, and that is said."""
    await client.create(scene.deployment("web"))
    await client.create(scene.deployment("others", {"sallyport.dev/requester": "oid:x"}))
    await scene.did(1, await client.create(scene.pod("a")), operation="CONNECT")
    scene.rises()
    await scene.look(auditor=False)
    document = only(scene)
    assert listed(document) == [(Sort.WORKLOAD, "Deployment", "web")]
    assert document.gaps == [NO_RECORDS]


async def test_a_broken_memory_is_said_and_looked_back_on_anew(
    scene: Scene, client: Client
) -> None:
    """Somebody wrote nonsense into the Secret: nobody is left out."""
    await scene.did(1, await client.create(scene.pod("a")))
    scene.rises()
    await scene.look()
    secret = await client.get("v1", "Secret", NAME, scene.namespace)
    await client.patch(secret, {"data": {"state": "bm9uc2Vuc2U="}})
    await scene.look()
    assert len(scene.records.kept) == 2
