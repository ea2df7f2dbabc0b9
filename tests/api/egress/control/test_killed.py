"""The controller is killed at random moments, while allowlists come and go."""

import asyncio
import itertools
import os
import random
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from core.base import names
from core.base.background import in_background
from kube.client.connection import Connection
from tests.api.egress.control.field import FLOOR, OWN, Field, allowlist, cidrs
from tests.api.kube.objects import new_name, wait_for
from tests.harness.evidence import record
from tests.harness.programs.apiserver import ApiServer
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.egress_control import controlling, settings_of, start_control
from tests.harness.sizes import PROOF, size

POLICIES: Final = "/apis/networking.k8s.io/v1/networkpolicies"
LATE_S: Final = 2.0 if PROOF else 10.0
"""What was named a moment ago may be written still: a request is on its way."""
_PAUSE_S: Final = 0.02
_MOST: Final = 6
"""Allowlists in one namespace."""


@dataclass
class Naming:
    """A network that allowlists of one namespace name, once in a run: from when until when."""

    began: float
    ended: float | None = None


@dataclass
class Churn:
    """What was done."""

    client: Client
    fields: list[Field]
    seed: int
    namings: dict[tuple[str, str], Naming] = field(default_factory=dict)
    """By namespace and network."""
    actions: int = 0
    stopping: bool = False
    _live: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=itertools.count)

    async def run(self) -> None:
        """Do things until told to stop."""
        rng = random.Random(self.seed)  # noqa: S311  It must repeat.
        ways = (self._create, self._change, self._delete, self._tamper, self._enrol)
        while not self.stopping:
            way = rng.choices(ways, (8, 5, 5, 2, 1))[0]
            await way(rng, rng.choice(self.fields))
            self.actions += 1
            await asyncio.sleep(rng.uniform(0, 2 * _PAUSE_S))

    def wrong(self, namespace: str, network: str, at: float) -> str:
        """Say what is wrong with a network that is written at a time; empty for nothing."""
        naming = self.namings.get((namespace, network))
        if naming is None or naming.began > at:
            return f"{namespace}: {network} is open, and nobody has named it"
        if naming.ended is not None and naming.ended + LATE_S < at:
            return f"{namespace}: {network} is opened {at - naming.ended:.1f} s after its end"
        return ""

    def named(self, namespace: str, now: float) -> set[str]:
        """Return what a namespace's allowlists name now."""
        return {
            network
            for (of, network), each in self.namings.items()
            if of == namespace and (each.ended is None or each.ended > now)
        }

    async def outlast(self) -> None:
        """Wait until the last allowlist that expires has expired."""
        ends = max((each.ended or 0.0 for each in self.namings.values()), default=0.0)
        await asyncio.sleep(max(0.0, ends - time.time()))

    def _networks(self, namespace: str, count: int, ends: float | None) -> list[str]:
        found = []
        for _ in range(count):
            number = 2 * next(self._numbers)  # No two make a larger network together.
            network = f"11.{number >> 16}.{number >> 8 & 255}.{number & 255}/32"
            self.namings[namespace, network] = Naming(time.time(), ends)
            found.append(network)
        return found

    async def _create(self, rng: random.Random, place: Field) -> None:
        mine = [key for key in self._live if key[0] == place.name]
        if len(mine) >= _MOST:
            await self._delete(rng, place)
            return
        name = f"a{next(self._numbers)}"
        ends = float(int(time.time()) + rng.randint(2, 5)) if rng.random() < 0.3 else None
        networks = self._networks(place.name, rng.randint(1, 3), ends)
        more = {} if ends is None else {"expiresAt": _text(ends)}
        await self.client.create(
            allowlist(place.name, name, *({"cidr": each} for each in networks), **more)
        )
        self._live[place.name, name] = networks

    async def _change(self, rng: random.Random, place: Field) -> None:
        mine = sorted(key for key in self._live if key[0] == place.name)
        if not mine:
            return
        key = rng.choice(mine)
        before = self._live[key]
        ends = self.namings[place.name, before[0]].ended
        networks = self._networks(place.name, 1, ends) + before[1:]
        item = allowlist(*key, *({"cidr": each} for each in networks))
        await self.client.patch(item, {"spec": {"to": item["spec"]["to"]}})
        self._live[key] = networks
        self._end(place.name, before[0])

    async def _delete(self, rng: random.Random, place: Field) -> None:
        mine = sorted(key for key in self._live if key[0] == place.name)
        if mine:
            key = rng.choice(mine)
            await self.client.delete(allowlist(*key))
            for each in self._live.pop(key):
                self._end(place.name, each)

    async def _tamper(self, rng: random.Random, place: Field) -> None:
        """Delete a generated policy."""
        found = sorted(await place.policies())
        if found:
            try:
                await self.client.delete(place.policy(rng.choice(found)))
            except ApiStatusError as error:
                if error.status != 404:
                    raise

    async def _enrol(self, rng: random.Random, place: Field) -> None:
        await place.prepare(rng.choice(("deny", "deny", "open")))

    def _end(self, namespace: str, network: str) -> None:
        naming = self.namings[namespace, network]
        naming.ended = min(naming.ended or time.time(), time.time())


@dataclass
class Seen:
    """Every version of every policy, as it came."""

    versions: list[tuple[float, Json]] = field(default_factory=list)

    def wrongs(self, churn: Churn) -> list[str]:
        """Say what was written that nobody named."""
        return [
            wrong
            for at, policy in self.versions
            for network in cidrs(policy)
            if (wrong := churn.wrong(policy["metadata"]["namespace"], network, at))
        ]


@asynccontextmanager
async def watching(kubeconfig: Path) -> AsyncIterator[Seen]:
    """Keep every version of every generated policy, from now on."""
    connection = Connection(kubeconfig)
    await connection.open()
    seen = Seen()
    begun = asyncio.Event()

    async def watch() -> None:
        first = msgspec.json.decode(await connection.get(POLICIES, 10, {}))
        parameters = {"watch": "1", "resourceVersion": first["metadata"]["resourceVersion"]}
        async with connection.stream(POLICIES, parameters, answer_s=10, silence_s=600) as batches:
            begun.set()
            async for lines in batches:
                for line in filter(None, lines):
                    event = msgspec.json.decode(line)
                    if event["type"] in {"ADDED", "MODIFIED"}:
                        seen.versions.append((time.time(), event["object"]))

    async with in_background(watch()):
        await begun.wait()
        yield seen
        await connection.close()


def bare(policies: dict[str, Json]) -> dict[str, bytes]:
    """Return the bytes of policies without what kube-apiserver adds."""
    kept = ("labels", "annotations")
    return {
        name: msgspec.json.encode(
            [each["spec"], *(each["metadata"].get(key) for key in kept)], order="deterministic"
        )
        for name, each in policies.items()
        if each["metadata"].get("labels", {}).get(names.MANAGED_BY_LABEL)
    }


def _text(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


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
