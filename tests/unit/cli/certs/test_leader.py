"""Since when nobody leads: from then on no certificate was renewed."""

import datetime as dt

import pytest

from cli.shared.leader import Leader, troubles_of_leader

NOW = dt.datetime(2026, 11, 28, 12, 0, tzinfo=dt.UTC)
LATE = NOW - dt.timedelta(hours=3)


@pytest.mark.parametrize(
    ("leader", "says"),
    [
        (None, "nobody has ever led"),
        (Leader("", LATE), "is nobody's since 2026-11-28 09:00 UTC"),
        (Leader("", None), "is nobody's since an unknown time"),
        (Leader("control-0", LATE), "has not been renewed since 2026-11-28 09:00 UTC"),
        (Leader("control-0", None), "has not been renewed since an unknown time"),
    ],
)
def test_since_when_nobody_leads_is_told(leader: Leader | None, says: str) -> None:
    """Whether the last one left in order, died, or there never was one."""
    (trouble,) = troubles_of_leader(leader, NOW)
    assert says in trouble.what


def test_a_leader_that_renews_is_no_trouble() -> None:
    """Within seconds."""
    assert not list(troubles_of_leader(Leader("control-0", NOW - dt.timedelta(seconds=5)), NOW))
