"""`sallyport policy activate` and `rollback`: publishes a bundle, and waits until it is active."""

import asyncio
import sys
import time
from pathlib import Path
from typing import Final

from app.bundles.check import CheckedBundle, check_bundle
from app.settings.root import Settings
from cli.policy.activation.status import read_announcements
from cli.policy.shared.documents import Activation
from core.base.errors import BundleRefusedError, ClusterError, SettingsError
from core.policy_bundles import BASE, CONTROL, BundleHead
from kube.bundles.store import BundleStore, with_active, with_not_before, with_wanted
from policies.bundle.format import read_archive

_LOOK_S: Final = 0.5


async def request_activation(
    store: BundleStore, settings: Settings, target: str, *, at_once: bool
) -> BundleHead:
    """Have a file published and wanted, or a revision that is published; give the head.

    With `at_once` it is active without waiting for gates: each puts it in force once it has it.
    What was built before it, `control` takes from a registry no more; before another, it may.

    Raises:
        BundleRefusedError: the file is no bundle that a gate would take.
        SettingsError: there is neither such a file nor such a revision.
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    found = await asyncio.to_thread(_read, Path(target), settings)
    before = await store.read()
    if found is not None:
        before = await store.publish(before, found.packed, found.stored(Path(target).name))
        head = with_not_before(before.head)
    elif target == BASE or before.head.of(target) is not None:
        head = with_not_before(with_wanted(before.head, target))
    else:
        known = ", ".join([*(one.revision for one in before.head.bundles), BASE])
        raise SettingsError(f"{target}: no such file, and of revisions there are: {known}")
    if at_once:
        head = with_active(head, time.time())
    await store.write(before, head)
    return head


async def request_rollback(store: BundleStore, *, at_once: bool) -> BundleHead:
    """Have wanted what was active before; give the head.

    Where another is wanted that is not active yet, what is active stays so: it is wanted again.
    `control` takes nothing older from a registry than before.

    Raises:
        SettingsError: nothing was.
        ClusterError: kube-apiserver does not answer, or refuses.
    """
    before = await store.read()
    head = before.head
    if head.wanted != head.active:
        head = with_wanted(head, head.active)
    elif head.previous == head.active:
        raise SettingsError(f"nothing was active before {head.active}: there is no way back")
    else:
        head = with_wanted(head, head.previous)
    if at_once:
        head = with_active(head, time.time())
    await store.write(before, head)
    return head


def _read(path: Path, settings: Settings) -> CheckedBundle | None:
    """Check a bundle as a gate does, which refuses some at load; None where there is no file."""
    if not path.is_file():
        return None
    checked = check_bundle(read_archive(path), str(path), settings)
    if checked.foreign:
        sys.stderr.write(f"{describe_foreign(len(checked.foreign))}\n")
    return checked


def describe_foreign(files: int) -> str:
    """Word that a bundle was built by another release."""
    return (
        f"it has other built-in policies than this release ({files} files): build it again with "
        "'sallyport policy build' of this release"
    )


async def change(
    store: BundleStore, settings: Settings, target: str | None, wait: float, *, at_once: bool
) -> Activation:
    """Have a bundle wanted, the one before where `target` is None, and wait until it is active.

    Raises:
        SettingsError: there is neither such a file nor such a revision, or no way back.
        ClusterError: kube-apiserver does not answer or refuses, and nothing is changed.
    """
    try:
        if target is None:
            head = await request_rollback(store, at_once=at_once)
        else:
            head = await request_activation(store, settings, target, at_once=at_once)
    except BundleRefusedError as error:
        return Activation(
            namespace=settings.namespace, wanted="", before="", active=False, refused=str(error)
        )
    refused = problem = ""
    active = head.active == head.wanted
    if wait and not at_once:
        active = False
        try:
            await wait_until_active(store, head, wait)
            active = True
        except BundleRefusedError as error:
            refused = str(error)
        except ClusterError as error:
            problem = str(error)
    return Activation(
        namespace=settings.namespace,
        wanted=head.wanted,
        before=head.previous if at_once and active else head.active,
        active=active,
        refused=refused,
        problem=problem,
    )


async def wait_until_active(store: BundleStore, head: BundleHead, seconds: float) -> None:
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
        gates, _ = await read_announcements(store)
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
