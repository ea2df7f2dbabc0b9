"""The life of Pods on a real cluster: recorded once each, whoever leads."""

import time
from collections.abc import AsyncIterator

import pytest

from core.weights.documents.pod_life import LifeEvent
from tests.api.kube.objects import new_name, wait_for
from tests.api.weights.followers import (
    Scene,
    Taken,
    leading,
    pod,
    run_pod,
    scene_of,
    stop_pod,
    told_by,
)
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client

WHOLE_LIFE = [LifeEvent.SEEN, LifeEvent.ADDRESSED, LifeEvent.ENDED]


@pytest.fixture
async def scene(apiserver: ApiServer, client: Client) -> AsyncIterator[Scene]:
    """An installation of this test's own."""
    async with scene_of(apiserver, client, new_name("lives")) as made:
        yield made


async def test_a_pod_is_recorded_from_its_creation_to_its_end(client: Client, scene: Scene) -> None:
    """Each event once, with what is known: addresses of Pod and node, times that the Pod says."""
    taken, space = Taken(scene.namespace), scene.namespace
    async with leading(scene.lives(taken)):
        await wait_for(lambda: bool(taken.changes), 60)
        uid = await run_pod(client, "train", space, "10.2.0.7")
        addressed = await taken.until("train", LifeEvent.ADDRESSED)
        await stop_pod(client, "train", space, "2026-11-01T11:30:00Z")
        ended = await taken.until("train", LifeEvent.ENDED)
        await client.delete(pod("train", space))
        await client.create(pod("mark", space))
        await taken.until("mark", LifeEvent.SEEN)
    assert taken.events("train") == WHOLE_LIFE
    assert {each.uid for each in taken.of("train")} == {uid}
    assert (addressed.namespace, addressed.service_account) == (space, "default")
    assert (addressed.node, addressed.addresses) == ("node-1", ["10.2.0.7"])
    assert addressed.node_addresses == ["10.1.0.4"]
    assert addressed.began == "2026-11-01T10:00:00.000Z"
    assert (ended.ended, ended.sure) == ("2026-11-01T11:30:00.000Z", True)
    assert ended.addresses == ["10.2.0.7"], "the last document says all"


async def test_a_pod_that_is_deleted_without_a_word_has_no_sure_end(
    client: Client, scene: Scene
) -> None:
    """Taken away by force, its containers may run on: nobody said that they stopped."""
    taken, space, before = Taken(scene.namespace), scene.namespace, time.time()
    async with leading(scene.lives(taken)):
        await run_pod(client, "forced", space, "10.2.0.8")
        await taken.until("forced", LifeEvent.ADDRESSED)
        await client.delete(pod("forced", space))
        ended = await taken.until("forced", LifeEvent.ENDED)
        await client.create(pod("never-ran", space))
        await taken.until("never-ran", LifeEvent.SEEN)
        await client.delete(pod("never-ran", space))
        never = await taken.until("never-ran", LifeEvent.ENDED)
    assert not ended.sure
    assert ended.ended > f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(before))}"
    assert never.sure, "what no node was given to cannot run on"


async def test_the_next_leader_misses_nothing_and_repeats_nothing(
    client: Client, scene: Scene
) -> None:
    """What happened while nobody led is recorded by whoever leads next, and there is no gap."""
    first, second, space = Taken(scene.namespace), Taken(scene.namespace), scene.namespace
    async with leading(scene.lives(first), 1):
        for number in range(4):
            await run_pod(client, f"stays-{number}", space, f"10.2.1.{number}")
        await run_pod(client, "leaves", space, "10.2.1.9")
        await first.until("leaves", LifeEvent.ADDRESSED)
        await scene.saved(after=time.time())
    await client.delete(pod("leaves", space))
    await run_pod(client, "came", space, "10.2.1.10")
    await client.create(pod("came-and-went", space))
    await client.delete(pod("came-and-went", space))
    async with leading(scene.lives(second), 2):
        await second.until("came", LifeEvent.ADDRESSED)
        await second.until("leaves", LifeEvent.ENDED)
        await second.until("came-and-went", LifeEvent.ENDED)
    assert not second.gaps
    assert not any(second.of(f"stays-{number}") for number in range(4))
    assert second.events("leaves") == [LifeEvent.ENDED]
    assert second.of("leaves")[0].addresses == ["10.2.1.9"]
    assert second.events("came-and-went") == [LifeEvent.SEEN, LifeEvent.ENDED]
    assert not told_by(first, second)


async def test_two_that_lead_at_once_record_the_same(client: Client, scene: Scene) -> None:
    """An old leader that does not know yet: its documents have the ids of the new one's."""
    first, second, space = Taken(scene.namespace), Taken(scene.namespace), scene.namespace
    async with leading(scene.lives(first), 1), leading(scene.lives(second), 2):
        await wait_for(lambda: bool(first.changes and second.changes), 60)
        await run_pod(client, "twice", space, "10.2.2.1")
        for each in (first, second):
            await each.until("twice", LifeEvent.ADDRESSED)
        await stop_pod(client, "twice", space, "2026-11-01T11:30:00Z")
        for each in (first, second):
            await each.until("twice", LifeEvent.ENDED)
    assert [each.id for each in first.of("twice")] == [each.id for each in second.of("twice")]
    assert first.events("twice") == WHOLE_LIFE


async def test_a_full_spool_loses_nothing_that_kube_apiserver_remembers(
    client: Client, scene: Scene
) -> None:
    """What could not be recorded is recorded once the spool takes it: no gap, nothing twice."""
    taken, space = Taken(scene.namespace), scene.namespace
    async with leading(scene.lives(taken)):
        await wait_for(lambda: bool(taken.changes), 60)
        gaps, taken.full = len(taken.gaps), True
        await run_pod(client, "late", space, "10.2.3.1")
        await stop_pod(client, "late", space, "2026-11-01T11:30:00Z")
        await client.delete(pod("late", space))
        await wait_for(lambda: taken.refused > 5, 60)
        taken.full = False
        await taken.until("late", LifeEvent.ENDED)
    assert taken.events("late") == WHOLE_LIFE
    assert len(taken.gaps) == gaps


async def test_whoever_records_first_says_that_nothing_is_known_of_before(
    client: Client, scene: Scene
) -> None:
    """The record begins with a gap since ever, and a call of the roll."""
    space = scene.namespace
    await run_pod(client, "older", space, "10.2.4.1")
    taken = Taken(scene.namespace)
    async with leading(scene.lives(taken)):
        await taken.until("older", LifeEvent.ADDRESSED)
        await wait_for(lambda: bool(taken.gaps), 60)
    (gap,) = taken.gaps
    assert (gap.log, gap.begin) == ("pods", "1970-01-01T00:00:00.000Z")
    assert [each.kind for each in taken.changes] == ["PodRollCall"]
