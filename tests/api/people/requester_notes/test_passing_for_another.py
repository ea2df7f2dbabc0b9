"""Ways of passing for somebody else, each tried in a cluster whose RBAC lets everyone do all.

Ben tries to have Pods made that name Ann, or that name nobody. In each case he is refused, or the
decision on his Pod names him.
"""

from typing import Any, Final

import pytest

from tests.api.people.requester_notes.conftest import (
    ANN,
    BEN,
    NAMESPACE,
    Installation,
    of_pod,
    reference,
    template,
    workload,
)
from tests.harness.programs.client import ApiStatusError, Client, Json

REQUESTER: Final = "sallyport.dev/requester"
AS_ANN: Final = {REQUESTER: ANN, "sallyport.dev/profile": "pss-baseline"}


def annotated(item: Json, annotations: dict[str, Any]) -> Json:
    """Return an object with annotations."""
    item["metadata"]["annotations"] = annotations
    return item


def owned(item: Json, owner: Json) -> Json:
    """Return an object that another one is said to control."""
    item["metadata"]["ownerReferences"] = [reference(owner)]
    return item


async def refused(client: Client, item: Json, patch: Json, path: str = "") -> str:
    """Try a change that must be refused; give the message."""
    where = await client._path(item)  # noqa: SLF001  A subresource has no object of its own.
    status, answer = await client.request(
        "PATCH", where + path, patch, content_type="application/merge-patch+json"
    )
    assert status == 403, answer
    return str(answer["message"])


@pytest.fixture
async def anns(admin: Client, ann: Client, request: pytest.FixtureRequest) -> Any:
    """A Deployment of Ann's without Pods."""
    name = f"anns-{abs(hash(request.node.name)) % 10**8}"
    made = await ann.create(workload("Deployment", name, replicas=0))
    yield made
    await admin.delete(made)


async def test_a_note_in_ones_own_manifest(ben: Client, admin: Client) -> None:
    """1. It is overwritten: the manifest may have been copied from Ann's."""
    made = await ben.create(annotated(workload("Deployment", "w1", replicas=0), AS_ANN))
    assert made["metadata"]["annotations"][REQUESTER] == BEN
    await admin.delete(made)


async def test_a_note_on_a_pod_of_ones_own(ben: Client, admin: Client) -> None:
    """2. The same for a Pod that nothing owns."""
    pod = {"apiVersion": "v1", "kind": "Pod", **template("w2")}
    pod["metadata"] = {"name": "w2", "namespace": NAMESPACE, "annotations": dict(AS_ANN)}
    made = await ben.create(pod)
    assert made["metadata"]["annotations"][REQUESTER] == BEN
    await admin.delete(made)


async def test_changing_the_note_later(ben: Client, admin: Client) -> None:
    """3. Refused: a note changes only with the templates, and then to who changes them."""
    made = await ben.create(workload("Deployment", "w3", replicas=0))
    message = await refused(ben, made, {"metadata": {"annotations": {REQUESTER: ANN}}})
    assert "leave the annotation out" in message
    await admin.delete(made)


