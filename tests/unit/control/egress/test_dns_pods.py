"""Each Pod of the cluster's DNS is asked for names."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from control.egress.dns_pods import DnsPods
from core.base.errors import ClusterError
from egress.dns.resolver import NameServer
from kube.client.connection import Connection
from kube.client.objects import Objects, Page
from tests.unit.control.egress.test_dns_refresh import LEADER


class Pods(Objects):
    """Lists Pods as kube-apiserver does (core/v1 PodList), by namespace; a broken one none."""

    def __init__(self, pods: dict[str, list[dict[str, Any]]]) -> None:
        super().__init__(Connection(None))
        self.pods = pods
        self.asked: list[tuple[str, str]] = []
        self.broken = False

    async def page(
        self,
        collection: str,
        limit: int,
        continue_token: str = "",
        parameters: Mapping[str, str] | None = None,
        *,
        metadata_only: bool = False,
    ) -> Page:
        """Return all of a namespace."""
        del limit, continue_token, metadata_only
        if self.broken:
            raise ClusterError("GET: 500 broken", 500)
        namespace = collection.split("/")[4]
        self.asked.append((namespace, (parameters or {}).get("labelSelector", "")))
        items = self.pods.get(namespace, [])
        return Page([msgspec.Raw(msgspec.json.encode(each)) for each in items], "")


def pod(name: str, *addresses: str) -> dict[str, Any]:
    """Return a Pod with addresses, or without one as it has none at first."""
    status: dict[str, Any] = {}
    if addresses:
        status = {"podIP": addresses[0], "podIPs": [{"ip": each} for each in addresses]}
    return {"metadata": {"name": name}, "status": status}


WHERE = (("kube-system", {"k8s-app": "kube-dns"}), ("dns", {"app": "node-local", "tier": "x"}))


async def test_all_addresses_of_all_pods_are_told() -> None:
    """Of each namespace, by its labels, on the port of DNS."""
    told: list[Sequence[NameServer]] = []
    pods = Pods(
        {
            "kube-system": [pod("b", "10.244.0.9"), pod("a", "10.244.0.3", "fd00::3"), pod("new")],
            "dns": [pod("c", "10.244.1.3")],
        }
    )
    await DnsPods(pods, WHERE, 5353, told.append).run(LEADER)
    assert [str(each) for each in told[0]] == [
        "10.244.0.3:5353",
        "10.244.0.9:5353",
        "10.244.1.3:5353",
        "[fd00::3]:5353",
    ]
    assert pods.asked == [("kube-system", "k8s-app=kube-dns"), ("dns", "app=node-local,tier=x")]


async def test_each_pod_is_told_once_to_who_follows_its_log() -> None:
    """By its first address; it has one log, whatever addresses it has."""
    told: list[Sequence[str]] = []
    pods = Pods({"kube-system": [pod("a", "10.244.0.3", "fd00::3"), pod("b", "10.244.0.2")]})
    await DnsPods(pods, WHERE, 53, lambda _: None, told.append).run(LEADER)
    assert told == [["10.244.0.2", "10.244.0.3"]]


async def test_pods_stay_known_while_nobody_lists_them() -> None:
    """kube-apiserver away is no reason to ask fewer."""
    told: list[Sequence[NameServer]] = []
    pods = Pods({"kube-system": [pod("a", "10.244.0.3")]})
    pods.broken = True
    with pytest.raises(ClusterError):
        await DnsPods(pods, WHERE, 53, told.append).run(LEADER)
    assert told == []
