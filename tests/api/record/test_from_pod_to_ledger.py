"""A Pod asked of a real kube-apiserver ends in the ledger, through the chart's own pieces."""

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from http import HTTPStatus
from typing import Any

import pytest

from audit.behaviour.acts import decided_act_of
from audit.behaviour.confirmation import seen_in, why_not_confirmed
from audit.ledger.records.frames import FrameKind
from tests.api.record.conftest import EARLIER, TRAIN, pod
from tests.api.record.installation import GATE_POD, Installation
from tests.harness.programs.client import ApiStatusError, Client

SHIPPED_S = 60.0


async def listed(installation: Installation, count: int, *filters: str) -> list[Any]:
    """Wait until the ledger lists so many decisions."""
    deadline = time.monotonic() + SHIPPED_S
    while len(found := installation.decisions(*filters)) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} decisions after {SHIPPED_S} s"
        await asyncio.sleep(0.2)
    return found


async def test_an_admitted_pod_is_in_the_ledger(installation: Installation, admin: Client) -> None:
    """With the object's UID, and the patch that noted its profile."""
    made = await admin.create(pod("good"))
    found = await listed(installation, 2, "--name", "good")
    by_source = {each["source"]: each for each in found}
    assert by_source["validate"]["request"]["objectUid"] == made["metadata"]["uid"]
    assert by_source["validate"]["verdict"] == "allow"
    assert by_source["mutate"]["patches"]
    assert made["metadata"]["annotations"]["sallyport.dev/profile"]


async def test_a_refusal_can_be_explained_by_the_id_that_it_shows(
    installation: Installation, admin: Client
) -> None:
    """The person who is refused has the id, and it leads to what to change."""
    with pytest.raises(ApiStatusError) as refused:
        await admin.as_user("alice").create(pod("bad", hostNetwork=True))
    decision = refused.value.message.rsplit("Decision ", 1)[1].split()[0]
    (found,) = await listed(installation, 1, "--name", "bad", "--verdict", "deny")
    assert found["source"] == "mutate", "the back-stop holds this: refused before it is evaluated"
    explained = installation.run("explain", decision, "-o", "json")
    assert explained.returncode == 1, explained.stderr
    (explanation,) = json.loads(explained.stdout)
    assert explanation["changes"], explained.stdout
    assert explanation["changes"][0]["fields"][0]["path"] == "spec.hostNetwork"


async def test_a_refused_debug_container_is_in_the_ledger(
    installation: Installation, admin: Client
) -> None:
    """The back-stop holds it too, and is evaluated before the validating webhook."""
    await admin.create(pod("debugged"))
    debugger = {"name": "debug", "image": "busybox", "securityContext": {"privileged": True}}
    status, answer = await admin.as_user("alice").request(
        "PATCH",
        f"/api/v1/namespaces/{TRAIN}/pods/debugged/ephemeralcontainers",
        {"spec": {"ephemeralContainers": [debugger]}},
        content_type="application/strategic-merge-patch+json",
    )
    assert status == HTTPStatus.FORBIDDEN, answer
    (found,) = await listed(installation, 1, "--name", "debugged", "--verdict", "deny")
    assert found["source"] == "mutate"
    assert found["id"] in answer["message"]


async def test_a_pod_that_lives_bears_out_its_decision(
    installation: Installation, admin: Client
) -> None:
    """What control sees of it has the requester and the digest of the decision, and its gate."""
    made = await admin.as_user("alice").create(pod("seen"))
    found = await listed(installation, 2, "--name", "seen", "--namespace", TRAIN)
    (decided,) = [each for each in found if each["source"] == "validate"]
    assert decided["instance"] == GATE_POD
    claim = decided_act_of(json.dumps(decided).encode())
    assert claim is not None
    deadline = time.monotonic() + SHIPPED_S
    while not (lives := lives_of(installation, made["metadata"]["uid"])):
        assert time.monotonic() < deadline, installation.processes["control"].log_tail()
        await asyncio.sleep(0.2)
    seen = [each for content in lives if (each := seen_in(FrameKind.POD_LIFE, content))]
    assert [why_not_confirmed(claim, each) for each in seen] == [""]


def lives_of(installation: Installation, uid: str) -> list[bytes]:
    """Return what control recorded of a Pod."""
    with closing(sqlite3.connect(installation.ledger.removeprefix("sqlite:///"))) as connection:
        rows = connection.execute("select document from lives where uid = ?", (uid,)).fetchall()
    return [row[0] for row in rows]


async def test_a_dry_run_is_not_recorded(installation: Installation, admin: Client) -> None:
    """It has no side effects."""
    await admin.dry_run_create(pod("dry"), TRAIN)
    await admin.create(pod("wet"))
    await listed(installation, 2, "--name", "wet")
    assert installation.decisions("--name", "dry") == []


async def test_the_cluster_is_named_by_its_uid(installation: Installation, admin: Client) -> None:
    """Every record carries the UID of kube-system, which no other cluster has."""
    system = await admin.get("v1", "Namespace", "kube-system")
    await admin.create(pod("named"))
    found = await listed(installation, 2, "--name", "named")
    assert {each["cluster"] for each in found} == {system["metadata"]["uid"]}


async def test_the_first_sweep_reports_what_runs(installation: Installation, admin: Client) -> None:
    """A Pod that was there before the webhooks is in the ledger, with what is wrong with it."""
    running = await admin.get("v1", "Pod", EARLIER, TRAIN)
    (found,) = await listed(installation, 1, "--source", "sweep")
    assert found["request"]["name"] == EARLIER
    assert found["request"]["objectUid"] == running["metadata"]["uid"]
    assert found["verdict"] == "deny"
    assert installation.metric("control", "sallyport_leader") == 1
    finished = "sallyport_sweep_last_finished_timestamp_seconds"
    deadline = time.monotonic() + SHIPPED_S
    while not 0 < installation.metric("control", finished) <= time.time():
        assert time.monotonic() < deadline, "the first sweep does not come to its end"
        await asyncio.sleep(0.2)
    assert installation.metric("control", 'sallyport_sweep_objects{verdict="deny"}') == 1
