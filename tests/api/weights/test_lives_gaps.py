"""What nobody can know any more of Pods: said as a gap, and ends that nobody saw."""

import time
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from control.weights.checkpoint import Checkpoint
from core.weights.documents.pod_life import LifeEvent
from core.weights.documents.roll_calls import read_roll_calls
from kube.client.objects import Objects
from tests.api.kube.objects import new_name, wait_for
from tests.api.kube.restartable_apiserver import RestartableServer
from tests.api.weights.followers import CLUSTER, Scene, Taken, leading, pod, run_pod, scene_of
from tests.harness.programs.availability import require
from tests.harness.programs.client import Client, connect
from tests.harness.programs.etcd import compact, delete_pods


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableServer]:
    """The cluster. It is started and stopped on the main thread: it ends with the one it is of."""
    for program in ("etcd", "kube-apiserver"):
        require(program)
    server = RestartableServer(tmp_path_factory.mktemp("lives"))
    yield server
    server.stop()


@pytest.fixture
async def here(own: RestartableServer) -> AsyncIterator[Client]:
    """Its admin."""
    async with connect(own) as client:
        yield client


@pytest.fixture
async def scene(own: RestartableServer, here: Client) -> AsyncIterator[Scene]:
    """An installation of this test's own."""
    async with scene_of(own, here, new_name("gaps")) as made:
        yield made


async def test_after_kube_apiserver_forgot_it_is_said_who_is_gone(
    own: RestartableServer, here: Client, scene: Scene
) -> None:
    """A leader whose watch is too old (410) ends who vanished, as not seen, and notes a gap."""
    taken, space, other = Taken(), scene.namespace, new_name("vanishing")
    await here.create_namespace(other)
    async with leading(scene.lives(taken)):
        await run_pod(here, "stays", space, "10.2.0.1")
        await run_pod(here, "vanishes", other, "10.2.0.2")
        await taken.until("vanishes", LifeEvent.ADDRESSED)
        gaps, away = len(taken.gaps), time.time()
        own.stop_kube_apiserver()
        await delete_pods(own.etcd_url, other)
        own.start_kube_apiserver()
        ended = await taken.until("vanishes", LifeEvent.ENDED)
        await wait_for(lambda: len(taken.gaps) > gaps, 60)
        await here.create(pod("appears", space))
        await taken.until("appears", LifeEvent.SEEN)
    assert not ended.sure
    assert ended.addresses == ["10.2.0.2"]
    assert taken.events("stays") == [LifeEvent.SEEN, LifeEvent.ADDRESSED]
    gap = taken.gaps[-1]
    assert gap.begin < time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(away + 1)) < gap.end
    assert ended.ended == gap.end


async def test_a_leader_after_a_long_absence_calls_the_roll(
    own: RestartableServer, here: Client, scene: Scene
) -> None:
    """Memory lost and the version compacted: readers learn who is gone, and only they are."""
    first, second, space = Taken(), Taken(), scene.namespace
    async with leading(scene.lives(first), 1):
        await run_pod(here, "stays", space, "10.2.1.1")
        await run_pod(here, "gone", space, "10.2.1.2")
        await first.until("gone", LifeEvent.ADDRESSED)
        reached = time.time()
        await scene.saved(after=reached)
    await here.delete(pod("gone", space))
    await here.create(pod("comes", space))
    own.stop_kube_apiserver()
    await compact(own.etcd_url)
    own.start_kube_apiserver()
    async with leading(scene.lives(second), 2):
        await wait_for(lambda: bool(second.gaps), 60)
    assert second.gaps[0].begin > time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(reached - 1))
    (called,) = read_roll_calls(second.changes)
    ends = {each.name: called.end_of(each) for each in first.lives if each.namespace == space}
    assert ends["stays"] is None
    gone = ends["gone"]
    assert gone is not None
    assert (gone.event, gone.ended, gone.sure) == (LifeEvent.ENDED, called.time, False)
    assert second.events("comes") == [LifeEvent.SEEN]
    assert not second.of("gone")


async def test_a_broken_note_of_how_far_it_is_makes_a_gap_and_not_an_end(
    here: Client, scene: Scene
) -> None:
    """Whatever stands in the ConfigMap: it is said aloud, and all that lives is told anew."""
    space = scene.namespace
    await run_pod(here, "lives-on", space, "10.2.2.1")
    objects = Objects(scene.connection, 4.0)
    broken = {"metadata": {"name": "sallyport-recorded-pods"}, "data": {"reached": '{"version":1}'}}
    await objects.create(f"/api/v1/namespaces/{space}/configmaps", broken)
    taken = Taken()
    async with leading(scene.lives(taken)):
        await taken.until("lives-on", LifeEvent.ADDRESSED)
        await wait_for(lambda: bool(taken.gaps), 60)
    assert taken.gaps[0].begin == "1970-01-01T00:00:00.000Z"


async def test_a_version_that_is_yet_to_come_is_not_believed(here: Client, scene: Scene) -> None:
    """As after etcd was restored from a backup: listed anew, with a gap since the last record."""
    space, taken = scene.namespace, Taken()
    await run_pod(here, "restored", space, "10.2.3.1")
    objects = Objects(scene.connection, 4.0)
    ahead = Checkpoint(cluster=CLUSTER, version="999999999", time=time.time())
    content = {"reached": msgspec.json.encode(ahead).decode()}
    note = {"metadata": {"name": "sallyport-recorded-pods"}, "data": content}
    await objects.create(f"/api/v1/namespaces/{space}/configmaps", note)
    async with leading(scene.lives(taken)):
        await wait_for(lambda: bool(taken.gaps), 60)
        await here.create(pod("later", space))
        await taken.until("later", LifeEvent.SEEN)
