"""Whatever befalls Secrets and clocks: control mends it by itself, and nobody is cut off."""

import asyncio
import datetime as dt
from contextlib import suppress

import pytest

from certs.authority import is_issued_by, read_certificate, read_certificates
from certs.lifetimes import RotationSettings
from core.base.errors import ClusterError
from kube.client.objects import Objects
from tests.api.certs.scene import Scene, later
from tests.api.control.certificates.secrets import FOREVER, SECRETS, read, versions
from tests.api.kube.objects import new_name, wait_for
from tests.harness.programs.client import Client

YEAR, DAY, MINUTE = dt.timedelta(days=365), dt.timedelta(days=1), dt.timedelta(minutes=1)
GATE = "sallyport-gate-tls"


@pytest.fixture
async def scene(client: Client, objects: Objects, namespace: str) -> Scene:
    """Certificates that control made and knows to be everywhere."""
    made = Scene(client, objects, namespace)
    await made.run()
    await made.run()
    return made


@pytest.mark.parametrize("name", SECRETS)
async def test_a_secret_that_was_deleted_is_made_again(scene: Scene, name: str) -> None:
    """In one look; what gates still show is trusted all the same, and so is what is new."""
    before = (await scene.contents())[GATE]
    await scene.delete(name)
    await scene.run()
    after = (await scene.contents())[GATE]
    assert await scene.problems() == []
    assert await scene.problems(trusted=after["ca.crt"]) == []
    shown = read_certificate(before["tls.crt"])
    assert is_issued_by(shown, read_certificates(after["ca.crt"]))
    if name != GATE:
        assert after["tls.crt"] == before["tls.crt"]


@pytest.mark.parametrize("part", ["tls.crt", "tls.key", "ca.crt"])
async def test_a_secret_that_is_half_written_is_mended(scene: Scene, part: str) -> None:
    """A part of another pair beside parts of this one: no process takes that."""
    other = (await scene.contents())["sallyport-auditor-tls"]
    broken = {**other, "ca.crt": b""}[part]
    await scene.change(GATE, {part: broken})
    before = await scene.contents()
    await scene.run()
    assert await scene.problems() == []
    after = await scene.contents()
    assert after[GATE]["ca.crt"] == before["sallyport-auditor-tls"]["ca.crt"]
    assert read_certificate(after[GATE]["tls.crt"]) != read_certificate(other["tls.crt"])


async def test_a_record_that_is_half_written_costs_nobody_his_trust(scene: Scene) -> None:
    """Its CA is trusted on, as every place holds it; a new one is made to sign."""
    before = (await scene.contents())[GATE]
    await scene.change("sallyport-ca", {"authorities.json": b'{"authorities":[{"certif'})
    await scene.run()
    after = (await scene.contents())[GATE]
    assert set(read_certificates(before["ca.crt"])) < set(read_certificates(after["ca.crt"]))
    assert await scene.problems() == []


async def test_after_years_without_control_one_look_mends_all(
    client: Client, objects: Objects, namespace: str
) -> None:
    """CA and leaves have expired; nothing of the old CA stays trusted."""
    scene = Scene(client, objects, namespace)
    await scene.left_behind(YEAR * 2)
    old = read_certificates((await scene.contents())[GATE]["ca.crt"])
    assert len(await scene.problems()) == len(SECRETS) - 1
    await scene.run()
    assert await scene.problems() == []
    assert not set(old) & set(read_certificates((await scene.contents())[GATE]["ca.crt"]))
    mended = {"certificate": GATE, "why": "mended"}
    assert scene.metric("sallyport_certificate_rotations_total", **mended) == 1


@pytest.mark.parametrize("by", [YEAR, MINUTE * 6, -MINUTE * 6, -YEAR], ids=str)
async def test_a_control_whose_clock_is_off_touches_nothing(scene: Scene, by: dt.timedelta) -> None:
    """By its clock all has expired, or nothing is valid yet: everyone else knows better."""
    before = await versions(scene.client, scene.namespace)
    word = "ahead of" if by > dt.timedelta() else "behind"
    with pytest.raises(ClusterError, match=f"{word} kube-apiserver's.* mend the time of the node"):
        await scene.control(later(by)).run(FOREVER)
    assert await versions(scene.client, scene.namespace) == before
    offset = scene.metric("sallyport_certificate_clock_offset_seconds")
    assert offset is not None
    assert abs(offset - by.total_seconds()) < 30
    await scene.run()
    assert await versions(scene.client, scene.namespace) == before
    assert await scene.problems() == []


@pytest.mark.parametrize("by", [MINUTE * 3, -MINUTE * 3], ids=str)
async def test_clocks_that_differ_by_minutes_are_no_trouble(
    client: Client, objects: Objects, namespace: str, by: dt.timedelta
) -> None:
    """What such a control makes is valid to everyone, now."""
    scene = Scene(client, objects, namespace)
    await scene.control(later(by)).run(FOREVER)
    assert await scene.problems() == []


async def test_what_a_clock_ahead_left_behind_is_mended(
    client: Client, objects: Objects, namespace: str
) -> None:
    """Made by an older release, which did not compare clocks: valid from next year on."""
    scene = Scene(client, objects, namespace)
    await scene.left_behind(-YEAR)
    assert len(await scene.problems()) == len(SECRETS) - 1
    await scene.run()
    assert await scene.problems() == []


async def test_two_leaders_at_once_never_leave_a_pair_that_nobody_trusts(
    client: Client, objects: Objects, namespace: str
) -> None:
    """All is due, CA and leaves, and both want to be first; whoever loses a write begins again."""
    scene = Scene(client, objects, namespace)
    await scene.left_behind(DAY * 61)
    first = (await scene.contents())[GATE]
    settings = RotationSettings(DAY * 90, DAY * 45, dt.timedelta(seconds=1))
    over, runs = asyncio.Event(), [0, 0]

    async def lead(number: int) -> None:
        loop = scene.control(settings=settings)
        while not over.is_set():
            with suppress(ClusterError):
                await loop.run(FOREVER)
                runs[number] += 1
            await asyncio.sleep(0.05)

    leaders = [asyncio.create_task(lead(number)) for number in range(2)]
    # Which CA signs first is chance: when it was seen everywhere is kept in whole seconds.
    async with asyncio.timeout(120):
        while True:
            await asyncio.sleep(0.2)
            assert await scene.problems() == []
            last = (await scene.contents())[GATE]
            if last["tls.crt"] != first["tls.crt"]:
                break
    await wait_for(lambda: min(runs) > 0, 60)
    over.set()
    await asyncio.gather(*leaders)
    assert len(read_certificates(last["ca.crt"])) == 2


async def test_a_pair_of_another_namespaces_names_is_replaced(
    scene: Scene, client: Client, objects: Objects
) -> None:
    """Sound in itself, and of another installation: neither shown nor trusted here."""
    namespace = new_name("other")
    await client.create_namespace(namespace)
    await Scene(client, objects, namespace).run()
    theirs = await read(client, namespace, GATE)
    await scene.change(GATE, theirs)
    await scene.run()
    ours = (await scene.contents())[GATE]
    assert await scene.problems() == []
    assert ours["tls.crt"] != theirs["tls.crt"]
    assert not set(read_certificates(theirs["ca.crt"])) & set(read_certificates(ours["ca.crt"]))
