"""Reviews that a gate answered and recorded, and what both bundles answer to each of them."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kube.cluster.folder import FolderCluster
from tests.harness.worlds.recorded_reviews import Answered, Frames, answer_all, keep, reviews
from tests.harness.worlds.replay_bundles import make_bundles
from tests.unit.admission.world import Folder


@dataclass(frozen=True)
class Scene:
    """What was recorded, and what both bundles answer to the same."""

    ledger: str
    base: Path
    candidate: Path
    was: list[Answered]
    becomes: list[Answered]
    spool: Frames

    @property
    def anew(self) -> dict[str, int]:
        """How often the gate changes its mind, asked with one bundle and then the other."""
        found: Counter[str] = Counter()
        for was, becomes in zip(self.was, self.becomes, strict=True):
            if was.allowed != becomes.allowed:
                found["newlyRefused" if was.allowed else "newlyAdmitted"] += 1
        return dict(found)


def cluster_of(folder: Path) -> FolderCluster:
    """Return a cluster of three namespaces, one of which only warns."""
    world = Folder(folder / "cluster").grant("Group:system:authenticated", "pss-baseline")
    for name, mode in (("train", None), ("web", "enforce"), ("lab", "warn")):
        world.namespace(name, mode=mode)
    return world.cluster()


def make_scene(folder: Path, count: int, variety: int = 40) -> Scene:
    """Answer reviews with the bundle in force, record that, and answer them with the candidate."""
    cluster = cluster_of(folder)
    base, candidate = make_bundles(folder)
    asked, spool = list(reviews(count, variety=variety)), Frames()
    was = asyncio.run(answer_all(cluster, base, asked, spool))
    becomes = asyncio.run(answer_all(cluster, candidate, asked))
    ledger = asyncio.run(keep(folder, spool))
    return Scene(ledger, base, candidate, was, becomes, spool)
