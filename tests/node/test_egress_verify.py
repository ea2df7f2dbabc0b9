"""`sallyport egress verify` on a real node: its probe in Pods, under a real policy engine."""

import asyncio
import time
from typing import Any, Final

import pytest

from app.settings.root import Settings, read_settings
from cli import exits
from cli.egress.render import render
from cli.egress.verify import EgressVerification, exit_code, verify
from core.base import names
from tests.api.egress.control.field import allowlist
from tests.harness.evidence import ROOT
from tests.harness.programs.client import Client, connect, read_objects
from tests.harness.programs.node.outside_world import ELSEWHERE, INTERNET, METADATA
from tests.harness.programs.node.policed_node import PolicedNode
from tests.harness.programs.node.scene import TEAM, TRAINER, set_scene, team_pods

CRDS: Final = ROOT / "helm" / "sallyport-crds" / "templates"
PATIENCE_S: Final = 60.0
LOOPHOLE: Final[dict[str, Any]] = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "loophole", "namespace": TEAM},
    "spec": {
        "podSelector": {},
        "policyTypes": ["Egress"],
        "egress": [{"to": [{"ipBlock": {"cidr": f"{METADATA[0]}/32"}}]}],
    },
}


@pytest.fixture(scope="module")
def settings(policed: PolicedNode) -> Settings:
    """The Pods, an intent for one of them, and the policies that `render` gives for it."""
    found = read_settings(None, {"kubeconfig": policed.node.apiserver.kubeconfig()})
    asyncio.run(_prepare(policed, found))
    return found


async def _prepare(policed: PolicedNode, settings: Settings) -> None:
    async with connect(policed.node.apiserver) as client:
        for file in sorted(CRDS.glob("*.yaml")):
            await client.apply(read_objects(file))
        await client.wait_for_kind(names.API_VERSION, "EgressAllowlist")
        await client.wait_for_kind(names.API_VERSION, "EgressDestinations")
    await set_scene(policed, team_pods(), {names.EGRESS_LABEL: "deny"})
    internet = {"cidr": f"{INTERNET[0]}/32"}
    async with connect(policed.node.apiserver) as client:
        intent = allowlist(TEAM, "internet", internet, serviceAccounts=[TRAINER])
        await client.create(intent)
        await client.apply((await render(settings, [], TEAM)).objects)


async def _until(
    settings: Settings, wanted: int, pod: str = f"{TEAM}/{TRAINER}"
) -> EgressVerification:
    """Verify until the engine has taken the policies in."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        also = [f"{ELSEWHERE[0]}:443", f"[{INTERNET[1]}]:443"]
        found = await verify(settings, pod, None, also, 2)
        if exit_code(found) == wanted or time.monotonic() > deadline:
            return found


@pytest.fixture
async def admin(policed: PolicedNode) -> Any:
    """A cluster administrator."""
    async with connect(policed.node.apiserver) as client:
        yield client


async def test_what_intents_say_is_proved(settings: Settings) -> None:
    """The intent's destination is open, controls that listen are closed, of both families."""
    found = await _until(settings, exits.ADMITTED)
    assert [each for each in found.tried if each.verdict != "agrees"] == []
    assert found.failed == []
    seen = {each.to: each.found for each in found.tried}
    assert seen[f"{INTERNET[0]}:443"] == "open"
    closed = {to for to, one in seen.items() if one != "open"}
    assert {f"{METADATA[0]}:80", f"{ELSEWHERE[0]}:443", f"[{INTERNET[1]}]:443"} <= closed


async def test_loophole_is_found(settings: Settings, admin: Client) -> None:
    """A policy of somebody else opens metadata: it leaks, exit 1."""
    await admin.create(LOOPHOLE)
    try:
        found = await _until(settings, exits.REFUSED)
    finally:
        await admin.delete(LOOPHOLE)
    leaks = [each.to for each in found.tried if each.verdict == "leaks"]
    assert leaks == [f"{METADATA[0]}:80"]
    assert exit_code(await _until(settings, exits.ADMITTED)) == exits.ADMITTED


async def test_pod_with_wrong_labels_proves_itself_closed(settings: Settings) -> None:
    """What a trainer reaches, a Pod that only says so does not."""
    found = await _until(settings, exits.ADMITTED, f"{TEAM}/forger")
    seen = {each.to: each for each in found.tried}
    other = seen[f"{INTERNET[0]}:443"]
    assert (other.expected, other.verdict) == ("closed", "agrees")
