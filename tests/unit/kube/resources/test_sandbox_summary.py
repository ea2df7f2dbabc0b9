"""The summary of the sandbox's nodes in memory: believed for a while, no reason to fail."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from structlog.testing import capture_logs

from core.base.background import in_background
from core.base.errors import InvalidObjectError
from core.sandbox.capacity import Capacity, NodeShape, encode_capacity
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.cluster.folder import FolderCluster
from kube.resources.sandbox_capacity import NAME, OLDEST_S, WatchedCapacities, parse_capacities
from tests.unit.kube.scripted_server import ScriptedServer, eventually, reply, stream

NOW = 1_800_000_000.0
POOL = Capacity(NOW, 1, (NodeShape(1, {"cpu": 1}, {"cpu": 1}),))


def written(**data: str) -> dict[str, Any]:
    """Return the ConfigMap."""
    metadata = {"name": NAME, "namespace": "s", "resourceVersion": "7"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def test_sandbox_summary_watches_one_config_map(
    server: ScriptedServer, connection: Connection
) -> None:
    """No other ConfigMap of the namespace is asked for; what is there is given by class."""
    listed = {
        "metadata": {"resourceVersion": "7"},
        "items": [written(gvisor=encode_capacity(POOL))],
    }
    server.answers = [reply(listed), stream()]
    clock = [NOW]
    watched = WatchedCapacities(connection, LiveSettings(namespace="s"), lambda: clock[0])
    async with in_background(watched.run()):
        await eventually(lambda: watched.of("gvisor") == POOL)
        assert watched.of("kata") is None
        await eventually(lambda: len(server.requests) > 1)
        assert {each["fieldSelector"] for each in server.requests} == {f"metadata.name={NAME}"}
        for age, known in ((OLDEST_S, True), (OLDEST_S + 1, False), (-OLDEST_S - 1, False)):
            clock[0] = NOW + age
            assert (watched.of("gvisor") is not None) is known


async def test_sandbox_summary_without_a_namespace_asks_nothing(
    server: ScriptedServer, connection: Connection
) -> None:
    """Nothing is known then, and nothing fails."""
    watched = WatchedCapacities(connection, LiveSettings())
    await watched.run()
    assert (watched.of("gvisor"), server.requests) == (None, [])


@pytest.mark.parametrize("text", ["", "{", "{}", encode_capacity(POOL).replace(":1,", ":-1,")])
def test_a_broken_summary_is_left_out_loudly(text: str) -> None:
    """The others count."""
    body = written(gvisor=text, kata=encode_capacity(POOL))
    with capture_logs() as logs:
        assert parse_capacities(msgspec.json.encode(body)) == {"kata": POOL}
    (said,) = logs
    assert said["log_level"] == "error"
    assert said["problem"].startswith(f"ConfigMap {NAME}: data[gvisor]: ")


def test_what_is_no_configmap_is_named() -> None:
    """kube-apiserver stores none such."""
    with pytest.raises(InvalidObjectError, match=f"ConfigMap {NAME}: data"):
        parse_capacities(b'{"data": 1}')
    assert parse_capacities(b'{"data": null}') == {}


def test_a_folder_may_hold_it(tmp_path: Path) -> None:
    """However old: a folder is a moment's. Other ConfigMaps are left alone."""
    other = written(gvisor="{")
    other["metadata"]["name"] = "other"
    body = written(gvisor=encode_capacity(POOL))
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([other, body]))
    cluster = FolderCluster(tmp_path)
    assert (cluster.capacity("gvisor"), cluster.capacity("kata")) == (POOL, None)
