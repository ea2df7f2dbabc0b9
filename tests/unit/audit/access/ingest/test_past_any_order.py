"""In whatever order the ledger was told: accesses of last month are attributed the same."""

import random
from pathlib import Path

import pytest

from audit.access.ingest.past_memories import NAME
from audit.ledger.records.frames import Frame, FrameKind, decision_frame_id
from audit.ledger.store.store import Store
from core.base.ids import stable_id
from core.weights.documents.pod_life import encode_life
from tests.harness.worlds.storage_logs import BEGIN_MS, application
from tests.unit.audit.access.attribution import cluster_history
from tests.unit.audit.access.ingest.test_past_logs import DAY_S, NOW, OLD, accesses, tick
from tests.unit.audit.access.ingest.training_cluster import CLUSTER, cluster, ingest_of

DAYS = 30
ASKED = (0.5, 1.9, 2.5, 20, 30)


def pod(day: int, *, ended: bool) -> Frame:
    """Return the record of a day's Pod: of its address, or of its end two days later."""
    at = BEGIN_MS // 1000 + day * DAY_S
    end = {"ended": at + 2 * DAY_S} if ended else {}
    document = cluster_history.life(
        f"train-{day}",
        began=at,
        **end,
        id=stable_id((at + 2 * DAY_S * ended) * 1000, "life", str(day)),
        service_account="sa-1",
        addresses=[OLD],
        client_ids=[application(1)],
    )
    return Frame(FrameKind.POD_LIFE, decision_frame_id(document.id), encode_life(document))


def decision(day: int) -> Frame:
    """Return the record of the decision that admitted a day's Pod."""
    at = BEGIN_MS // 1000 + day * DAY_S
    identity = stable_id(at * 1000, "decision", str(day))
    document = cluster_history.decision(
        f"uid-train-{day}", id=identity, time=cluster_history.text(at)
    )
    return Frame(FrameKind.DECISION, decision_frame_id(identity), document)


def told() -> list[list[Frame]]:
    """Return what the ledger was told, by day.

    Every fifth day a Pod, of two days, on one address.
    """
    days: list[list[Frame]] = [[] for _ in range(DAYS + 2)]
    for day in range(0, DAYS, 5):
        days[day] += [decision(day), pod(day, ended=False)]
        days[day + 2].append(pod(day, ended=True))
    for day in range(1, DAYS + 1):
        days[day].append(tick(day))
    return days


async def attributed(path: Path, deliveries: list[list[Frame]]) -> list[tuple[str, ...]]:
    """Return how a ledger that was told so attributes, once its memory has moved on."""
    async with Store(f"sqlite:///{path}") as store:
        await store.deliver(CLUSTER, cluster(2))
        for frames in deliveries:
            await store.deliver(CLUSTER, frames)
            if len(deliveries) > 1:
                ingest = ingest_of(store, clock=lambda: NOW)
                await ingest.idle()
                await ingest.save()
        ingest = ingest_of(store, clock=lambda: NOW)
        await ingest.idle()
        await ingest.save()
        found = await accesses(ingest_of(store, clock=lambda: NOW), store, *ASKED)
        return [
            (
                each.attribution.confidence.value,
                *(f"{pod.uid} {pod.requester} {pod.decision}" for pod in each.attribution.pods),
            )
            for each in found
        ]


async def test_a_spool_that_catches_up(tmp_path: Path) -> None:
    """A month in one delivery, whose log is ordered by kind: as if each day had come on its day."""
    wanted = await attributed(tmp_path / "daily.db", told())
    assert [sure for sure, *_ in wanted] == [
        "exact",
        "exact",
        "unattributed",
        "exact",
        "unattributed",
    ]
    assert "uid-train-0" in wanted[0][1]
    assert "oid:" in wanted[0][1]
    at_once = [frame for frames in told() for frame in frames]
    assert await attributed(tmp_path / "once.db", [at_once]) == wanted


@pytest.mark.parametrize("seed", [1, 2])
async def test_any_order(tmp_path: Path, seed: int) -> None:
    """Days come shuffled, one spool long after the other: the same is said."""
    wanted = await attributed(tmp_path / "daily.db", told())
    drawn = random.Random(seed)  # noqa: S311  Not a secret.
    frames = [frame for frames in told() for frame in frames]
    drawn.shuffle(frames)
    cuts = [frames[at : at + 9] for at in range(0, len(frames), 9)]
    assert await attributed(tmp_path / "shuffled.db", cuts) == wanted


async def test_what_is_read_again_changes_nothing(tmp_path: Path) -> None:
    """Whose last checkpoint is lost reads on from the last day; nothing is late twice."""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}") as store:
        await store.deliver(CLUSTER, cluster(2))
        await store.deliver(CLUSTER, [frame for frames in told() for frame in frames])
        ingest = ingest_of(store, clock=lambda: NOW)
        await ingest.idle()
        await ingest.save()
        before = await store.load_checkpoint(CLUSTER, "weights/memory-days")
        await store.save_checkpoint(CLUSTER, "weights/memory", 0, b"nonsense")
        again = ingest_of(store, clock=lambda: NOW)
        await again.idle()
        assert len(again.counts.problems) == 1
        assert await store.load_checkpoint(CLUSTER, "weights/memory-days") == before
        found = await accesses(again, store, *ASKED)
        assert [each.attribution.confidence.value for each in found][:2] == ["exact", "exact"]


async def test_where_no_day_can_be_read_all_is_read_again(tmp_path: Path) -> None:
    """A later release's checkpoints are not guessed at; the days are kept anew."""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}") as store:
        await store.deliver(CLUSTER, cluster(2))
        for frames in told():
            await store.deliver(CLUSTER, frames)
        ingest = ingest_of(store, clock=lambda: NOW)
        await ingest.idle()
        await ingest.save()
        first = BEGIN_MS // 1000 // DAY_S
        names = [f"{NAME}{first + day}" for day in range(-5, DAYS + 2)]
        kept = [name for name in names if await store.load_checkpoint(CLUSTER, name)]
        assert len(kept) > DAYS / 2
        for name in ("weights/memory", *kept):
            await store.save_checkpoint(CLUSTER, name, 0, b"nonsense")
        found = await accesses(ingest_of(store, clock=lambda: NOW), store, *ASKED)
        assert [each.attribution.confidence.value for each in found][:2] == ["exact", "exact"]
