"""`python -m bench.identity`: the CPU that risk adds to a review, in interleaved pairs.

Two gates judge the same Pods in the same cluster, which holds a risk snapshot of 20,000 people at
risk; nobody of those who ask is. One gate decides by it, the other asks nobody for risk
(`bench.without_identity`).
"""

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from bench.added import Added, Case, measure_added
from bench.reviews import GANG, USUAL
from bench.rig import UNCACHED, Rig, rig
from bench.sandbox import NEW
from core.risk.model import RiskEntry, RiskLevel, RiskSource, RiskState
from core.risk.snapshot import Coverage, Head, RiskSnapshot, SnapshotDraft
from core.risk.snapshot_storage import (
    HEAD_NAME,
    SHARD_KEY,
    build_head,
    encode_base,
    encode_head,
    shard_name,
)
from tests.unit.core.risk_samples import rebased

_PEOPLE: Final = 20_000
_GENERATION: Final = "a"


@contextmanager
def _knowing() -> Iterator[Rig]:
    """Yield a rig whose cluster knows who is at risk."""
    with rig() as servers:
        know_who_is_at_risk(servers.cluster)
        yield servers


def know_who_is_at_risk(cluster: Path) -> None:
    """Put a risk snapshot of 20,000 people into the cluster."""
    _write(rebased(_snapshot()), cluster)


def _snapshot() -> RiskSnapshot:
    now, seeded = time.time(), Random(9)  # noqa: S311  Nothing is secret here.
    draft = SnapshotDraft.of(RiskSnapshot())
    coverage = Coverage(as_of=now)
    draft.head = Head(users=coverage, service_principals=coverage)
    entry = RiskEntry(
        level=RiskLevel.HIGH, state=RiskState.AT_RISK, updated=int(now), since=int(now)
    )
    for _ in range(_PEOPLE):
        draft.put(RiskSource.ENTRA, uuid.UUID(int=seeded.getrandbits(128)).bytes, entry)
    return draft.finish(now)


def _write(snapshot: RiskSnapshot, cluster: Path) -> None:
    written = encode_base(snapshot.base.items())
    secrets: dict[str, Mapping[str, bytes]] = {
        HEAD_NAME: encode_head(build_head(snapshot, _GENERATION, written.digests))
    }
    for number, content in enumerate(written.shards):
        secrets[shard_name(_GENERATION, number)] = {SHARD_KEY: content}
    for name, data in secrets.items():
        metadata = {"name": name, "namespace": "sallyport-system"}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        (cluster / f"{name}.yaml").write_bytes(msgspec.json.encode(body))


def main() -> None:
    """Measure, and print what was added."""
    measure_added(
        Added(
            program="bench.identity",
            described=__doc__,
            without="bench.without_identity",
            cases={
                "uncached": Case(USUAL, 40, NEW, _knowing),
                "a gang": Case(GANG, 10, rig=_knowing),
                "nothing remembered at all": Case(USUAL, None, UNCACHED, _knowing),
            },
            against="the same gate that asks nobody for risk, in the same cluster: it knows of "
            f"{_PEOPLE:,} people at risk, of whom nobody asks",
            page="identity-cost",
        )
    )


if __name__ == "__main__":
    main()
