"""A namespace full of allowlists stalls neither the gate nor what all namespaces share."""

import asyncio
from typing import Any

import pytest

from admission.egress import allowlists
from core.decision.decision import Verdict
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.egress.allowlist_requests import found, intent, named, written
from tests.unit.admission.world import Folder

NARROW = {"dnsName": "packages.example.org"}
NAMES = ("a", "b")
HALVES = ({"cidr": "0.0.0.0/1"}, {"cidr": "128.0.0.0/1"})


def world(folder: Folder, *items: dict[str, Any]) -> Watched:
    """Return a cluster with the namespace, and objects in it."""
    folder.namespace("train")
    folder.documents.extend(items)
    return Watched(folder.cluster())


async def test_others_have_their_turn_while_many_are_read(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """A namespace full of allowlists does not hold the gate's loop."""
    many = [named({"cidr": f"20.1.{n}.0/24"}, f"many-{n}") for n in range(100)]
    cluster = world(folder, *many)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(count())
    await written(cluster, engine, intent({"cidr": "20.1.200.0/24"}))
    other.cancel()
    assert turns >= len(many)


async def test_a_namespace_holds_so_many_and_no_more(
    engine: EmbeddedEngine, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever fills one would stall what all namespaces share; what is there may still change."""
    monkeypatch.setattr(allowlists, "MOST_HERE", 2)
    items = [named(NARROW, name) for name in NAMES]
    cluster = world(folder, *items)
    decision = await written(cluster, engine, intent(NARROW, name="c"))
    assert decision.verdict is Verdict.DENY
    (finding,) = found(decision, "many")
    assert "has 2 allowlists, or more" in finding.message
    changed = named(NARROW, "a", reason="more")
    assert (await written(cluster, engine, changed, items[0])).verdict is Verdict.ALLOW


async def test_a_namespace_names_so_many_networks_and_no_more(
    engine: EmbeddedEngine, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exceptions count, as do those of one that is broad by itself; it may become smaller."""
    monkeypatch.setattr(allowlists, "MOST_NETWORKS", 4)
    first = {"cidr": "20.1.1.0/24", "except": ["20.1.1.1/32", "20.1.1.2/32"]}
    old = named(first, "a")
    cluster = world(folder, old)
    assert (await written(cluster, engine, intent({"cidr": "0.0.0.0/0"}))).allowed
    two = HALVES
    (finding,) = found(await written(cluster, engine, intent(*two)), "many")
    assert finding.path == "spec.to"
    assert "it names 5 networks" in finding.message
    monkeypatch.setattr(allowlists, "MOST_NETWORKS", 1)
    smaller = named(first | {"except": ["20.1.1.1/32"]}, "a")
    assert (await written(cluster, engine, smaller, old)).verdict is Verdict.ALLOW
