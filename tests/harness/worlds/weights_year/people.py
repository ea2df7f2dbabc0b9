"""Who and what there is in a year around the weights: stores, principals, their Pods."""

import datetime as dt
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from tests.harness.worlds.storage_logs import application, principal

START: Final = dt.datetime(2025, 9, 1, tzinfo=dt.UTC).timestamp()
DAY: Final = 86_400.0
HOUR: Final = 3600.0
CLUSTER: Final = "11111111-2222-4333-8444-000000000001"
GIB: Final = 1 << 30
NODES: Final = 120
COPY_SOURCE: Final = "CopyBlobSource"
COPYING: Final = ("CopyBlob", COPY_SOURCE, "CopyBlobDestination")
"""The records of one copy, all in the log of the account that is written to."""
LOG: Final = 0
"""Of a Happening: a raw record of a log, and no document."""


class Happening(NamedTuple):
    """One thing that the auditor hears of."""

    at: float
    """Unix seconds at which it arrives."""
    kind: int
    """LOG, or a FrameKind."""
    content: bytes


@dataclass(frozen=True)
class Store:
    """A store of weights."""

    name: str
    account: str
    container: str
    shards: int
    shard_gib: int

    @property
    def checkpoint(self) -> int:
        """Bytes of one checkpoint."""
        return self.shards * self.shard_gib * GIB


STORES: Final = (
    Store("llama", "weightsprod", "llama", 96, 14),
    Store("vision", "weightsvision", "vision", 48, 6),
    Store("speech", "weightsspeech", "speech", 64, 10),
)


class Job(Enum):
    """What a principal does."""

    TRAIN = "train"
    EVALUATE = "evaluate"
    SERVE = "serve"
    RESEARCH = "research"
    WATCH = "watch"
    BACK_UP = "back-up"
    INVENTORY = "inventory"


SHARES: Final = {
    Job.TRAIN: 0.1,
    Job.EVALUATE: 0.3,
    Job.SERVE: 0.1,
    Job.RESEARCH: 0.43,
    Job.WATCH: 0.05,
    Job.BACK_UP: 0.01,
    Job.INVENTORY: 0.01,
}


@dataclass
class Principal:
    """A workload identity, its service account, and the human behind its Pods."""

    number: int
    job: Job
    store: Store
    joins: int = 0
    """Day on which it begins."""
    leaves: int = 100_000
    appetite: float = 1.0
    """How much it reads, against others of its job."""
    weekday: int = 0
    agent: int = 0
    changes: int = 100_000
    """Day on which a new identity takes over: blue and green."""
    lapses: tuple[int, int] = (100_000, 100_000)
    """Days between which nobody renewed its grant."""

    @property
    def account(self) -> str:
        """Name of its service account."""
        return f"sa-{self.number}"

    @property
    def namespace(self) -> str:
        """Where its Pods run."""
        return f"team-{self.number % 12}"

    @property
    def human(self) -> str:
        """`Subject.label` of who asks for its Pods."""
        return f"oid:0e000000-0000-4000-8000-{self.number:012x}"

    def ids(self, day: int) -> tuple[str, str]:
        """Return its object id and client id on a day."""
        number = self.number + (5000 if day >= self.changes else 0)
        return principal(number), application(number)


@dataclass(frozen=True)
class Shape:
    """Which year it is."""

    seed: int
    principals: int = 200
    days: int = 365
    rate: float = 1.0
    """How much happens, against the full size."""


@dataclass(frozen=True)
class Session:
    """A Pod that reads."""

    one: Principal
    oid: str
    client: str
    address: str
    token: str
    begin: float
    end: float


def text_of(at: float) -> str:
    """Return a time as RFC 3339."""
    return f"{dt.datetime.fromtimestamp(at, dt.UTC):%Y-%m-%dT%H:%M:%S}.{int(at * 1000) % 1000:03d}Z"


def shard_of(step: int, shard: int) -> str:
    """Return a shard's path."""
    return f"run/step-{step:05d}/shard-{shard:05d}.safetensors"


def agent(number: int, at: float) -> str:
    """Return a user agent: each has a program, whose version goes up every two months or so."""
    programs = ("azsdk-python-storage-blob/12.", "azcopy/10.", "blobfuse2/2.", "Blobfuse/1.")
    release = int((at - START) / DAY + number * 0.6) // 60
    return f"{programs[number % 3]}{20 + release} (Linux)"
