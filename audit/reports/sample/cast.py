"""Who plays in the sample month: people, service accounts, stores, grants. All made up.

What looks drawn is taken from digests of words: every month and every machine has the same cast.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

CLUSTER: Final = "sample-month"
TENANT: Final = "5a3b9f10-0000-4000-8000-00000000f00d"
SUBSCRIPTION: Final = "5a3b9f10-0000-4000-8000-0000000000aa"
GIB: Final = 1 << 30

TEAMS: Final = ("alder", "birch", "cedar", "dogwood", "elm")
LEAK_TOKEN: Final = hashlib.sha256(b"leaked sas").hexdigest().upper()
LEAK_ADDRESS: Final = "203.0.113.77"
PIPELINE_ADDRESS: Final = "198.51.100.23"


def draw(below: int, *words: object) -> int:
    """Return a number that these words always give."""
    text = "/".join(map(str, words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % below


def sample_id(*words: object) -> str:
    """Return an id in the form of Entra's."""
    text = hashlib.sha256("/".join(map(str, ("id", *words))).encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:32]}"


@dataclass(frozen=True)
class Shelf:
    """A store of weights: one container of one account."""

    name: str
    account: str
    shards: int
    shard_bytes: int
    checkpoint: str

    container: str = "weights"

    def blob(self, shard: int) -> str:
        """Return the name of a shard."""
        return f"step-120000/model-{shard + 1:05d}-of-{self.shards:05d}.safetensors"


FRONTIER: Final = Shelf("frontier", "swfrontier", 64, 21 * GIB, "1344Gi")
DISTILLED: Final = Shelf("distilled", "swdistilled", 16, 8 * GIB, "128Gi")
SHELVES: Final = (FRONTIER, DISTILLED)

PEOPLE: Final = tuple(f"oid:{sample_id('person', number)}" for number in range(12))
"""Of these the last two approve."""


@dataclass(frozen=True)
class Worker:
    """A service account, the identity that its Pods sign in with, and who runs them."""

    namespace: str
    name: str
    shelf: Shelf
    person: str
    client: str
    principal: str
    grant: str
    profile: str
    sandbox: str | None

    @property
    def account(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


def _worker(namespace: str, kind: str, number: int, shelf: Shelf, team: str) -> Worker:
    name = f"{kind}-{number + 1:02d}"
    return Worker(
        namespace=namespace,
        name=name,
        shelf=shelf,
        person=PEOPLE[draw(10, "team", namespace, team)],
        client=sample_id("client", name),
        principal=sample_id("principal", name),
        grant=f"{shelf.name}-{team}",
        profile="rdma-training" if namespace == "train" else "restricted",
        sandbox="gvisor" if namespace == "evals" else None,
    )


TRAINERS: Final = tuple(
    _worker("train", "trainer", number, FRONTIER, TEAMS[number % 5]) for number in range(18)
)
EVALUATORS: Final = tuple(
    _worker("evals", "evaluator", number, DISTILLED, "holdout" if number < 3 else "nightly")  # noqa: PLR2004
    for number in range(10)
)
SERVERS: Final = tuple(
    _worker("serve", "server", number, DISTILLED, "serving") for number in range(4)
)
SCANNER: Final = _worker("ops", "inventory", 0, FRONTIER, "inventory")
BACKUP: Final = _worker("ops", "backup", 0, DISTILLED, "backup")
WORKERS: Final = (*TRAINERS, *EVALUATORS, *SERVERS, SCANNER, BACKUP)

HANDS: Final = PEOPLE[:4]
"""Who read by hand, without a Pod, under a grant for people."""

PIPELINE: Final = (sample_id("client", "pipeline"), sample_id("principal", "pipeline"))
"""Client and object id of a build pipeline whose identity was taken over."""
