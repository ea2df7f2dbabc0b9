"""Claims: nobody reaches a path of a node, or a foreign driver, through what they are bound to."""

from functools import partial

import pytest

from tests.api.objects.claims import Storage
from tests.api.objects.other_objects import csi, local
from tests.api.objects.people import People
from tests.api.objects.pods import pod, with_claim, with_volume
from tests.harness.programs.client import ApiStatusError, Client, Json, Outcome

DATA = {"hostPath": {"path": "/data"}}
ROOT = {"hostPath": {"path": "/"}}
FOREIGN = csi("host.example.com")
WRITES_DATA = "privilege volume/hostPath:rw/data,"

on_node = pytest.mark.parametrize("source", [DATA, local("/data")], ids=["hostPath", "local"])


@on_node
async def test_a_claim_takes_a_volume_of_the_node_only_for_who_may(
    people: People, storage: Storage, source: Json
) -> None:
    """A claim that names such a volume needs the privilege of the path."""
    volume = await storage.volume(source)
    claim = storage.claim("taken", volume["metadata"]["name"])
    answer = await people.using("restricted").dry_run(claim)
    assert answer.outcome is Outcome.DENIED
    assert f"{WRITES_DATA} " in answer.message
    assert "spec.volumeName" in answer.message
    answer = await people.using("may-write-data").dry_run(claim)
    assert answer.outcome is Outcome.ALLOWED, answer.message


async def test_a_claim_cannot_name_it_later(people: People, storage: Storage) -> None:
    """The name is judged when it is added to a claim as well."""
    volume = await storage.volume(DATA, storageClassName="another")
    researcher = people.using("restricted")
    claim = storage.claim("later")
    await researcher.create(claim)
    with pytest.raises(ApiStatusError, match=WRITES_DATA):
        await researcher.patch(claim, {"spec": {"volumeName": volume["metadata"]["name"]}})


@on_node
async def test_the_binder_gives_no_volume_of_the_node_to_who_may_not(
    people: People, storage: Storage, source: Json
) -> None:
    """The real binder is refused, until the namespace's default service account has the right.

    Then the Pod with the claim is judged as one with the path.
    """
    volume = await storage.volume(source)
    before = await storage.rejections()
    claim = storage.claim("matched")
    await people.using("restricted").create(claim)
    await storage.refused_since(before)
    assert await storage.kept_for(volume) == ""

    await storage.let_default_account_use("may-write-data")
    assert await storage.bound(claim) == volume["metadata"]["name"]
    await assert_only_who_may(people, storage, "matched", "may-write-data")


async def assert_only_who_may(people: People, storage: Storage, claim: str, holder: str) -> None:
    """Ask for a Pod with a claim that has /data, as who may and as who may not."""
    made = with_claim(claim, storage.namespace)
    answer = await people.using("restricted").dry_run_create(made, storage.namespace)
    assert answer.outcome is Outcome.DENIED, answer.body
    assert WRITES_DATA in answer.message
    assert "spec.volumes[0].persistentVolumeClaim" in answer.message
    answer = await people.using(holder).dry_run_create(made, storage.namespace)
    assert answer.outcome is Outcome.ALLOWED, answer.message


async def test_waiting_for_the_first_consumer_is_no_way_around(
    people: People, storage: Storage, admin: Client
) -> None:
    """Where a class waits for a Pod the scheduler binds: it is judged as the binder is.

    The scheduler's mark, written by hand, changes nothing; what the scheduler began with the
    right, the real binder completes.
    """
    await admin.create(waiting_class(storage))
    volume = await storage.volume(local("/data"))
    claim = storage.claim("waiting")
    claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "gpu-node-1"}
    created = await people.using("restricted").create(claim)
    reference = {
        "namespace": storage.namespace,
        "name": "waiting",
        "uid": created["metadata"]["uid"],
    }
    scheduler = people.component("system:kube-scheduler")
    with pytest.raises(ApiStatusError, match=WRITES_DATA):
        await scheduler.patch(volume, {"spec": {"claimRef": reference}})
    assert await storage.kept_for(volume) == ""

    await storage.let_default_account_use("may-write-data")
    await storage.soon(lambda: scheduler.patch(volume, {"spec": {"claimRef": reference}}))
    assert await storage.bound(claim) == volume["metadata"]["name"]


