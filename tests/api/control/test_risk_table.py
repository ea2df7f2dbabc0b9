"""The site's risk table comes into the snapshot once it is sound, and only then."""

import math
import time
from collections.abc import Mapping

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from control.risk.table import RiskTables
from core.base.errors import NotLeaderError
from core.risk.model import RiskEntry, RiskSource, identity_key
from identity.risk.table import parse_table, read_rows
from kube.client.objects import Objects
from kube.leader.lease import Leadership
from kube.risk.store import RiskStore

LEADER = Leadership(1, math.inf, time.monotonic)
OID = "00000000-0000-4000-8000-00000000000a"

SOUND = """
format: 1
rows:
# Ask alice@example.com before you change it.
- {name: weights, standings: [medium], namespaces: [weights], effect: deny}
"""
BROKEN = SOUND.replace("medium", "mediun")


class Site:
    """A namespace of Sallyport's with a ConfigMap, and the loop that reads it."""

    def __init__(self, objects: Objects, namespace: str) -> None:
        self._objects = objects
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._path = f"{self._collection}/sallyport-risk-table"
        self.store = RiskStore(objects, namespace)
        self.registry = CollectorRegistry()
        self.tables = RiskTables(objects, self.store, namespace, self.registry)

    async def write(self, data: Mapping[str, str]) -> None:
        """Write the ConfigMap."""
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "sallyport-risk-table"},
            "data": data,
        }
        await self._objects.apply(self._path, body, "site")

    async def delete(self) -> None:
        """Delete the ConfigMap."""
        await self._objects.delete(self._path)

    async def run(self) -> str:
        """Run the loop once, and give the table that gates would read."""
        await self.tables.run(LEADER)
        return (await self.store.read()).head.table

    @property
    def broken(self) -> float:
        """The metric."""
        value = self.registry.get_sample_value("sallyport_risk_table_broken")
        assert value is not None
        return value


@pytest.fixture
def site(objects: Objects, namespace: str) -> Site:
    """A site of this test's own."""
    return Site(objects, namespace)


async def test_without_a_table_the_shipped_one_is_in_force(site: Site) -> None:
    """Nothing is written for it, and nothing is broken."""
    assert await site.run() == ""
    assert (await site.store.read()).head.version == 0
    assert site.broken == 0


async def test_a_sound_table_comes_into_force_without_its_comments(site: Site) -> None:
    """Its rows are those of the ConfigMap; a comment may name people, and stays there."""
    await site.write({"table.yaml": SOUND})
    stored = await site.run()
    assert read_rows(stored, "t") == read_rows(SOUND, "t")
    assert parse_table(stored, "t").digest == parse_table(SOUND, "t").digest
    assert "alice" not in stored


async def test_what_others_wrote_stays(site: Site) -> None:
    """The table is one part of the snapshot: entries of pollers are kept, and not read again."""
    entry, key = RiskEntry(updated=1), identity_key(OID)
    await site.store.update(lambda draft: draft.put(RiskSource.ENTRA, key, entry))
    await site.write({"table.yaml": SOUND})
    assert await site.run()
    found = await site.store.read()
    assert (found.entry(RiskSource.ENTRA, key), found.head.version) == (entry, 2)
    await site.run()
    assert (await site.store.read()).head.version == 2


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"table.yaml": BROKEN}, "rows[0].standings[0]: 'mediun' is not known: did you mean"),
        ({"table.yaml": ""}, "must be one YAML document"),
        ({"table.yml": SOUND}, "data[table.yaml]: is missing: put the table there"),
        ({}, "data[table.yaml]: is missing"),
    ],
)
async def test_a_broken_table_leaves_the_old_one_in_force_loudly(
    site: Site, data: Mapping[str, str], problem: str
) -> None:
    """It is in the log once, with field and fix, and in the metric until it is mended.

    The loop has not failed: `control` stays ready.
    """
    await site.write({"table.yaml": SOUND})
    before = await site.run()
    await site.delete()
    await site.write(data)
    with capture_logs() as logs:
        assert [await site.run(), await site.run()] == [before, before]
    assert [problem in each["problem"] for each in logs] == [True]
    assert site.broken == 1
    await site.write({"table.yaml": SOUND.replace("deny", "warn")})
    assert "warn" in await site.run()
    assert site.broken == 0


async def test_to_delete_the_table_is_to_have_none(site: Site) -> None:
    """Then the shipped one is in force again."""
    await site.write({"table.yaml": SOUND})
    assert await site.run()
    await site.delete()
    assert await site.run() == ""


async def test_only_the_leader_takes_a_table_over(site: Site) -> None:
    """Without the lease nothing is read or written, and the metric says nothing."""
    await site.write({"table.yaml": SOUND})
    with pytest.raises(NotLeaderError):
        await site.tables.run(Leadership(1, -math.inf, time.monotonic))
    assert (await site.store.read()).head.table == ""
    await site.run()
    site.tables.loop.forget()
    assert math.isnan(site.broken)
