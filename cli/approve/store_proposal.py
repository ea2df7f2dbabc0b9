"""What `sallyport approve store FILE` shows: what a file would make of a WeightStore."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from core.approvals.approvals import CLUSTER_KIND
from core.approvals.store_narrowing import find_narrowings, store_proposal
from core.base import names
from core.base.errors import SettingsError
from core.people.two_person import Approvable
from core.weights.stores import KIND, WeightStore, parse_store
from kube.client.objects import Objects
from kube.manifests.reader import read_paths
from kube.weights.watch import STORES_PATH

STORE_CALLED: Final = ("store", "weightstore", "weightstores", "wst")
"""What a person may call a change of the kind; its name is a file."""

REMOVAL_CALLED: Final = ("store-removal",)
"""What a person may call the removal of one; its name is the store's."""


@dataclass(frozen=True)
class StoreProposal:
    """A store as it is to be, and as it is."""

    name: str
    new: WeightStore | None
    """None where it is to go."""
    old: WeightStore
    uid: str

    @classmethod
    async def of(cls, objects: Objects, kind: str, name: str) -> "StoreProposal":
        """Compare a file, or that there shall be none, with what the cluster has.

        Raises:
            SettingsError: the file holds not one store, or the cluster has none of its name.
            ClusterError: kube-apiserver does not answer, or refuses.
            InvalidObjectError: what the file or the cluster has cannot be read.
        """
        new = None if kind.lower() in REMOVAL_CALLED else read_store(Path(name))
        called = new.name if new else name
        found = await objects.get(f"{STORES_PATH}/{called}")
        if found is None:
            raise SettingsError(f"{KIND} {called}: there is none yet: just apply it")
        old = parse_store(msgspec.json.encode(found))
        return cls(called, new, old, old.meta.uid)

    @property
    def what(self) -> Approvable:
        """What is approved; who will write it is not known yet."""
        return store_proposal(self.name, self.new, self.uid, frozenset())

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what it guards less, a line each, with its colour."""
        yield f"{KIND} {self.name}", ""
        yield f"  digest:   {self.what.digest}", ""
        less = find_narrowings(self.old, self.new)
        yield from ((f"  - {each}", "red") for each in less)
        if not less:
            yield "  It guards no less than it does now: nobody needs to approve it.", ""

    def approval(self, expires: str, reason: str) -> dict[str, Any]:
        """Return the approval of it.

        Raises:
            SettingsError: there is nothing to approve.
        """
        if not find_narrowings(self.old, self.new):
            raise SettingsError(f"{self.name}: it guards no less than it does: just apply it")
        wanted = {"kind": KIND, "name": self.name, "digest": self.what.digest, "uid": self.uid}
        spec = {"for": wanted, "expiresAt": expires}
        return {
            "apiVersion": names.API_VERSION,
            "kind": CLUSTER_KIND,
            "metadata": {"generateName": f"{self.name}-"},
            "spec": {**spec, "reason": reason} if reason else spec,
        }


def read_store(path: Path) -> WeightStore:
    """Read the only store of a file.

    Raises:
        SettingsError: it holds none, or several.
        InvalidObjectError: it is broken.
    """
    found = [
        parse_store(manifest.raw)
        for manifest in read_paths([path])
        if (manifest.group, manifest.kind) == (names.GROUP, KIND)
    ]
    if len(found) != 1:
        raise SettingsError(f"{path} holds {len(found)} WeightStores: name a file with one")
    return found[0]
