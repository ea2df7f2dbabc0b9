"""What timestamps say of heads: when the last was there, and how much later than it says."""

from audit.ledger.log.heads import TreeHead
from audit.ledger.log.problems import Flaw
from audit.ledger.log.timestamps import MOST_AHEAD_MS, TimestampedHeads
from core.base.times import milli_text, milliseconds_of
from tests.unit.audit.ledger.log_verify.honest_log import EVERY, OLD, Scene

HEADS = Scene().heads()


def stamped(head: TreeHead, later_ms: int) -> tuple[TreeHead, int]:
    """Return a head that was timestamped so long after the time that it says."""
    return head, milliseconds_of(head.time) + later_ms


def test_heads_keep_their_signatures() -> None:
    """By size: an authority vouches for no key."""
    reading = TimestampedHeads([stamped(HEADS[EVERY], 1), stamped(HEADS[OLD], 1)])
    assert [line.head for line in reading] == [HEADS[OLD], HEADS[EVERY]]
    assert not reading.vouches
    assert reading.problems == []


def test_longest_delay_goes_by_the_first_timestamp_of_each_head() -> None:
    """An auditor that starts again timestamps its last head again."""
    found = [stamped(HEADS[OLD], 61_000), stamped(HEADS[EVERY], 7_000)]
    reading = TimestampedHeads([*found, stamped(HEADS[EVERY], 86_400_000)])
    assert reading.most_delay_seconds == 61
    assert reading.timestamped == milli_text(found[1][1])


def test_head_of_after_its_timestamp_is_a_problem() -> None:
    """Beyond what clocks may differ by."""
    reading = TimestampedHeads([stamped(HEADS[OLD], -MOST_AHEAD_MS)])
    assert (reading.problems, reading.most_delay_seconds) == ([], 0)
    (problem,) = TimestampedHeads([stamped(HEADS[OLD], -MOST_AHEAD_MS - 1)]).problems
    assert problem.wrong is Flaw.AHEAD
    assert f"says that it is of {HEADS[OLD].time}" in problem.says


def test_no_timestamps_say_never() -> None:
    """And no time."""
    reading = TimestampedHeads([])
    assert (reading.name, reading.timestamped) == ("of what was timestamped until never", "")
