"""The controller is killed at random moments, while allowlists come and go."""

import asyncio
import os
import random
import signal
import time
from functools import partial
from pathlib import Path
from typing import Final

from tests.api.egress.control.churn import Churn, bare, watching
from tests.api.egress.control.field import FLOOR, OWN, Field
from tests.api.kube.objects import new_name, wait_for
from tests.harness.evidence import record
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import Client, Json
from tests.harness.programs.egress_control import controlling, settings_of, start_control
from tests.harness.sizes import PROOF, size

KILLS: Final = size(3, 20)
NAMESPACES: Final = size(4, 12)
CONVERGED_S: Final = 60.0


async def test_killed_at_any_moment_nothing_is_open_that_nobody_named(
    apiserver: ApiServer, client: Client, tmp_path: Path
) -> None:
    """Each version ever written names only what an allowlist named; the end is as undisturbed."""
    seed = random.SystemRandom().randrange(2**32)
    rng = random.Random(seed)  # noqa: S311  It must repeat.
    fields = [Field(client, new_name("killed")) for _ in range(NAMESPACES)]
    for each in fields:
        await each.prepare()
    settings = settings_of(apiserver.kubeconfig(), OWN)
    churn = Churn(client, fields, seed)
    async with watching(apiserver.kubeconfig()) as seen:
        doing = asyncio.create_task(churn.run())
        for number in range(KILLS):
            process = start_control(settings, tmp_path / f"control-{number}.log")
            await asyncio.sleep(rng.uniform(1.2, 5.0))
            assert process.alive, process.log.read_text()[-2000:]
            os.kill(process.pid, signal.SIGKILL)
            process.stop()
        churn.stopping = True
        await doing
        for each in fields:
            await each.prepare()
        began = time.monotonic()
        last = start_control(settings, tmp_path / "last.log")
        try:
            for each in fields:
                await wait_for(partial(_converged, churn, each), CONVERGED_S)
            took = time.monotonic() - began
            await churn.outlast()  # What is compared below does not change any more.
            for each in fields:
                await wait_for(partial(_converged, churn, each), CONVERGED_S)
        finally:
            last.stop()
    wrongs = seen.wrongs(churn)
    assert not wrongs, (seed, wrongs[:5])
    after = {each.name: bare(await each.policies()) for each in fields}
    for each in fields:
        for name in await each.policies():
            await client.delete(each.policy(name))
    async with controlling(settings):
        for each in fields:
            await each.settle(partial(_equals, after[each.name]))
    if PROOF:
        _record(churn, len(seen.versions), took)


def _equals(wanted: dict[str, bytes], found: dict[str, Json]) -> bool:
    return bare(found) == wanted


async def _converged(churn: Churn, place: Field) -> bool:
    found = await place.policies()
    opened = {
        peer["ipBlock"]["cidr"]
        for name, policy in found.items()
        if name not in FLOOR
        for rule in policy["spec"]["egress"]
        for peer in rule["to"]
    }
    path = f"/apis/sallyport.dev/v1alpha1/namespaces/{place.name}/egressallowlists"
    _, intents = await place.client.request("GET", path)
    deleting = [each for each in intents["items"] if "deletionTimestamp" in each["metadata"]]
    return found.keys() >= FLOOR and not deleting and opened == churn.named(place.name, time.time())


def _record(churn: Churn, versions: int, took: float) -> None:
    record(
        "egress-killed",
        [
            f"- Killed {KILLS} times, at random, while {churn.actions} things were done in "
            f"{NAMESPACES} namespaces: allowlists made, changed, deleted, expired; policies "
            "deleted by others; namespaces taken out and enrolled again",
            f"- {versions} versions of policies were written, and seen by a watch: none had a "
            "network that no allowlist named then or in the 2 s before",
            f"- After the last start all was as wanted after {took:.1f} s, and byte for byte as "
            "an undisturbed controller makes it",
        ],
    )
