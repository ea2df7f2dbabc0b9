"""Publishes bundles, has them activated, and says how they stand: what the commands do."""

import asyncio
import math
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from cli.parts import load_engine
from cli.settings import Settings
from cli.settings_errors import name_setting
from core.bundle_head import BASE, CONTROL, GONE_S, Announcement, Head, Stored
from core.errors import BundleRefusedError, ClusterError, SettingsError
from core.times import milliseconds_of, time_text
from kube.bundle_store import BundleStore, activated, wanting
from kube.paging import open_objects
from policies.bundle import read_bundle
from policies.signing import NO_KEYS, read_keys

FORMAT: Final = 1
_LOOK_S: Final = 0.5


class GateStanding(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What one gate has."""

    name: str
    in_force: str
    """A revision that is published, or `base`."""
    revision: str
    loaded: list[str]
    refused: dict[str, str]
    """Why, by revision."""
    seen: str
    """RFC 3339: when it last said so, by its own clock."""
    problem: str = ""
    """What keeps it from loading what is wanted or active, and is tried again."""


class BundleStanding(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A bundle that is published."""

    revision: str
    source: str
    published: str
    digest: str


class Standing(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    namespace: str
    wanted: str
    active: str
    previous: str
    changed: str
    bundles: list[BundleStanding]
    gates: list[GateStanding]
    """That are there."""
    gone: list[str]
    """Gates that have announced nothing for 75 s: nobody waits for them."""
    control: GateStanding | None
    """What the leading `control` has; None where none has said so for 75 s."""

    @property
    def is_settled(self) -> bool:
        """Whether what is wanted is in force in every gate that is there, and nobody refuses."""
        return (
            self.wanted == self.active
            and all(gate.in_force == self.active and not gate.refused for gate in self.gates)
            and (self.control is None or not self.control.refused)
        )


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[BundleStore]:
    """Give what is published in the cluster of the settings.

    Raises:
        SettingsError: it is a folder, or the credentials are missing or broken.
    """
    if settings.cluster is not None:
        raise SettingsError(
            f"{name_setting('cluster')}: bundles are published in a real cluster only; a folder's "
            "gate follows the file of --bundle"
        )
    async with open_objects(settings.kubeconfig) as objects:
        yield BundleStore(objects, settings.namespace)


async def standing_of(store: BundleStore, namespace: str) -> Standing:
    """Read how bundles stand.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
        InvalidObjectError: the head cannot be read.
    """
    head = (await store.read()).head
    there, gone = await _heard(store)
    control = there.pop(CONTROL, None)
    return Standing(
        namespace=namespace,
        wanted=head.wanted,
        active=head.active,
        previous=head.previous,
        changed=head.changed,
        bundles=[
            BundleStanding(
                revision=one.revision, source=one.source, published=one.at, digest=one.digest
            )
            for one in head.bundles
        ],
        gates=[_gate(name, said) for name, said in there.items()],
        gone=gone,
        control=None if control is None else _gate(CONTROL, control),
    )


async def _heard(store: BundleStore) -> tuple[dict[str, Announcement], list[str]]:
    """Give what gates and control say that are there, and name gates that are gone.

    By kube-apiserver's clock, and each gate's own.
    """
    said = await store.gates() or {}
    since = store.now() - GONE_S
    old = {name for name, each in said.items() if each.at and _unix(each.at) < since}
    there = {name: each for name, each in said.items() if name not in old}
    return there, sorted(old - {CONTROL})


def _unix(text: str) -> float:
    """Give Unix seconds; what is no time is taken for now, as of a gate that is there."""
    try:
        return milliseconds_of(text) / 1000
    except ValueError:
        return math.inf


def _gate(name: str, said: Announcement) -> GateStanding:
    return GateStanding(
        name=name,
        in_force=said.in_force,
        revision=said.revision,
        loaded=list(said.loaded),
        refused=said.refused,
        seen=said.at,
        problem=said.problem,
    )


async def want(store: BundleStore, settings: Settings, target: str, *, at_once: bool) -> Head:
    """Have a file published and wanted, or a revision that is published; give the head.

    With `at_once` it is active without waiting for gates: each puts it in force once it has it.

    Raises:
        BundleRefusedError: the file is no bundle that a gate would take.
        SettingsError: there is neither such a file nor such a revision.
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    found = await asyncio.to_thread(_read, Path(target), settings)
    before = await store.read()
    if found is not None:
        before = await store.publish(before, *found)
        head = before.head
    elif target == BASE or before.head.of(target) is not None:
        head = wanting(before.head, target)
    else:
        known = ", ".join([*(one.revision for one in before.head.bundles), BASE])
        raise SettingsError(f"{target}: no such file, and of revisions there are: {known}")
    if at_once:
        head = activated(head, time.time())
    await store.write(before, head)
    return head


async def want_previous(store: BundleStore, *, at_once: bool) -> Head:
    """Have wanted what was active before; give the head.

    Where another is wanted that is not active yet, what is active stays so: it is wanted again.

    Raises:
        SettingsError: nothing was.
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    before = await store.read()
    head = before.head
    if head.wanted != head.active:
        head = wanting(head, head.active)
    elif head.previous == head.active:
        raise SettingsError(f"nothing was active before {head.active}: there is no way back")
    else:
        head = wanting(head, head.previous)
    if at_once:
        head = activated(head, time.time())
    await store.write(before, head)
    return head


def _read(path: Path, settings: Settings) -> tuple[bytes, Stored] | None:
    """Read a bundle as a gate does, which refuses some at load; None where there is no file."""
    if not path.is_file():
        return None
    keys = read_keys(settings.bundles.keys) if settings.bundles.keys else NO_KEYS
    bundle = read_bundle(path, keys)
    load_engine(bundle, settings.evaluation).close()
    stored = Stored(bundle.revision, bundle.digest, 0, 1, time_text(time.time()), path.name)
    return path.read_bytes(), stored


async def wait_until_active(store: BundleStore, head: Head, seconds: float) -> None:
    """Wait until what `head` wants is active, saying on standard error what is waited for.

    Raises:
        BundleRefusedError: a gate or control refuses it, or somebody wants another.
        ClusterError: it is not active after so many seconds.
    """
    deadline, said = time.monotonic() + seconds, ""
    while True:
        now = (await store.read()).head
        if now.turn != head.turn:
            raise BundleRefusedError(f"somebody wants {now.wanted} meanwhile")
        if now.active == head.wanted:
            return
        gates, _ = await _heard(store)
        current = {name: each for name, each in gates.items() if each.turn == head.turn}
        for name, each in current.items():
            if why := each.refused.get(head.wanted):
                raise BundleRefusedError(f"{name} refuses {head.wanted}: {why}")
        own = {name for name, each in current.items() if head.wanted in each.loaded}
        text = (
            f"{len(own - {CONTROL})} of {len(gates.keys() - {CONTROL})} gates have loaded "
            f"{head.wanted}"
        )
        for name, each in current.items():
            if each.problem and name not in own:
                text += f"; {name} tries again: {each.problem}"
        if text != said:
            sys.stderr.write(f"{text}\n")
            said = text
        if time.monotonic() >= deadline:
            raise ClusterError(
                f"{head.wanted} is not active after {seconds:g} s ({text}): 'sallyport policy "
                "status' says who lacks it; it is activated as soon as all have it, if control runs"
            )
        await asyncio.sleep(_LOOK_S)
