"""What changes in the cluster is in memory soon after."""

import pytest
from structlog.testing import capture_logs

from core.base.errors import NotSyncedError
from kube.cluster.live import LiveCluster
from tests.api.kube.objects import new_name, profile, wait_for
from tests.api.objects.other_objects import persistent_volume
from tests.harness.programs.client import Client


async def test_a_profile_is_seen_when_created_changed_and_deleted(
    client: Client, live: LiveCluster
) -> None:
    """Each change of a ContainerProfile is in force soon, in a new revision."""
    name = new_name("seen")
    before = live.profiles()
    await client.create(profile(name, "host/network"))
    await wait_for(lambda: name in live.profiles().by_name, 20)
    created = live.profiles()
    assert created.revision != before.revision
    assert created.by_name[name].covers("host/network")

    await client.patch(profile(name), {"spec": {"privileges": ["host/pid"]}})
    await wait_for(lambda: live.profiles().by_name[name].covers("host/pid"), 20)
    assert not live.profiles().by_name[name].covers("host/network")
    assert created.by_name[name].covers("host/network"), "a snapshot never changes"

    await client.delete(profile(name))
    await wait_for(lambda: name not in live.profiles().by_name, 20)
    assert live.profiles().revision == before.revision


async def test_a_namespace_is_waited_for(client: Client, live: LiveCluster) -> None:
    """A namespace is known right after it was created, with its labels, and forgotten after."""
    name = new_name("new")
    await client.create_namespace(name, {"sallyport.dev/mode": "warn"})
    found = await live.namespace(name)
    assert found.labels["sallyport.dev/mode"] == "warn"
    assert found.labels["kubernetes.io/metadata.name"] == name
    await client.patch(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        {"metadata": {"annotations": {"sallyport.dev/ceiling": "a"}}},
    )

    async def changed() -> bool:
        return (await live.namespace(name)).ceiling == frozenset({"a"})

    await wait_for(changed, 20)


async def test_a_volume_of_a_node_is_known_by_its_claim_while_it_is_bound(
    client: Client, live: LiveCluster
) -> None:
    """A claim is its hostPath from the binding on, and nothing once the volume is away."""
    name, claim = new_name("node-volume"), new_name("claim")
    volume = persistent_volume(name, {"hostPath": {"path": "/srv/data"}})
    await client.create(volume)
    await wait_for(lambda: live.volume(name) is not None, 20)
    assert not live.node_volumes_of(f"default/{claim}")
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": claim}
    await client.patch(volume, {"spec": {"claimRef": reference}})
    await wait_for(lambda: bool(live.node_volumes_of(f"default/{claim}")), 20)
    (found,) = live.node_volumes_of(f"default/{claim}")
    assert (found.name, found.types, found.path) == (name, ("hostPath",), "/srv/data")

    await client.delete(volume)
    await client.patch(volume, {"metadata": {"finalizers": None}})
    await wait_for(lambda: live.volume(name) is None, 20)
    assert not live.node_volumes_of(f"default/{claim}")


async def test_an_unknown_namespace_is_an_error_after_a_short_wait(live: LiveCluster) -> None:
    """One that never comes ends in NotSyncedError, not in a guess."""
    with pytest.raises(NotSyncedError, match="namespace nowhere is not known yet"):
        await live.namespace("nowhere")


async def test_a_profile_that_cannot_be_read_is_left_out_loudly(
    client: Client, live: LiveCluster
) -> None:
    """A profile that this release cannot read is a problem of the set, logged once a change."""
    name = new_name("broken")
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/containerprofiles.sallyport.dev"
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/rank/maximum"
    await _json_patch(client, crd, path, 5000)
    try:
        with capture_logs() as logs:
            await _create_when_allowed(client, profile(name, rank=2000))
            await wait_for(lambda: _has_problem(live, name), 20)
            await client.patch(profile(name), {"metadata": {"labels": {"a": "b"}}})
            await client.create(profile(f"{name}-other"))
            await wait_for(lambda: f"{name}-other" in live.profiles().by_name, 20)
        assert name not in live.profiles().by_name
        told = [log for log in logs if log.get("profile") == name]
        assert [log["log_level"] for log in told] == ["error"]
    finally:
        await client.delete(profile(name))
        await _json_patch(client, crd, path, 1000)
    await wait_for(lambda: not live.profiles().problems, 20)


async def _json_patch(client: Client, target: str, path: str, value: int) -> None:
    change = [{"op": "replace", "path": path, "value": value}]
    status, _ = await client.request(
        "PATCH",
        target,
        change,
        content_type="application/json-patch+json",
    )
    assert status == 200


async def _create_when_allowed(client: Client, item: dict[str, object]) -> None:
    async def created() -> bool:
        url = "/apis/sallyport.dev/v1alpha1/containerprofiles"
        status, _ = await client.request("POST", url, item)
        return status == 201

    await wait_for(created, 60)


def _has_problem(live: LiveCluster, name: str) -> bool:
    wanted = f"ContainerProfile {name}: spec.rank: 2000"
    return any(problem.startswith(wanted) for problem in live.profiles().problems)
