"""`sallyport egress release`: lets allowlists go that nobody looks after any more."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from app.settings.root import Settings
from cli import exits
from core.base import names
from core.base.errors import ClusterError, SettingsError
from core.base.safe_text import safe_line
from kube.client.objects import Objects, list_objects, open_objects
from kube.egress.watch import intent_path

FORMAT: Final = 1

_COLLECTION: Final = f"/apis/{names.API_VERSION}/egressallowlists"
_REMEDY: Final = (
    "while Sallyport is installed, control takes it off once the policies have gone: uninstall "
    "first. Else see to what the message says, and run this again"
)


class HeldAllowlist(msgspec.Struct, frozen=True):
    """An allowlist that is still held."""

    allowlist: str
    """`namespace/name`."""
    why: str


class ReleaseResult(msgspec.Struct, frozen=True):
    """What `-o json` prints."""

    format: int
    released: list[str]
    """Each as `namespace/name`."""
    kept: list[HeldAllowlist]


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    namespace: str
    name: str
    uid: str
    resource_version: str
    finalizers: tuple[str, ...] = ()


class _Item(msgspec.Struct, frozen=True):
    metadata: _Metadata


async def release(settings: Settings) -> ReleaseResult:
    """Take control's finalizer off every allowlist of the cluster; their policies stay.

    Raises:
        SettingsError: a folder stands in for the cluster.
        ClusterError: kube-apiserver does not answer, or does not let allowlists be listed.
    """
    if settings.cluster is not None:
        raise SettingsError("a folder has no finalizers: give --kubeconfig FILE")
    async with open_objects(settings.kubeconfig) as objects:
        return await _release(objects)


async def _release(objects: Objects) -> ReleaseResult:
    done: list[str] = []
    kept: list[HeldAllowlist] = []
    for held in [found async for found in _held(objects)]:
        said = f"{held.namespace}/{held.name}"
        try:
            await _let_go(objects, held)
        except ClusterError as error:
            if error.status is None:
                raise
            kept.append(HeldAllowlist(said, str(error)))
        else:
            done.append(said)
    return ReleaseResult(FORMAT, done, kept)


async def _held(objects: Objects) -> AsyncIterator[_Metadata]:
    """Yield the allowlists that have the finalizer; none where the kind itself has gone."""
    try:
        async for raw in list_objects(objects, _COLLECTION):
            found = msgspec.json.decode(raw, type=_Item).metadata
            if names.EGRESS_FINALIZER in found.finalizers:
                yield found
    except ClusterError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


async def _let_go(objects: Objects, found: _Metadata) -> None:
    """Take the finalizer off one, as it was listed; one that has gone meanwhile is no error."""
    metadata = {
        "uid": found.uid,
        "resourceVersion": found.resource_version,
        "finalizers": [one for one in found.finalizers if one != names.EGRESS_FINALIZER],
    }
    try:
        await objects.merge(intent_path(found.namespace, found.name), {"metadata": metadata})
    except ClusterError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


def exit_code(released: ReleaseResult) -> int:
    """Return the exit code: whether an allowlist is still held."""
    return exits.REFUSED if released.kept else exits.ADMITTED


def print_released(released: ReleaseResult, console: Console) -> None:
    """Print a line for each that is still held, and how many are not."""
    for kept in released.kept:
        console.print(Text(safe_line(f"still held: {kept.allowlist}: {kept.why}"), style="red"))
    if released.kept:
        console.print(Text(f"what to do: {_REMEDY}"))
    console.print(Text(f"{len(released.released)} allowlists let go; their policies stay"))
