"""The whole story of one grant: asked for, approved, used, ended, used all the same, and told."""

import asyncio
import datetime as dt
import json
from functools import partial
from pathlib import Path
from typing import Final

from audit.ledger.records.frames import FrameKind
from tests.api.weights.followers import set_status
from tests.api.weights.grants.conftest import (
    ANN,
    API,
    BEN,
    CAROL,
    OIDS,
    approve,
    asked_for,
    human,
    in_seconds,
    place,
    pod,
    refused,
    soon,
)
from tests.api.weights.scene import PRINCIPAL, WeightScene
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.rbac import binding, user

TEAM: Final = "pretraining"
ADDRESS: Final = "10.244.3.7"
WHO: Final = f"oid:{PRINCIPAL}"
HUMAN: Final = f"oid:{OIDS[CAROL]}"
SIZE: Final = 5 * 1024**3
GRANTED_S: Final = 40.0
"""How long the grant lives: all up to the three reads happens in it."""


async def ask_and_use(scene: WeightScene, admin: Client) -> tuple[Json, Json]:
    """Have Carol ask for a grant, two approve it, and her Pod run; give grant and Pod."""
    carol = human(admin, CAROL)
    await refused(partial(carol.create, pod(TEAM, "train")), "no AccessGrant of this namespace")
    granted = await carol.create(asked_for(TEAM, expiresAt=in_seconds(GRANTED_S)))
    await approve(admin, granted, ANN)
    await refused(partial(carol.create, pod(TEAM, "train")), "1 of 2 people")
    await approve(admin, granted, BEN)
    made = await soon(partial(carol.create, pod(TEAM, "train", nodeName="node-1")))
    await set_status(
        admin,
        "train",
        TEAM,
        phase="Running",
        startTime=in_seconds(0),
        podIP=ADDRESS,
        podIPs=[{"ip": ADDRESS}],
        hostIP="10.1.0.4",
        hostIPs=[{"ip": "10.1.0.4"}],
    )
    await recorded(scene, FrameKind.POD_LIFE, made, "addressed")
    await recorded(scene, FrameKind.CHANGE, granted, "approved")
    return granted, made


async def recorded(scene: WeightScene, kind: FrameKind, item: Json, event: str) -> None:
    """Wait until the ledger has an event of an object: as long as `weights.patience` gives it."""
    uid = item["metadata"]["uid"]
    await scene.documents(kind, 1, lambda each: (each.get("uid"), each["event"]) == (uid, event))


def assert_exact(read: Json, made: Json, decision: Json) -> None:
    """Demand that a read is the Pod's, and Carol's, and nobody else's."""
    attribution = read["attribution"]
    assert attribution["confidence"] == "exact", attribution["why"]
    (by,) = attribution["pods"]
    assert (by["pod"], by["uid"]) == (f"{TEAM}/train", made["metadata"]["uid"])
    assert by["serviceAccount"] == f"{TEAM}/trainer"
    assert (by["decision"], by["requester"]) == (decision["id"], HUMAN)
    assert by["profile"] == decision["profile"]


async def decision_on(scene: WeightScene, made: Json) -> Json:
    """Return the decision that admitted a Pod.

    Its profile is what counts: a Pod whose grant is approved between its two webhooks is admitted
    without a note, which is never demanded of a Pod.
    """
    uid = made["metadata"]["uid"]
    (decision,) = await scene.documents(
        FrameKind.DECISION,
        1,
        lambda each: each["source"] == "validate" and each["request"].get("objectUid") == uid,
    )
    return decision


