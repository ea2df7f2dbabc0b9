"""`sallyport weights access`: who can open the weights by Azure's rules, and what differs."""

from pathlib import Path
from typing import Final

import msgspec

from cli import exits
from core.base.errors import ClusterError, SettingsError
from core.weights.documents.store_access import StoreAccess
from kube.client.objects import open_objects
from kube.weights.store_access import read_accesses

FORMAT: Final = 1
"""Version of what programs read."""


class Accesses(msgspec.Struct, frozen=True, kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    stores: list[StoreAccess]


async def find_accesses(kubeconfig: Path | None, namespace: str, store: str | None) -> Accesses:
    """Return what control last read, of all stores or of one.

    Raises:
        SettingsError: nothing was read of this store.
        ClusterError: kube-apiserver does not answer, or refuses; or nothing was read at all.
        InvalidObjectError: what is stored cannot be read.
    """
    async with open_objects(kubeconfig) as objects:
        found = await read_accesses(objects, namespace)
    if found is None:
        message = (
            f"namespace {namespace}: nothing was read from Azure yet: set weights.azure.enabled "
            "and give each WeightStore its resourceId, or name the namespace (SALLYPORT_NAMESPACE)"
        )
        raise ClusterError(message)
    if store is not None:
        found = [one for one in found if one.store == store]
        if not found:
            text = f"{store}: no such WeightStore was read from Azure; has it a resourceId?"
            raise SettingsError(text)
    return Accesses(stores=found)


def exit_code(found: Accesses) -> int:
    """Return the exit code: 1 where something differs, 2 where not all could be read."""
    if any(one.gaps for one in found.stores):
        return exits.NOT_JUDGED
    return exits.REFUSED if any(one.differing for one in found.stores) else exits.ADMITTED
