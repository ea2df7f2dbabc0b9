"""`sallyport risk` against a real cluster: what a person sees is what the gates decide by."""

import json
import subprocess
from typing import Any, Final

from tests.api.identity.requests import enter, push, until, until_let_in, until_refused
from tests.api.identity.scene import LAB, Scene, new_id
from tests.api.record.installation import PROGRAM
from tests.harness.fakes.event_transmitter import claims
from tests.harness.programs.client import Client, Json
from tests.harness.programs.helm import NAMESPACE

_SOON_S: Final = 60.0

TABLE: Final = """\
format: 1
rows:
  - name: low-may-not-enter
    standings: [low]
    operations: [exec]
    effect: deny
"""


def command(scene: Scene, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line as whoever may read."""
    return subprocess.run(
        [PROGRAM, "risk", *arguments, "--kubeconfig", str(scene.apiserver.kubeconfig())],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def said(scene: Scene, *arguments: str) -> Any:
    """Return what it prints for programs."""
    done = command(scene, *arguments, "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def table(text: str) -> Json:
    """Return the site's ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "sallyport-risk-table", "namespace": NAMESPACE},
        "data": {"table.yaml": text},
    }


async def test_status_is_fresh_and_counts_whoever_is_at_risk(scene: Scene, admin: Client) -> None:
    """With exit code 0, so that a script can wait for it."""
    object_id = new_id()
    person = scene.person(admin, "olga@example.com", object_id)
    scene.entra.put_user(object_id, level="high", state="atRisk")
    await until_refused(person, _SOON_S)
    found = said(scene, "status")
    assert found["tenant"] == scene.entra.tenant
    assert found["fresh"] is True
    counts = {(each["family"], each["state"], each["level"]) for each in found["counts"]}
    assert ("entra", "atRisk", "high") in counts
    text = command(scene, "status").stdout
    assert "risk is fresh" in text


async def test_show_says_why_somebody_is_refused(scene: Scene, admin: Client) -> None:
    """The same row and event as the refusal has."""
    object_id, event = new_id(), new_id()
    person = scene.person(admin, "petr@example.com", object_id)
    scene.entra.put_detection(event, object_id)
    scene.entra.put_user(object_id, level="high", state="atRisk")
    await until_refused(person, _SOON_S)
    shown = said(scene, "show", object_id)
    (entering,) = (each for each in shown["answers"] if each["operation"] == "exec")
    assert (entering["effect"], entering["standing"]) == ("deny", "high")
    assert entering["row"] in (await enter(person)).message


async def test_show_follows_a_service_account_to_its_application(
    scene: Scene, admin: Client
) -> None:
    """Account, client id, service principal, risk: as a Pod's would be."""
    client_id, object_id = new_id(), new_id()
    scene.entra.put_application(client_id, object_id)
    scene.entra.put_service_principal(object_id, client_id, level="high", state="atRisk")
    account: Json = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": "signs-in",
            "namespace": LAB,
            "annotations": {"azure.workload.identity/client-id": client_id},
        },
    }
    await admin.create(account)

    async def known() -> bool:
        shown = said(scene, "show", f"{LAB}/signs-in")
        return bool(shown["objectId"] == object_id and shown["standings"] == ["high"])

    await until(known, _SOON_S)
    missing = command(scene, "show", f"{LAB}/nobody")
    assert (missing.returncode, "no such service account" in missing.stderr) == (64, True)


async def test_the_sites_table_comes_into_force_and_a_broken_one_does_not(
    scene: Scene, admin: Client
) -> None:
    """From a ConfigMap to a refusal; the command shows the table by which gates decide."""
    object_id = new_id()
    person = scene.person(admin, "rosa@example.com", object_id)
    scene.entra.put_user(object_id, level="low", state="atRisk")

    async def warned() -> bool:
        shown = said(scene, "show", object_id)
        return bool(shown["standings"] == ["low"])

    await until(warned, _SOON_S)
    assert not (await enter(person)).refused
    await admin.create(table(TABLE))
    try:
        await until_refused(person, _SOON_S)
        assert "low-may-not-enter" in (await enter(person)).message
        assert said(scene, "table")["siteRows"] == ["low-may-not-enter"]
        await admin.apply([table(TABLE.replace("deny", "dny"))])

        async def broken() -> bool:
            return scene.installed.metric("control", "sallyport_risk_table_broken") == 1

        await until(broken, _SOON_S)
        assert said(scene, "table")["siteRows"] == ["low-may-not-enter"]
        assert (await enter(person)).for_risk
    finally:
        await admin.delete(table(TABLE))
    await until_let_in(person, _SOON_S)


async def test_a_pushed_risk_is_shown_beside_entras(scene: Scene, admin: Client) -> None:
    """Each family has its own line; the worse one counts."""
    object_id = new_id()
    assert await push(scene, scene.transmitter.token(claims(object_id))) == 202
    shown = said(scene, "show", f"oid:{object_id}")
    assert [(each["family"], each["level"]) for each in shown["said"]] == [("caep", "high")]