async def test_the_story_of_a_grant(
    story: WeightScene, story_admin: Client, tmp_path: Path
) -> None:
    """From the first refusal to what a security review reads, and the proof that it is true."""
    await place(story_admin, TEAM)
    granted, made = await ask_and_use(story, story_admin)
    grant = f"{TEAM}/llama@{granted['metadata']['uid']}"
    for number in range(3):
        story.read(ADDRESS, f"run-7/step-1000/shard-{number:05}.safetensors", SIZE)
    reads = await story.documents(FrameKind.ACCESS, 3, lambda each: each.get("store") == "llama")
    decision = await decision_on(story, made)
    for each in reads:
        assert_exact(each, made, decision)
        assert (each["grant"], each.get("ungranted", "")) == (grant, "")

    carol = human(story_admin, CAROL)
    await refused(partial(carol.create, pod(TEAM, "next")), "it expired at")
    story.read(ADDRESS, "run-7/step-2000/shard-00000.safetensors", SIZE)
    (late,) = await story.documents(
        FrameKind.ACCESS, 1, lambda each: "step-2000" in each.get("blob", "")
    )
    assert_exact(late, made, decision)
    ended = granted["spec"]["expiresAt"]
    assert late.get("grant", "") == ""
    assert f"{TEAM}/llama had expired at {ended}" in late["ungranted"]
    (finding,) = await story.documents(
        FrameKind.FINDING, 1, lambda each: each["detection"] == "ungranted"
    )
    assert finding["evidence"] == [late["id"]]
    assert finding["requesters"] == [HUMAN]

    await close_finding(story, story_admin, finding["id"])
    told = await report(story, tmp_path)
    assert_told(told, grant, finding["id"], decision["id"])
    await sign_off(story, tmp_path, told["digest"])
    await assert_looked_back(story)
    await assert_sound(story, tmp_path)


async def close_finding(scene: WeightScene, admin: Client, finding: str) -> None:
    """Have two people close a finding, whom it is about not being one of them."""
    people = binding("sallyport-review-findings", *map(user, ("alice", "bob", ANN, BEN, CAROL)))
    await admin.apply([people | {"metadata": {"name": "finding-people"}}])
    statements = {"group": "sallyport.dev", "resource": "auditstatements"}
    for who in ("alice", "bob"):
        await admin.as_user(who).wait_until_can("create", statements)
    code, said = await state(scene, "alice", finding, "--state", "investigating", "--owner", "self")
    assert (code, said["said"], said["state"]) == (0, True, "new")
    made = await admin.get(API, "AuditStatement", said["statement"])
    author = made["metadata"]["annotations"]["sallyport.dev/author"]
    closed = {"finding": finding, "state": "falseAlarm", "note": "it was me"}
    body = {"apiVersion": API, "kind": "AuditStatement", "metadata": {"name": "own"}}
    await asyncio.sleep(1.1)  # They are ordered by the second.
    await human(admin, CAROL).create(body | {"spec": closed})
    code, said = await state(scene, "admin", finding, "--state", "contained")
    assert (code, "system:masters" in said["message"]) == (1, True), said
    code, said = await state(scene, "alice", finding, "--state", "falseAlarm", "--note", "a drill")
    assert (code, "no object id of you" in said["message"]) == (1, True), said
    for who, count in ((ANN, 3), (BEN, 4)):
        await asyncio.sleep(1.1)
        named = body | {"metadata": {"generateName": "said-"}}
        await human(admin, who).create(named | {"spec": closed | {"note": "a drill"}})
        await scene.documents(
            FrameKind.CHANGE, count, lambda each: each["kind"] == "AuditStatement"
        )
    done = await scene.run("findings", "show", finding, "-o", "json")
    progress = json.loads(done.stdout)["finding"]["progress"]
    assert (progress["state"], progress["owner"]) == ("falseAlarm", author)
    assert [one["counts"] for one in progress["statements"]] == [True, False, False, True]


async def state(scene: WeightScene, who: str, *arguments: str) -> tuple[int, Json]:
    """Run `findings set` as one of the server's users; give code and answer."""
    kubeconfig = scene.apiserver.kubeconfig(who)
    flags = ("--kubeconfig", kubeconfig, "-o", "json")
    done = await scene.run("findings", "set", *arguments, *flags)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


