"""A LiveCluster that has not loaded says so, and ends cleanly."""

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.base.errors import InvalidObjectError, NotSyncedError
from kube.client.settings import LiveSettings
from kube.cluster.live import LiveCluster
from tests.unit.kube.scripted_server import ScriptedServer, eventually, reply


async def test_nothing_is_known_before_it_was_loaded(
    kubeconfig: Path, server: ScriptedServer
) -> None:
    """Version, profiles and namespaces are named with their last error; all ends with `stop`.

    The server's tasks end too, so its connections were closed.
    """
    server.answers = [reply({"message": "not now"}, 503)]
    before = asyncio.all_tasks()
    cluster = LiveCluster(kubeconfig)
    assert len(cluster.missing()) == 5
    with capture_logs():
        await cluster.start()
        try:
            await eventually(lambda: all("not now" in line for line in cluster.missing()))
            watched = ("ContainerProfiles", "Namespaces", "PersistentVolumes", "WeightStores")
            parts = ("version of the cluster", *(f"watch of {kind}" for kind in watched))
            for line, part in zip(cluster.missing(), parts, strict=True):
                assert line.startswith(part)
            with pytest.raises(NotSyncedError, match="first list not finished"):
                cluster.profiles()
            with pytest.raises(NotSyncedError, match="first list not finished"):
                await cluster.namespace("default")
            with pytest.raises(NotSyncedError, match="version of the cluster"):
                await cluster.wait(0.05)
        finally:
            await cluster.stop()
    await eventually(lambda: asyncio.all_tasks() == before)


async def test_stop_before_start_is_harmless(tmp_path: Path) -> None:
    """A cluster that was never started can be stopped, also twice."""
    cluster = LiveCluster(tmp_path / "kubeconfig")
    await cluster.stop()
    await cluster.stop()
    assert cluster.access_reviews() == {"hit": 0, "miss": 0, "error": 0}


async def test_a_namespace_without_a_name_is_refused_at_once(tmp_path: Path) -> None:
    """It is not waited for, whatever has been loaded: no watch will ever bring it."""
    cluster = LiveCluster(tmp_path / "kubeconfig", LiveSettings(namespace_wait_s=60))
    async with asyncio.timeout(1):
        with pytest.raises(InvalidObjectError, match="namespace: is empty"):
            await cluster.namespace("")


def test_answers_are_remembered_as_long_as_the_reference_says() -> None:
    """docs/reference/names.md: a yes for 10 s, a no for 2 s."""
    assert (LiveSettings().allow_age_s, LiveSettings().deny_age_s) == (10.0, 2.0)
