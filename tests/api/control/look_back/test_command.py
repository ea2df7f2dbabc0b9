"""`sallyport risk look-back`, as a person types it, on a real cluster and a real ledger."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from core.base.names import REQUESTER_ANNOTATION
from core.risk.model import RiskSource, identity_key
from kube.client.objects import Objects
from kube.risk.store import RiskStore
from tests.api.control.look_back.scene import CLUSTER, Scene
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client

PROGRAM = Path(sys.executable).parent / "sallyport"


@pytest.fixture
async def scene(objects: Objects, client: Client, namespace: str, tmp_path: Path) -> Scene:
    """Somebody who is not at risk yet."""
    await client.create_service_account("default", namespace)
    return Scene(objects, client, namespace, tmp_path, f"oid:{uuid.uuid4()}")


async def run(
    scene: Scene, apiserver: ApiServer, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command, its ledger the scene's, its snapshot in the scene's namespace."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(Path(scene.ledger.removeprefix("sqlite:///")).parent),
        "SALLYPORT_CLUSTER_ID": CLUSTER,
        "SALLYPORT_NAMESPACE": scene.namespace,
    }

    def work() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [PROGRAM, "risk", "look-back", *arguments],
            env=environment | {"SALLYPORT_KUBECONFIG": str(apiserver.kubeconfig())},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return await asyncio.to_thread(work)


async def stored(scene: Scene, objects: Objects) -> None:
    """Store the scene's snapshot in the cluster, as control does."""
    entry = scene.snapshot.entry(RiskSource.ENTRA, identity_key(scene.label))
    assert entry is not None
    key, risky = identity_key(scene.label), entry
    await RiskStore(objects, scene.namespace).update(
        lambda draft: draft.put(RiskSource.ENTRA, key, risky)
    )


async def test_it_lists_what_is_there_and_says_what_it_rests_on(
    scene: Scene, client: Client, objects: Objects, apiserver: ApiServer
) -> None:
    """The risk, the window, a row for each, the decision's id; exit code 1."""
    pod = await client.create(scene.pod("llm-0"))
    decision = await scene.did(
        46, pod, kind="PodExecOptions", operation="CONNECT", subresource="exec"
    )
    await scene.did(2, await client.create(scene.deployment("web")))
    await scene.did(1, None, kind="Pod", name="gone-0", object_uid=str(uuid.uuid4()))
    scene.rises(active_h=47)
    await stored(scene, objects)
    done = await run(scene, apiserver, scene.label, "--ledger", scene.ledger)
    assert done.returncode == 1, done.stderr
    assert f"{scene.label} is at risk: high, since " in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if scene.namespace in line]
    assert [(row[0], row[2], row[3], row[4]) for row in rows] == [
        ("entered", "entered", "Pod", f"{scene.namespace}/llm-0"),
        ("workload", "started", "Deployment", f"{scene.namespace}/web"),
    ]
    assert decision[:18] in done.stdout
    assert "Not there any more: 1 workload." in done.stdout


async def test_json_is_the_document_that_the_ledger_keeps(
    scene: Scene, client: Client, apiserver: ApiServer
) -> None:
    """`--since` sets the window; without a risk it is said that there is none."""
    await scene.did(2, await client.create(scene.pod("a")))
    await scene.did(90, await client.create(scene.pod("b")))
    flags = ("--ledger", scene.ledger, "-o", "json")
    done = await run(scene, apiserver, scene.label, "--since", "3d", *flags)
    assert done.returncode == 1, done.stderr
    (document,) = json.loads(done.stdout)
    assert [each["name"] for each in document["items"]] == ["a"]
    assert "standing" not in document
    assert document["subject"] == scene.label


async def test_nothing_left_is_zero(scene: Scene, apiserver: ApiServer) -> None:
    """And it says so; without records it says what it could not see."""
    done = await run(scene, apiserver, scene.label)
    assert done.returncode == 0, done.stderr
    assert "Nothing that it started, changed or entered is known to be there" in done.stdout
    assert "Not seen: there is no auditor" in " ".join(done.stdout.split())


async def test_what_control_recorded_is_shown(
    scene: Scene, client: Client, apiserver: ApiServer
) -> None:
    """By `--recorded`, from the ledger alone; a foreign note is nobody's."""
    other = scene.deployment("other", {REQUESTER_ANNOTATION: "oid:x"})
    await client.create(other)
    await scene.did(1, await client.create(scene.pod("a")))
    scene.rises()
    await scene.look()
    (document,) = scene.records.kept.values()
    await scene.keep(document)
    flags = ("--recorded", "--ledger", scene.ledger)
    done = await run(scene, apiserver, scene.label, *flags, "-o", "json")
    assert done.returncode == 1, done.stderr
    assert [each["id"] for each in json.loads(done.stdout)] == [document.id]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["alice@example.com"], "give an object id (oid:"),
        ([f"oid:{uuid.uuid4()}", "--since", "yesterday"], "--since yesterday: give how long ago"),
    ],
)
async def test_bad_input_names_the_fix(
    scene: Scene, apiserver: ApiServer, arguments: list[str], says: str
) -> None:
    """Exit code 64."""
    done = await run(scene, apiserver, *arguments)
    assert done.returncode == 64
    assert says in done.stderr
