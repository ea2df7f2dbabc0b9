"""kube-apiserver goes away and comes back."""

import asyncio
import time
from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.base.errors import AccessReviewError, NotSyncedError
from core.people.subject import Subject
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from kube.manifests.reader import read_paths
from tests.api.kube.objects import is_answered, profile, wait_for
from tests.api.kube.restartable_apiserver import RestartableServer
from tests.harness.programs.availability import require
from tests.harness.programs.client import connect

CRDS = Path("helm/sallyport-crds/templates/containerprofiles.yaml")


async def test_watches_come_back_after_kube_apiserver_did(tmp_path: Path) -> None:
    """Stale while it is away, said so; then listed again, since the old version is gone (410)."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = await asyncio.to_thread(RestartableServer, tmp_path)
    cluster = LiveCluster(server.kubeconfig(), LiveSettings(max_staleness_s=5, backoff_cap_s=1))
    try:
        async with connect(server) as client:
            await client.apply(manifest.value for manifest in read_paths([CRDS]))
            await client.wait_for_kind("sallyport.dev/v1alpha1", "ContainerProfile")
            await cluster.start()
            await cluster.wait(60)
            await client.create(profile("before", "a/b"))
            await wait_for(lambda: "before" in cluster.profiles().by_name, 60)
        began = time.monotonic()
        with capture_logs() as logs:
            await _be_away(server, cluster)
            await asyncio.to_thread(server.start_kube_apiserver)
            async with connect(server) as client:
                await client.create(profile("after", "a/b"))
            await wait_for(lambda: not cluster.missing(), 60)
            await wait_for(lambda: "after" in cluster.profiles().by_name, 60)
            await wait_for(
                lambda: is_answered(lambda: cluster.exposing_services("default", {})), 60
            )
            made = partial(cluster.service_account_made, "default", "default")
            await wait_for(lambda: is_answered(made), 60)
            assert (await cluster.namespace("default")).name == "default"
        gone = [log for log in logs if log["event"] == "watch is too old: listing again"]
        assert "Namespaces" in {log["watch"] for log in gone}
        attempts = [log for log in logs if log["event"] == "watch broke: trying again"]
        watches = len({log["watch"] for log in attempts})
        most = watches * (10 + 2 * (time.monotonic() - began))  # Half a second apart, but for some.
        assert 2 <= len(attempts) < most, "attempts wait for one another"
    finally:
        await cluster.stop()
        await asyncio.to_thread(server.stop)


async def _be_away(server: RestartableServer, cluster: LiveCluster) -> None:
    """Stop kube-apiserver, and see what is said of it: fresh at first, then not."""
    await asyncio.to_thread(server.stop_kube_apiserver)
    assert "before" in cluster.profiles().by_name
    await wait_for(lambda: len(cluster.missing()) == 4, 60)
    with pytest.raises(NotSyncedError, match=r"ContainerProfiles: no contact .* since 20"):
        cluster.profiles()
    with pytest.raises(NotSyncedError, match="Namespaces: no contact"):
        await cluster.namespace("default")
    with pytest.raises(NotSyncedError, match="PersistentVolumes: no contact"):
        cluster.node_volumes_of("default/a")
    with pytest.raises(NotSyncedError, match="WeightStores: "):
        cluster.weights.stores()
    with pytest.raises(NotSyncedError, match="Services: no contact"):
        cluster.exposing_services("default", {})
    with pytest.raises(NotSyncedError, match="ServiceAccounts: no contact"):
        cluster.service_account_made("default", "default")
    with pytest.raises(AccessReviewError, match="no answer"):
        await cluster.allowed(Subject("alice"), "use", "containerprofiles", "a", "default")
