"""What a candidate is compared with: a file, or the bundle that is in force."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from app.settings.root import Settings
from core.base.errors import BundleRefusedError, ClusterError
from core.policy_bundles import BASE, BundleHead, PublishedBundle
from kube.bundles.store import BundleStore
from kube.bundles.watch import PublishedBundles
from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.client.settings import LiveSettings
from policies.bundle.format import parse_bundle
from policies.bundle.signatures import read_keys

_NOT_ASKED = "whether a published bundle is in force instead is not known without --kubeconfig"
_NOT_PUBLISHED = "no published bundle is active in the cluster, and gates may have settings of \
their own"


@dataclass(frozen=True)
class ComparisonBase:
    """A bundle to compare with."""

    path: Path | None
    """None for the built-in one."""
    name: str
    """What people call it; empty for the built-in one."""
    note: str
    """Why it is that, for a person."""


@asynccontextmanager
async def open_base(settings: Settings, named: Path | None) -> AsyncIterator[ComparisonBase]:
    """Yield the file that is named, else the bundle in force as far as it is known.

    That is what is active in the cluster of a kubeconfig, else that of the settings.

    Raises:
        BundleRefusedError: what is active cannot be read as a gate reads it.
        ClusterError: the cluster does not say what is active.
    """
    if named is not None:
        yield ComparisonBase(named, str(named), "it is the file of --base")
        return
    own = settings.bundle
    ours = "the bundle of these settings" if own else "the built-in bundle"
    if settings.kubeconfig is None:
        yield ComparisonBase(own, str(own or ""), f"it is {ours}: {_NOT_ASKED}")
        return
    found = await _active(settings, settings.kubeconfig)
    if found is None:
        yield ComparisonBase(own, str(own or ""), f"it is {ours}: {_NOT_PUBLISHED}")
        return
    stored, packed = found
    name = f"the published bundle {stored.revision}"
    keys = read_keys(settings.bundles.keys)
    parse_bundle(packed, name, keys)
    with TemporaryDirectory(prefix="sallyport-base-") as folder:
        path = Path(folder) / "bundle.tar.gz"
        await asyncio.to_thread(path.write_bytes, packed)
        source = f", from {stored.source}" if stored.source else ""
        yield ComparisonBase(path, name, f"it is active in the cluster of --kubeconfig{source}")


async def _active(settings: Settings, kubeconfig: Path) -> tuple[PublishedBundle, bytes] | None:
    """Return the published bundle that is active; None where gates have their own in force."""
    connection = Connection(kubeconfig)
    await connection.open()
    live = LiveSettings(namespace=settings.namespace)
    try:
        store = BundleStore(Objects(connection, live.request_timeout_s), settings.namespace)
        head = (await store.read()).head
        if head.active == BASE:
            return None
        stored = _stored(head)
        return stored, await PublishedBundles(connection, live, lambda: None).fetch(stored)
    except ClusterError as error:
        raise ClusterError(
            f"which bundle is in force is not known: {error}; name one with --base", error.status
        ) from error
    finally:
        await connection.close()


def _stored(head: BundleHead) -> PublishedBundle:
    stored = head.of(head.active)
    if stored is None:
        raise BundleRefusedError(f"{head.active} is active, and not published; give --base")
    return stored
