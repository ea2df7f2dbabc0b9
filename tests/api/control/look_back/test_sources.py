"""Where looking back reads from: Pods that sign in, rights that are missing, pages, the auditor."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from audit.ledger.server.acts import LedgerActs
from audit.ledger.server.acts_protocol import ActsPage
from audit.ledger.store.store import Store
from control.risk.look_back.loop import PATIENCE_S
from control.risk.look_back.search import Sources, look_back
from core.base.errors import LedgerError
from core.base.ids import uuid7
from core.risk.look_back import Sort, State
from core.risk.model import Application, ApplicationKind, identity_key
from core.risk.snapshot import SnapshotDraft
from identity.look_back.subjects import identity_at_risk
from kube.client.connection import Connection
from kube.client.objects import Objects
from tests.api.control.look_back.scene import CLUSTER, LEADER, Scene, new_scene, only
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client


@pytest.fixture
async def scene(objects: Objects, client: Client, namespace: str, tmp_path: Path) -> Scene:
    """Somebody who is not at risk yet."""
    return await new_scene(objects, client, namespace, tmp_path)


async def test_pods_that_can_sign_in_as_a_service_principal_at_risk(
    scene: Scene, client: Client
) -> None:
    """By their service account, and by a client id of their own; others' Pods are not listed."""
    client_id = str(uuid.uuid4())
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": "trainer",
            "namespace": scene.namespace,
            "annotations": {"azure.workload.identity/client-id": client_id.upper()},
        },
    }
    await client.create(account)
    use = {"azure.workload.identity/use": "true"}
    by_account = scene.pod("by-account", labels=use)
    by_account["spec"]["serviceAccountName"] = "trainer"
    by_itself = scene.pod("by-itself", labels=use)
    variable = {"name": "AZURE_CLIENT_ID", "value": client_id}
    by_itself["spec"]["containers"][0]["env"] = [variable]
    for pod in (by_account, by_itself, scene.pod("other", labels=use)):
        await client.create(pod)
    scene.rises()
    draft = SnapshotDraft.of(scene.snapshot)
    object_id = scene.label.removeprefix("oid:")
    draft.put_application(client_id, Application(ApplicationKind.APPLICATION, object_id))
    scene.snapshot = draft.finish(scene.now)
    await scene.look()
    found = only(scene).items
    assert {(each.sort, each.kind, each.name, each.pods) for each in found} == {
        (Sort.IDENTITY, "ServiceAccount", "trainer", 0),
        (Sort.IDENTITY, "Pod", "by-account", 1),
        (Sort.IDENTITY, "Pod", "by-itself", 1),
    }


async def test_a_right_that_is_missing_is_a_gap_and_no_silence(
    scene: Scene, apiserver: ApiServer, client: Client
) -> None:
    """An account that may list nothing: what is recorded is listed as not known."""
    await client.create_service_account("blind", scene.namespace)
    token = await client.create_token("blind", scene.namespace)
    connection = Connection(apiserver.kubeconfig_for_token("blind", token))
    await connection.open()
    await scene.did(1, await client.create(scene.pod("a")))
    scene.rises()
    try:
        async with Store(scene.ledger) as store:
            sources = Sources(Objects(connection), LedgerActs(store.find, CLUSTER), CLUSTER)
            risen = identity_at_risk(scene.snapshot, identity_key(scene.label), scene.now, 14, {})
            assert risen is not None
            (document,) = await look_back(sources, [risen], lambda _: uuid7(0), scene.now)
    finally:
        await connection.close()
    (item,) = document.items
    assert (item.name, item.state) == ("a", State.UNKNOWN)
    assert "pods could not be listed: the right to list it is missing" in document.gaps
    assert "deployments.apps could not be listed: the right to list it is missing" in document.gaps


async def test_the_cluster_is_read_page_by_page(
    scene: Scene, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list goes on where the page before ended; each object is seen once."""
    monkeypatch.setattr("kube.resources.metadata_lists.PAGE", 3)
    made = [await client.create(scene.pod(f"p-{number}")) for number in range(8)]
    for pod in made:
        await scene.did(1, pod)
    scene.rises()
    await scene.look()
    assert sorted(each.name for each in only(scene).items) == [f"p-{number}" for number in range(8)]


async def test_an_auditor_that_does_not_answer_is_waited_for_and_then_done_without(
    scene: Scene, client: Client
) -> None:
    """At first it is tried again; later what live objects say is better than nothing."""

    class Silent:
        async def page(self, *_: object) -> ActsPage:
            raise LedgerError("the auditor does not answer")

    await client.create(scene.deployment("web"))
    scene.rises()
    loop = scene.loop(None)
    loop.sources = replace(loop.sources, acts=Silent(), gaps=())
    with pytest.raises(LedgerError):
        await loop.run(LEADER)
    assert scene.records.kept == {}
    scene.now += PATIENCE_S + 1
    await loop.run(LEADER)
    document = only(scene)
    assert [each.name for each in document.items] == ["web"]
    (gap,) = document.gaps
    assert gap.startswith("the auditor did not answer")
