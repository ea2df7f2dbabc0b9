"""The alerts that docs/operate/record.md proposes."""

import re

from tests.harness.evidence import ROOT

ALERTS = (ROOT / "docs/operate/record.md").read_text().partition("## Look at it")[2]
NAMES = (ROOT / "docs/reference/names.md").read_text()
KNOWN = set(re.findall(r"^\| `(sallyport_\w+)` \|", NAMES, re.MULTILINE))


def test_alerts_name_existing_metrics() -> None:
    """An alert on a name that nothing has can never fire."""
    used = set(re.findall(r"sallyport_\w+", ALERTS))
    assert len(used) > 8
    assert used <= KNOWN


def test_a_time_is_compared_only_where_the_leader_shows_it() -> None:
    """The times of a loop and of the sweep vanish with the term; others would grow for ever."""
    aged = set(re.findall(r"time\(\) - (sallyport_\w+)", ALERTS))
    assert aged == {
        "sallyport_loop_last_success_timestamp_seconds",
        "sallyport_sweep_last_finished_timestamp_seconds",
    }
