"""Who can open each WeightStore by Azure's rules, as `control` last read it: one ConfigMap.

For people and reports; no review depends on it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.weights.documents.store_access import StoreAccess, decode_store_access
from kube.client.objects import Objects

NAME: Final = "sallyport-store-access"

MOST_BYTES: Final = 900_000
"""Of all stores together: a ConfigMap holds 1 MiB."""


def path_of(namespace: str) -> str:
    """Return the ConfigMap's path."""
    return f"/api/v1/namespaces/{namespace}/configmaps/{NAME}"


def body_of(namespace: str, known: Mapping[str, StoreAccess]) -> dict[str, Any]:
    """Return the ConfigMap; what does not fit is left out, and the store's gaps say so."""
    share = MOST_BYTES // max(1, len(known))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": NAME,
            "namespace": namespace,
            "labels": {names.MANAGED_BY_LABEL: "sallyport"},
        },
        "data": {name: _fitting(one, share) for name, one in sorted(known.items())},
    }


async def read_accesses(objects: Objects, namespace: str) -> list[StoreAccess] | None:
    """Return what is known of each store, by name; None where nothing was ever read.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
        InvalidObjectError: somebody else wrote into it, or a release too new.
    """
    found = await objects.get(path_of(namespace))
    if found is None:
        return None
    return list(_decoded((found.get("data") or {}).items()))


def _decoded(written: Iterable[tuple[str, str]]) -> Iterable[StoreAccess]:
    for name, text in sorted(written):
        try:
            yield decode_store_access(text.encode())
        except (ValueError, msgspec.MsgspecError) as error:
            raise InvalidObjectError(f"ConfigMap {NAME}", f"data[{name}]", str(error)) from error


def _fitting(access: StoreAccess, most: int) -> str:
    """Return a store's access as JSON of at most so many bytes."""
    whole, dropped = access, 0
    while len(content := msgspec.json.encode(access)) > most and (
        access.holders or access.differing
    ):
        holders = access.holders[: len(access.holders) // 2]
        differing = access.differing[: len(access.differing) * 3 // 4]
        dropped = len(whole.holders) - len(holders) + len(whole.differing) - len(differing)
        gap = f"{dropped} more lines are not shown: they do not fit; the ledger has them"
        access = msgspec.structs.replace(
            access, holders=holders, differing=differing, gaps=[*whole.gaps, gap]
        )
    return content.decode()