async def test_the_scheduler_binds_where_the_account_may(
    people: People, storage: Storage, admin: Client
) -> None:
    """The scheduler has no profile of its own, and needs none for what the account may have."""
    await admin.create(waiting_class(storage))
    await storage.let_default_account_use("may-write-data")
    scheduler = people.component("system:kube-scheduler")
    for number, source in enumerate((local("/data"), FOREIGN)):
        volume = await storage.volume(source)
        claim = {"namespace": storage.namespace, "name": f"scheduled-{number}"}
        bind = partial(scheduler.patch, volume, {"spec": {"claimRef": claim}})
        await storage.soon(bind)
        assert await storage.kept_for(volume) == claim["name"]


def waiting_class(storage: Storage) -> Json:
    """Return the class of local volumes, as Kubernetes' documentation has it."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": storage.class_name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


async def test_a_claim_written_on_a_volume_by_hand_is_judged(
    people: People, storage: Storage
) -> None:
    """Whoever may update volumes cannot give a path of the node to their namespace."""
    volume = await storage.volume(DATA)
    reference = {"spec": {"claimRef": {"namespace": storage.namespace, "name": "mine"}}}
    with pytest.raises(ApiStatusError, match=WRITES_DATA):
        await people.using("restricted").patch(volume, reference)
    with pytest.raises(ApiStatusError, match=f"you and service account {storage.namespace}"):
        await people.using("may-write-data").patch(volume, reference)
    await storage.let_default_account_use("may-write-data")
    await storage.soon(lambda: people.using("may-write-data").patch(volume, reference))


@pytest.mark.parametrize(
    ("source", "privilege"),
    [(DATA, WRITES_DATA), (FOREIGN, "privilege volume/csi/host.example.com,")],
    ids=["hostPath", "csi"],
)
async def test_a_volume_kept_for_one_claim_is_not_given_to_another(
    people: People, storage: Storage, source: Json, privilege: str
) -> None:
    """Also within a namespace it takes the privilege: the claim was what its author chose."""
    volume = await storage.volume(source, "theirs")
    reference = {"spec": {"claimRef": {"namespace": storage.namespace, "name": "mine"}}}
    with pytest.raises(ApiStatusError, match=privilege):
        await people.using("restricted").patch(volume, reference)


async def test_a_volume_kept_for_sallyport_cannot_be_taken_along(
    people: People, storage: Storage
) -> None:
    """What the webhook leaves out is judged once it is anyone's or another namespace's."""
    volume = await storage.volume(DATA, "own")
    own = {"namespace": "sallyport-system", "name": "spool"}
    researcher = people.using("restricted")
    await researcher.patch(volume, {"spec": {"claimRef": own}})
    for reference in (None, {"namespace": storage.namespace, "name": "mine"}):
        with pytest.raises(ApiStatusError, match=WRITES_DATA):
            await researcher.patch(volume, {"spec": {"claimRef": reference}})


async def test_a_volume_keeps_its_source(admin: Client, storage: Storage) -> None:
    """No volume of a driver becomes a path of the node later: the API has it immutable."""
    volume = await storage.volume(FOREIGN)
    for change in (
        {"csi": None, **DATA},
        {"csi": None, **local("/data")},
        {"csi": {"driver": "other.example.com"}},
    ):
        with pytest.raises(ApiStatusError) as refused:
            await admin.patch(volume, {"spec": change})
        assert refused.value.status == 422


async def test_two_volumes_kept_for_one_claim_are_both_judged(
    people: People, storage: Storage
) -> None:
    """Whoever may write /data cannot hide another path behind it: either may be what is bound."""
    await storage.volume(ROOT, "one")
    await storage.volume(DATA, "one")
    await storage.volume(ROOT, "other")
    await storage.volume(DATA, "other")
    holder = people.using("may-write-data")
    for name in ("one", "other"):
        answer = await holder.dry_run_create(with_claim(name, storage.namespace), storage.namespace)
        assert answer.outcome is Outcome.DENIED, answer.body


async def test_a_raw_device_of_the_node_is_judged_twice(people: People, storage: Storage) -> None:
    """A local volume in block mode is the device's path and a raw block device."""
    await storage.volume(local("/dev/sda"), "disk", volumeMode="Block")
    made = with_claim("disk", storage.namespace)
    main = made["spec"]["containers"][0]
    del main["volumeMounts"]
    main["volumeDevices"] = [{"name": "volume", "devicePath": "/dev/xvda"}]
    answer = await people.using("restricted").dry_run_create(made, storage.namespace)
    assert answer.outcome is Outcome.DENIED
    assert "privilege volume/block," in answer.message
    assert "privilege volume/hostPath:rw/dev/sda," in answer.message