async def test_changing_note_and_template_together(ben: Client, anns: Json) -> None:
    """4. Ann's Deployment with Ben's template is Ben's, whatever he leaves in the note."""
    containers = [{"name": "main", "image": "registry.example/train:2"}]
    patch = {
        "metadata": {"annotations": {REQUESTER: ANN}},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
    assert (await ben.patch(anns, patch))["metadata"]["annotations"][REQUESTER] == BEN


async def test_changing_a_command_only(ben: Client, anns: Json) -> None:
    """5. A command is no privilege, but Ann did not ask for what it does."""
    containers = [{"name": "main", "image": "registry.example/train:1", "command": ["mine"]}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    assert (await ben.patch(anns, patch))["metadata"]["annotations"][REQUESTER] == BEN


async def test_removing_the_note(ben: Client, anns: Json) -> None:
    """6. It is put back: who asked for the Pods stays known."""
    patch = {"metadata": {"annotations": {REQUESTER: None}}}
    assert (await ben.patch(anns, patch))["metadata"]["annotations"][REQUESTER] == ANN


@pytest.mark.parametrize("kind", ["Deployment", "Job", "CronJob", "StatefulSet"])
async def test_changing_the_note_with_the_status(ben: Client, admin: Client, kind: str) -> None:
    """7. Kubernetes lets annotations be written along with a status; the gate does not."""
    made = await ben.create(workload(kind, f"w7-{kind.lower()}", **_idle(kind)))
    patch = {"metadata": {"annotations": {REQUESTER: ANN}}}
    message = await refused(ben, made, patch, "/status")
    assert "changes only together with the templates" in message
    await admin.delete(made)


async def test_a_replica_set_under_anns_deployment(
    installation: Installation, ben: Client, admin: Client, anns: Json
) -> None:
    """8. The reference proves nothing: the ReplicaSet is noted, and its Pods name Ben."""
    made = await ben.create(owned(workload("ReplicaSet", "w8"), anns))
    assert made["metadata"]["annotations"][REQUESTER] == BEN
    decision = await installation.decision(of_pod("w8-"))
    assert decision["root"]["requester"] == BEN
    await admin.delete(made)


async def test_a_job_under_anns_cron_job(
    installation: Installation, ben: Client, ann: Client, admin: Client
) -> None:
    """9. The same for what Kubernetes makes of a CronJob."""
    cron = await ann.create(workload("CronJob", "w9-anns", suspend=True))
    made = await ben.create(owned(workload("Job", "w9"), cron))
    decision = await installation.decision(of_pod("w9-"))
    assert decision["root"]["requester"] == BEN
    await admin.delete(made)
    await admin.delete(cron)


async def test_a_pod_under_anns_replica_set(
    installation: Installation, ben: Client, ann: Client, admin: Client
) -> None:
    """10. Whoever writes an owner reference is the requester."""
    theirs = await ann.create(workload("ReplicaSet", "w10-anns", replicas=0))
    pod: Json = {"apiVersion": "v1", "kind": "Pod", **template("other")}
    pod["metadata"] = {"name": "w10", "namespace": NAMESPACE}
    made = await ben.create(owned(pod, theirs))
    decision = await installation.decision(of_pod("w10"))
    assert (decision["requester"], "root" in decision) == (BEN, False)
    await admin.delete(made)
    await admin.delete(theirs)


async def test_a_note_in_a_job_template(
    installation: Installation, ben: Client, admin: Client
) -> None:
    """11. The CronJob controller copies it to the Job; that Job is refused."""
    spec = {"metadata": {"annotations": AS_ANN}, "spec": workload("Job", "w11")["spec"]}
    cron = await ben.create(workload("CronJob", "w11", jobTemplate=spec))
    decision = await installation.decision(
        lambda d: d["request"]["kind"] == "Job" and d["request"]["name"].startswith("w11-"), 90.0
    )
    await admin.delete(cron)
    assert (decision["verdict"], decision["findings"][0]["rule"]) == ("deny", "notes/requester")


async def test_a_note_in_a_pod_template(
    installation: Installation, ben: Client, admin: Client
) -> None:
    """12. A Pod that says Ann asked for it is refused: people read annotations too."""
    pods = template("w12")
    pods["metadata"]["annotations"] = {REQUESTER: ANN}
    made = await ben.create(workload("ReplicaSet", "w12", template=pods))
    decision = await installation.decision(of_pod("w12-"))
    assert (decision["verdict"], decision["findings"][0]["rule"]) == ("deny", "notes/requester")
    await admin.delete(made)


async def test_a_replica_set_that_anns_deployment_adopts(
    installation: Installation, ben: Client, ann: Client, admin: Client
) -> None:
    """13. The Deployment controller adopts what its selector matches; the maker's note stays."""
    mine = workload("ReplicaSet", "w13-mine", replicas=1)
    labels = {"app": "w13"}
    mine["spec"]["selector"] = {"matchLabels": labels | {"mine": "yes"}}
    mine["spec"]["template"]["metadata"]["labels"] = labels | {"mine": "yes"}
    mine["metadata"]["labels"] = labels
    made = await ben.create(mine)
    theirs = await ann.create(workload("Deployment", "w13", replicas=0))
    decision = await installation.decision(of_pod("w13-mine-"))
    assert decision["root"]["requester"] == BEN
    await admin.delete(made)  # Before its owner: with that the garbage collector takes it.
    await admin.delete(theirs)


async def test_a_deployment_under_another_of_the_same_name(
    installation: Installation, ben: Client, ann: Client, admin: Client
) -> None:
    """14. Ann's is deleted and Ben makes one of its name: the note is Ben's, as is the UID."""
    theirs = await ann.create(workload("Deployment", "w14", replicas=0))
    await admin.delete(theirs)
    made = await ben.create(workload("Deployment", "w14"))
    decision = await installation.decision(of_pod("w14-"))
    assert decision["root"]["requester"] == BEN
    assert decision["root"]["uid"] == made["metadata"]["uid"]
    await admin.delete(made)


async def test_an_owner_that_was_deleted(
    installation: Installation, ben: Client, ann: Client, admin: Client
) -> None:
    """15. A reference to Ann's old Deployment: the ReplicaSet is noted as Ben's all the same."""
    theirs = await ann.create(workload("Deployment", "w15", replicas=0))
    await admin.delete(theirs)
    made = await ben.create(owned(workload("ReplicaSet", "w15-mine"), theirs))
    assert made["metadata"]["annotations"][REQUESTER] == BEN
    named = [
        d["root"]["requester"] for d in installation.decisions(of_pod("w15-mine")) if "root" in d
    ]
    assert set(named) <= {BEN}


async def test_applying_anns_note_by_server_side_apply(ben: Client, anns: Json) -> None:
    """16. Taking the field over as another manager changes nothing of who may."""
    item = {key: anns[key] for key in ("apiVersion", "kind")}
    item["metadata"] = {
        "name": anns["metadata"]["name"],
        "namespace": NAMESPACE,
        "annotations": {REQUESTER: BEN},
    }
    with pytest.raises(ApiStatusError, match="notes/requester"):
        await ben.apply([item])


async def test_a_dry_run_is_the_same(ben: Client, anns: Json) -> None:
    """17. What would be refused is refused; what would be noted is shown."""
    item = annotated(workload("Deployment", "w17"), AS_ANN)
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
    status, made = await ben.request("POST", path, item, parameters={"dryRun": "All"})
    assert (status, made["metadata"]["annotations"][REQUESTER]) == (201, BEN)
    status, _ = await ben.request(
        "PATCH",
        f"{path}/{anns['metadata']['name']}",
        {"metadata": {"annotations": {REQUESTER: BEN}}},
        parameters={"dryRun": "All"},
        content_type="application/merge-patch+json",
    )
    assert status == 403


def _idle(kind: str) -> dict[str, Any]:
    """Return what keeps a workload from having Pods."""
    return {"Job": {"suspend": True}, "CronJob": {"suspend": True}}.get(kind, {"replicas": 0})
