"""One definition that cannot be read, or makes no sense, keeps no other from being found."""

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from control.discovery.loop import Discovery
from core.base.errors import ClusterError
from kube.client.connection import Connection
from kube.client.objects import Objects, Page
from kube.leader.lease import Leadership
from tests.unit.control.discovery.test_workload_kinds import CHART, WITH, definition

LEADER = Leadership(1, math.inf, time.monotonic)


class Cluster(Objects):
    """Definitions by name, of which an error is what asking for one ends in."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        super().__init__(Connection(Path("none")))
        self.definitions = definitions
        self.reads: list[str] = []
        self.applied: list[list[str]] = []

    async def page(self, *_: Any, **__: Any) -> Page:
        """List all of them."""
        listed = [{"metadata": {"name": name, "uid": "u"}} for name in self.definitions]
        return Page([msgspec.Raw(msgspec.json.encode(each)) for each in listed], "")

    async def get(self, path: str) -> dict[str, Any] | None:
        """Return a definition, or a registration."""
        name = path.rpartition("/")[2]
        if "webhookconfigurations" in path:
            hooks = [CHART, CHART | {"name": "notes.sallyport.dev"}] if name == "sallyport" else []
            return {"metadata": {"name": name, "uid": "u"}, "webhooks": hooks}
        self.reads.append(name)
        found = self.definitions[name]
        if isinstance(found, ClusterError):
            raise found
        return dict(found)

    async def apply(self, path: str, body: Mapping[str, Any], manager: str = "") -> dict[str, Any]:
        """Note the groups that are covered."""
        assert (path.rpartition("/")[2], manager) == ("sallyport-discovered", "sallyport-discovery")
        rules = body["webhooks"][0]["rules"]
        self.applied.append([each["apiGroups"][0] for each in rules])
        return {}

    async def create(self, collection: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse Events."""
        raise ClusterError(f"POST {collection}: no {body['reason']}", 403)


async def test_the_others_are_found() -> None:
    """It is said once what is wrong; what could not be read is tried again."""
    cluster = Cluster(
        {
            "slow.example.org": ClusterError("no answer"),
            "broken.example.net": {"spec": 5},
            "widgets.example.com": definition((True, WITH)),
        }
    )
    registry = CollectorRegistry()
    discovery = Discovery(cluster, registry)
    with capture_logs() as logs:
        for _ in range(3):
            await discovery.run(LEADER)
    assert cluster.applied == [["example.com"]] * 6
    assert registry.get_sample_value("sallyport_discovered_kinds") == 1
    left_out = [each["crd"] for each in logs if each["log_level"] == "warning"]
    assert sorted(left_out) == ["broken.example.net", "slow.example.org", "widgets.example.com"]
    assert cluster.reads.count("slow.example.org") == 3
    assert cluster.reads.count("widgets.example.com") == 1


async def test_a_read_that_is_forbidden_is_an_error() -> None:
    """Nothing is registered by half of what there is."""
    cluster = Cluster({"a.example.org": ClusterError("GET: 403", 403)})
    with pytest.raises(ClusterError):
        await Discovery(cluster, CollectorRegistry()).run(LEADER)
    assert cluster.applied == []


async def test_after_its_term_it_shows_nothing() -> None:
    """Another replica knows better."""
    registry = CollectorRegistry()
    discovery = Discovery(Cluster({}), registry)
    await discovery.run(LEADER)
    assert registry.get_sample_value("sallyport_discovered_kinds") == 0
    discovery.loop.forget()
    shown = registry.get_sample_value("sallyport_discovered_kinds")
    assert shown is not None
    assert math.isnan(shown)
