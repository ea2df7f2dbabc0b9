"""What operators see of certificates: metrics, Events, and `sallyport certs status`."""

import datetime as dt
import io

import msgspec
import pytest
from prometheus_client import CollectorRegistry
from rich.console import Console

from app.settings.root import Settings
from certs.lifetimes import RotationSettings
from cli.certs.render import print_status
from cli.certs.run import CertificatesStatus, exit_code, read_status
from control.certificates.status import CertificateStatus
from core.base.errors import ClusterError, SettingsError
from kube.client.objects import Objects, open_objects
from tests.api.certs.scene import Scene
from tests.api.control.certificates.secrets import FOREVER
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client
from tests.harness.worlds import rbac

DAY = dt.timedelta(days=1)
GATE = "sallyport-gate-tls"


@pytest.fixture
def scene(client: Client, objects: Objects, namespace: str) -> Scene:
    """Nothing, to begin with."""
    return Scene(client, objects, namespace)


def settings(apiserver: ApiServer, namespace: str, user: str = "admin") -> Settings:
    """Return those of somebody who asks."""
    return Settings(kubeconfig=apiserver.kubeconfig(user), namespace=namespace, cluster_id="test-1")


async def test_metrics_say_how_long_each_is_valid(scene: Scene) -> None:
    """And forget it with the term: the next leader shows its own."""
    await scene.run()
    await scene.run()
    left = scene.metric("sallyport_certificate_seconds_left", certificate=GATE)
    assert left is not None
    assert abs(left - 90 * 86400) < 300
    life = scene.metric("sallyport_certificate_lifetime_seconds", certificate=GATE)
    assert life is not None
    assert left < life < left + 7200  # It begins before it is made: clocks are off.
    ca = scene.metric("sallyport_certificate_seconds_left", certificate="sallyport-ca")
    assert ca is not None
    assert abs(ca - 365 * 86400) < 300
    assert scene.metric("sallyport_certificate_troubles", mends="itself") == 0
    made = {"certificate": GATE, "why": "made"}
    assert scene.metric("sallyport_certificate_rotations_total", **made) == 1
    scene.signs.forget()
    for name in ("seconds_left", "lifetime_seconds"):
        assert scene.metric(f"sallyport_certificate_{name}", certificate=GATE) is None


async def test_events_tell_what_was_mended_once(scene: Scene) -> None:
    """On the Secret, whichever replica leads: a second control adds none."""
    await scene.run()
    await scene.change(GATE, {"tls.key": b"junk"})
    await scene.run()
    await Scene(scene.client, scene.objects, scene.namespace).run()
    found = {(one["involvedObject"]["name"], one["reason"]) for one in await scene.events()}
    assert (GATE, "CertificateMended") in found
    assert ("sallyport-ca", "CertificateRotated") in found
    mended = [one for one in await scene.events() if one["reason"] == "CertificateMended"]
    assert [one["type"] for one in mended] == ["Warning"]
    assert "PRIVATE" not in str(await scene.events())


async def test_an_event_comes_before_a_certificate_expires(scene: Scene) -> None:
    """Control only looks, as with cert-manager, and nobody has renewed it."""
    await scene.left_behind(DAY * 80)
    loop = scene.control(writes=False)
    before = await scene.contents()
    await loop.run(FOREVER)
    await loop.run(FOREVER)
    assert await scene.contents() == before
    told = [one for one in await scene.events() if one["reason"] == "CertificateExpiring"]
    assert {one["involvedObject"]["name"] for one in told} >= {GATE}
    assert len(told) == 4
    assert scene.metric("sallyport_certificate_troubles", mends="person") == 4


