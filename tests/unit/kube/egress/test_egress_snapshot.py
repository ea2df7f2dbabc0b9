"""One look at what egress depends on: a folder of YAML, and lists of a cluster page by page."""

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from core.base.errors import ClusterError
from kube.client.objects import Objects, Page
from kube.egress.snapshot import find_namespaces, read_cluster, read_folder
from tests.unit.egress.allowlist_objects import allowlist, destinations

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "research", "labels": {"app": "a"}},
    "spec": {
        "serviceAccountName": "trainer",
        "nodeName": "node-1",
        "containers": [{"name": "main", "ports": [{"containerPort": 80}]}],
    },
    "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
}


def _folder(path: Path, *objects: Mapping[str, Any]) -> Path:
    (path / "all.yaml").write_text(yaml.safe_dump_all([dict(each) for each in objects]))
    return path


def test_pods_are_read_as_far_as_egress_needs(tmp_path: Path) -> None:
    """Who they are and where; those that have ended are none."""
    over = {**POD, "metadata": {"name": "b"}, "status": {"phase": "Succeeded"}}
    (pod,) = read_folder(_folder(tmp_path, POD, over)).pods
    assert (pod.key, pod.service_account, pod.node, pod.host_network) == (
        "research/a",
        "trainer",
        "node-1",
        False,
    )
    assert pod.addresses == (ip_address("10.0.0.1"), ip_address("fd00::1"))
    assert (pod.containers, pod.listens) == (("main",), (80,))


def test_broken_objects_are_told_and_take_nothing_else_along(tmp_path: Path) -> None:
    """With their place; the others are read."""
    broken = {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "EgressAllowlist",
        "metadata": {"name": "x", "namespace": "research"},
        "spec": {},
    }
    odd = {**POD, "metadata": {"name": "odd"}, "status": {"podIP": "no address"}}
    seen = read_folder(_folder(tmp_path, broken, odd, POD))
    assert [pod.name for pod in seen.pods] == ["a"]
    assert "all.yaml#1" in seen.broken[0]
    assert "EgressAllowlist x" in seen.broken[0]
    assert "status.podIPs" in seen.broken[1]


def test_learnt_names_are_those_of_sallyports_configmaps(tmp_path: Path) -> None:
    """No other ConfigMap is kept."""
    maps = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}}
        for name in ("sallyport-egress-names-0", "other")
    ]
    seen = read_folder(_folder(tmp_path, *maps))
    assert seen.learnt == {"sallyport-egress-names-0/k": b"v"}


def test_namespaces_that_intents_name() -> None:
    """Their own, and those of Services and Pods, also of sets."""
    inside = {"service": {"namespace": "data", "name": "a"}}
    shared = destinations({"pods": {"namespace": "other"}})
    assert find_namespaces([allowlist(inside)], [shared]) == {"research", "data", "other"}


class _Lists(Objects):
    """Lists from memory, in pages of one; what is not in it answers with a status."""

    def __init__(self, lists: Mapping[str, list[dict[str, Any]]], status: int = 404) -> None:
        self.asked: list[str] = []
        self._lists = lists
        self._status = status

    async def page(
        self, collection: str, limit: int, continue_token: str = "", *_: object, **__: object
    ) -> Page:
        del limit
        self.asked.append(collection)
        if collection not in self._lists:
            raise ClusterError("no", self._status)
        items = self._lists[collection]
        place = int(continue_token or 0)
        more = str(place + 1) if place + 1 < len(items) else ""
        part = items[place : place + 1]
        return Page([msgspec.Raw(msgspec.json.encode(one)) for one in part], more)


def _lists(**more: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {
        "/api/v1/namespaces": [{"metadata": {"name": "research"}}],
        "/api/v1/namespaces/system/configmaps": [],
        "/api/v1/namespaces/research/pods": [POD, {**POD, "metadata": {"name": "b"}}],
        "/api/v1/namespaces/research/services": [],
        "/apis/discovery.k8s.io/v1/namespaces/research/endpointslices": [],
        **more,
    }


async def test_cluster_is_read_where_it_matters() -> None:
    """Pods of the namespaces asked for alone; kinds that are not installed are none."""
    lists = _Lists(_lists())
    seen = await read_cluster(lists, "system", {"research"})
    assert len(seen.pods) == 2
    assert not [path for path in lists.asked if path == "/api/v1/pods"]


async def test_what_may_not_be_listed_is_an_error() -> None:
    """Nothing is taken for absent that was only not shown."""
    with pytest.raises(ClusterError, match=r"every EgressAllowlist at .* must be listed"):
        await read_cluster(_Lists(_lists(), 403), "system", {"research"})