async def sign_off(scene: WeightScene, folder: Path, digest: str) -> None:
    """Have two people sign a report off; the next one shows it."""
    (file,) = await asyncio.to_thread(lambda: list(folder.glob("*.json")))
    for who, code, signed in (("alice", 1, False), ("bob", 0, True)):
        kubeconfig = scene.apiserver.kubeconfig(who)
        done = await scene.run("sign-off", file, "--kubeconfig", kubeconfig)
        assert (done.returncode, digest in done.stdout) == (0, True), done.stderr
        flags = ("--show", "--kubeconfig", kubeconfig, "-o", "json")
        done = await scene.run("sign-off", digest, *flags)
        assert (done.returncode, json.loads(done.stdout)["signedOff"]) == (code, signed)
    await scene.documents(
        FrameKind.CHANGE, 2, lambda each: (each.get("spec") or {}).get("report") == digest
    )
    (row,) = (await report(scene, folder))["signedOff"]
    assert (row["report"], len(row["by"])) == (digest, 2)


async def report(scene: WeightScene, folder: Path) -> Json:
    """Make the report; give it as JSON."""
    now = dt.datetime.now(dt.UTC)
    since, until = (f"{now + dt.timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}" for hours in (-1, 1))
    span = ("--since", since, "--until", until)
    done = await scene.run("report", *span, "--format", "html,json", "--to", folder, "-o", "json")
    assert done.returncode == 0, done.stderr
    files = [Path(each) for each in json.loads(done.stdout)["files"]]
    (page,) = [each for each in files if each.suffix == ".html"]
    (values,) = [each for each in files if each.suffix == ".json"]
    text = page.read_text()
    assert f"{TEAM}/train" in text
    assert "example.com" not in text, "nobody's name"
    return dict(json.loads(values.read_text()))


def assert_told(told: Json, grant: str, finding: str, decision: str) -> None:
    """Demand that the report has it all: who, what, who approved it, and what was wrong."""
    (who,) = [each for each in told["principals"] if each["store"] == "llama"]
    assert (who["who"], who["humans"], who["confidence"]) == (WHO, [HUMAN], {"exact": 4})
    assert (who["grants"], who["ungranted"]) == ([grant], 1)
    assert who["approvers"] == sorted(f"oid:{OIDS[each]}" for each in (ANN, BEN))
    assert who["sums"]["bytesOut"] == 4 * SIZE
    (row,) = told["grants"]
    assert (row["id"], row["state"], row["accesses"]) == (grant, "ended", 3)
    assert finding in [each["id"] for each in told["findings"]]
    (reached,) = [each for each in told["reached"] if each["store"] == "llama"]
    assert (reached["human"], reached["decisions"]) == (HUMAN, [decision])
    (here,) = [each for each in told["decisions"] if each["namespace"] == TEAM]
    assert here["refused"] >= 3


async def assert_looked_back(scene: WeightScene) -> None:
    """Demand that looking back on Carol finds what she was given, and what her Pod read."""
    kubeconfig = scene.apiserver.kubeconfig()
    done = await scene.run("risk", "look-back", HUMAN, "--kubeconfig", kubeconfig, "-o", "json")
    assert done.returncode == 1, done.stderr
    (document,) = json.loads(done.stdout)
    sorts = {(each["sort"], each["kind"], each["name"]) for each in document["items"]}
    assert ("granted", "AccessGrant", "llama") in sorts
    (reads,) = document["reads"]
    assert (reads["store"], reads["reads"], reads["bytes"]) == ("llama", 4, 4 * SIZE)
    assert (reads["ungranted"], reads["byPods"], reads.get("unsure", 0)) == (1, 4, 0)


async def assert_sound(scene: WeightScene, folder: Path) -> None:
    """Demand that an export of the ledger is proven by the anchor."""
    export = folder / "ledger.jsonl.gz"
    done = await scene.run("ledger", "export", "-o", export)
    assert done.returncode == 0, done.stderr
    done = await scene.run("ledger", "verify", export, "--anchor", scene.anchor, "-o", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = json.loads(done.stdout)
    assert (verdict["sound"], verdict["problems"]) == (True, []), verdict