async def test_an_event_that_could_not_be_written_is_tried_again(
    scene: Scene, client: Client, apiserver: ApiServer
) -> None:
    """Of what is going to expire: at the next look; and then once."""
    await scene.left_behind(DAY * 80)
    async with open_objects(apiserver.kubeconfig("bob")) as objects:
        scene.signs = CertificateStatus(objects, scene.namespace, CollectorRegistry())
        loop = scene.control(writes=False)
        await loop.run(FOREVER)
        assert await scene.events() == []
        right = rbac.rule([""], "events", "create")
        await client.apply(rbac.grant("events", right, rbac.user("bob"), namespace=scene.namespace))
        place = {"resource": "events", "namespace": scene.namespace}
        await client.as_user("bob").wait_until_can("create", place)
        await loop.run(FOREVER)
        await loop.run(FOREVER)
    assert [one["reason"] for one in await scene.events()] == ["CertificateExpiring"] * 4


async def test_status_says_that_all_is_well_but_for_who_leads(
    scene: Scene, apiserver: ApiServer
) -> None:
    """Who signs, what comes next; nothing of it is a key."""
    await scene.run()
    await scene.run()
    found = await read_status(settings(apiserver, scene.namespace))
    assert [one.stage for one in found.authorities] == ["signs"]
    assert {one.issuer for one in found.leaves} == {found.authorities[0].name}
    assert f"sallyport-gate.{scene.namespace}.svc" in found.leaves[0].names
    places = {one.where for one in found.troubles}
    assert "Lease sallyport-control" in places
    assert "Secret sallyport-ledger-signing" in places
    assert not any("tls" in each for each in places)
    assert exit_code(found) == 1
    assert exit_code(msgspec.structs.replace(found, troubles=[])) == 0
    assert "PRIVATE" not in shown(found)
    assert b"PRIVATE" not in msgspec.json.encode(found)
    assert "next: " in shown(found)


async def test_status_names_what_is_broken_and_who_mends_it(
    scene: Scene, apiserver: ApiServer
) -> None:
    """Half-written, deleted, expired."""
    await scene.left_behind(DAY * 100)
    await scene.change("sallyport-auditor-tls", {"tls.key": b"junk"})
    await scene.delete("sallyport-shipping-gate")
    found = await read_status(settings(apiserver, scene.namespace))
    said = {one.where: (one.what, one.remedy, one.person) for one in found.troubles}
    assert said[f"Secret {GATE}"][0].startswith("has expired on")
    assert "half-written" in said["Secret sallyport-auditor-tls"][0]
    assert said["Secret sallyport-shipping-gate"][0] == "is not there"
    assert not said["Secret sallyport-shipping-gate"][2]
    assert said["Lease sallyport-control"][2]
    text = shown(found)
    assert "Sallyport: control mends it within 30 seconds" in text
    assert "You: see why control does not run" in text


async def test_status_shows_a_rotation_under_way(scene: Scene, apiserver: ApiServer) -> None:
    """A CA that comes, is trusted everywhere, and does not sign yet."""
    await scene.left_behind(DAY * 250)
    await scene.run()
    await scene.run()
    found = await read_status(settings(apiserver, scene.namespace))
    assert [one.stage for one in found.authorities] == ["signs", "coming"]
    assert found.authorities[1].absent_from == []


async def test_status_without_rights_or_cluster_is_no_answer(
    apiserver: ApiServer, scene: Scene
) -> None:
    """Exit code 2 or 64, and never 0."""
    with pytest.raises(ClusterError, match="403"):
        await read_status(settings(apiserver, scene.namespace, "bob"))
    with pytest.raises(SettingsError, match="--kubeconfig"):
        await read_status(Settings())


def test_lifetimes_that_cannot_work_are_refused_with_what_to_do() -> None:
    """Before anything is made by them."""
    with pytest.raises(ValueError, match=r"a CA of 30 days.* give it 2 times"):
        Settings(certificates={"authority_days": 30, "leaf_days": 20})
    with pytest.raises(ValueError, match="6 times the distribution"):
        Settings(certificates={"leaf_days": 1, "distribution_seconds": 86400})
    assert Settings().certificates.rotation() == RotationSettings()


def shown(status: CertificatesStatus) -> str:
    """Return what people read."""
    text = io.StringIO()
    print_status(status, Console(file=text, width=300))
    return text.getvalue()