def ephemeral(storage: Storage, **spec: str) -> Json:
    """Return a Pod with a volume whose claim is made with it."""
    template = {"spec": storage.claim_spec(**spec)}
    return with_volume({"ephemeral": {"volumeClaimTemplate": template}}, storage.namespace)


@pytest.mark.parametrize(
    ("source", "privilege", "holder"),
    [
        (DATA, WRITES_DATA, "may-write-data"),
        (FOREIGN, "privilege volume/csi/host.example.com,", "may-attach-host"),
    ],
    ids=["hostPath", "csi"],
)
async def test_an_ephemeral_volume_is_no_way_around(
    people: People, storage: Storage, source: Json, privilege: str, holder: str
) -> None:
    """A volume that the Pod's claim template names is judged as one that a claim names.

    The claim itself is made by a controller, whose right to provision says nothing.
    """
    volume = await storage.volume(source)
    made = ephemeral(storage, volumeName=volume["metadata"]["name"])
    answer = await people.using("restricted").dry_run_create(made, storage.namespace)
    assert answer.outcome is Outcome.DENIED, answer.body
    assert privilege in answer.message
    answer = await people.using(holder).dry_run_create(made, storage.namespace)
    assert answer.outcome is Outcome.ALLOWED, answer.message


async def test_a_volume_kept_for_an_ephemeral_claim_is_judged(
    people: People, storage: Storage
) -> None:
    """The claim of an ephemeral volume has a known name: the Pod gets what is kept for it."""
    await storage.volume(DATA, "pod-volume")
    made = ephemeral(storage)
    answer = await people.using("restricted").dry_run_create(made, storage.namespace)
    assert answer.outcome is Outcome.DENIED, answer.body
    assert WRITES_DATA in answer.message
    answer = await people.using("may-write-data").dry_run_create(made, storage.namespace)
    assert answer.outcome is Outcome.ALLOWED, answer.message


async def test_the_real_controller_makes_ephemeral_claims(people: People, storage: Storage) -> None:
    """Whoever may use the volume gets it: the controller's claim is not judged once more."""
    volume = await storage.volume(FOREIGN)
    made = ephemeral(storage, volumeName=volume["metadata"]["name"])
    await people.using("may-attach-host").create(made)
    await storage.appears("pod-volume")
    assert await storage.bound(storage.claim("pod-volume")) == volume["metadata"]["name"]


async def test_a_stateful_set_is_no_way_around(people: People, storage: Storage) -> None:
    """Claims that the real controller makes need the right of the default service account.

    The controller itself is a service account of kube-system, which may provision any volume.
    """
    volume = await storage.volume(FOREIGN)
    template = pod()
    spec = storage.claim_spec(volumeName=volume["metadata"]["name"])
    item = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "set", "namespace": storage.namespace},
        "spec": {
            "serviceName": "set",
            "selector": {"matchLabels": {"app": "set"}},
            "template": {"metadata": {"labels": {"app": "set"}}, "spec": template["spec"]},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": spec}],
        },
    }
    before = await storage.rejections()
    await people.using("restricted").create(item)
    await storage.refused_since(before)
    with pytest.raises(ApiStatusError, match="not found"):
        await storage.get_claim("data-set-0")

    await storage.let_default_account_use("may-attach-host")
    await storage.appears("data-set-0")
