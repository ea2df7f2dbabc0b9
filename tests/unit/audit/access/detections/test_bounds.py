"""What detections remember is bounded, whoever comes; what they estimate is near the truth."""

import os

import pytest

from audit.access.baselines.daily_amounts import MOST_DAYS, DailyAmounts, add_amount, usual_of
from audit.access.baselines.footprints import (
    MOST_BLOBS,
    Footprint,
    add_day,
    add_window,
    forget_before,
)
from audit.access.detections.engine import DetectionEngine
from audit.access.model.sightings import agent_family, digest_of, network_of, touch
from core.weights.documents.access import Act, Caller
from core.weights.documents.events import Topic
from tests.unit.audit.access.detections.events import Around, access, activity, at, attributed

PRINCIPALS = 200_000 if os.environ.get("SALLYPORT_PROOF") == "1" else 6_000

_ACTS = (Act.READ, Act.READ, Act.WRITE, Act.LIST, Act.DELETE, Act.COPY, Act.POLICY)
_NAMES = {
    Act.WRITE: "PutBlock",
    Act.COPY: "CopyBlob",
    Act.LIST: "ListBlobs",
    Act.POLICY: "GetUserDelegationKey",
    Act.DELETE: "DeleteBlob",
}


@pytest.mark.proof
def test_strangers_without_number_fill_no_memory() -> None:
    """200,000 principals (CI: 6,000) leave states no larger than their bounds say."""
    engine, around, sizes = DetectionEngine(), Around(), []
    for n in range(PRINCIPALS):
        act = _ACTS[n % len(_ACTS)]
        event = access(
            at(0) + n,
            principal=f"{n:08x}-0000-0000-0000-000000000000",
            application=f"app-{n}",
            token=f"token-{n}",
            address=f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}",
            caller=Caller.PRIVATE,
            user_agent=f"tool{'abcdefghij'[n % 10]}{n}/1",
            container="checkpoints",
            blob=f"b{n}",
            act=act,
            operation=_NAMES.get(act, "GetBlob"),
            bytes_in=1,
            ungranted="none",
            grant="",
            attribution=attributed(),
        )
        engine.see(event, around)
        if n % 3 == 0:
            engine.see(activity(at(0) + n, Topic.KEYS_LISTED, principal=f"p{n}"), around)
        if n in {3 * PRINCIPALS // 4, PRINCIPALS - 1}:
            sizes.append(len(engine.snapshot()))
    assert engine.broken == {}
    assert sizes[-1] < 25 << 20
    if PRINCIPALS > 100_000:
        assert sizes[-1] < 1.1 * sizes[0]


def test_a_room_forgets_what_was_used_longest_ago() -> None:
    """And keeps what is used."""
    room: dict[str, int] = {}
    for word in ("a", "b", "a", "c"):
        touch(room, word, int, 2)
    assert list(room) == ["a", "c"]


def test_a_footprint_counts_bytes_once_and_estimates_many_blobs() -> None:
    """Within a fifth of the truth for 5,000 blobs, with 128 of them in memory."""
    footprint, total, blobs = Footprint(), 0, 0
    for again in range(3):
        for n in range(5_000):
            gained, fresh = add_day(footprint, digest_of("c", f"b{n}"), 1, 100, 100)
            total, blobs = total + gained, blobs + fresh
            assert len(footprint.blobs) <= MOST_BLOBS, again
    assert total == pytest.approx(500_000, rel=0.2)
    assert blobs == pytest.approx(5_000, rel=0.2)
    forget_before(footprint, 2)
    assert footprint == Footprint()


def test_a_window_counts_parts_up_to_the_size() -> None:
    """Ranges of one blob add up day by day, to its size and no further; then the window forgets."""
    footprint = Footprint()
    gained = [add_window(footprint, 2, day, 30, 100, 30) for day in range(6)]
    assert gained == [30, 30, 30, 10, 0, 0]
    assert add_window(footprint, 2, 31, 30, 100, 30) == 30
    unknown = [add_window(footprint, 4, day, amount, 0, 30) for day, amount in enumerate((5, 5, 8))]
    assert unknown == [5, 0, 3]


def test_a_limit_follows_the_middle_and_not_the_odd_day() -> None:
    """One day of a hundred times as much moves it by little; what was done twice is usual."""
    steady = [100.0 + n for n in range(20)]
    limit = usual_of(steady).limit(5.0, 0.4)
    assert limit < 10 * 120
    assert usual_of([*steady, 10_000.0]).limit(5.0, 0.4) < 1.2 * limit
    assert usual_of([*steady, 10_000.0, 10_000.0]).limit(5.0, 0.4) > 10_000
    assert usual_of([7.0]).limit(5.0, 0.4) > 7.0


def test_days_keep_the_last_ones_in_order_also_when_one_comes_late() -> None:
    """What is too old is let go."""
    days = DailyAmounts()
    for day in range(100, 100 + 2 * MOST_DAYS, 2):
        add_amount(days, day, 1.0)
    add_amount(days, 151, 5.0)
    assert len(days.totals) == MOST_DAYS
    assert list(days.totals) == sorted(days.totals)
    assert add_amount(days, 3, 7.0) == 7.0
    assert 3 not in days.totals


@pytest.mark.parametrize(
    ("user_agent", "family"),
    [
        ("azsdk-python-storage-blob/12.19.0 Python/3.11.4 (Linux)", "azsdk-python-storage-blob"),
        ("AzCopy/10.21.2 Azure-Storage/0.15", "azcopy"),
        ("rclone/v1.66", "rclone"),
        ("Microsoft Azure Storage Explorer, 1.33.0, win32", "microsoft-azure-storage-explorer-win"),
        ("", ""),
    ],
)
def test_versions_make_no_new_tool(user_agent: str, family: str) -> None:
    """A tool is its first product."""
    assert agent_family(user_agent) == family


def test_networks_are_what_one_site_uses() -> None:
    """A /24, a /48, and what is no address as it is."""
    assert network_of("198.51.100.7") == "198.51.100.0/24"
    assert network_of("2001:db8:1:2::3") == "2001:db8:1::/48"
    assert network_of("nowhere") == "nowhere"
