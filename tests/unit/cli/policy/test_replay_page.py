"""`sallyport policy replay --html`: hostile words stay words, nothing is fetched."""

import re

import pytest

from admission.replay.outcomes import Effect
from cli.policy.replay.counts import Count, Left, Tallies
from cli.policy.replay.page import bars, columns, page
from core.base.ids import uuid7
from core.base.times import milliseconds_of
from tests.harness.pages import parsed, require_closed, require_readable
from tests.unit.cli.policy.replay_counts import HOSTILE, change, made

LEFT = Left(reason=f"because {HOSTILE}", reviews=45, examples=["019a"], rule=f"rules/x/{HOSTILE}")
SPELT = "<script>alert(1)</script>\\u202e\\x1b[31m\"'&"
ALL = made(*(change(effect, 90) for effect in Effect), left=(LEFT,))


def test_words_of_others_are_escaped_and_spelt_out() -> None:
    """Names of rules, namespaces, requesters and files, in texts and in pictures."""
    whole = page(ALL)
    found = parsed(whole)
    assert f"new-{SPELT}.tar.gz" in found.words
    assert f"because {SPELT}" in found.words
    assert found.words.count(f"rules/x/{SPELT}: 76") == len(Effect)
    assert not {char for char in whole if not char.isprintable()} - {"\n", "\u202f"}


@pytest.mark.parametrize("found", [ALL, made()], ids=["all", "nothing"])
def test_page_needs_nothing_and_can_be_read_without_eyes(found: object) -> None:
    """Also where nothing would change."""
    whole = page(ALL if found is ALL else made())
    require_closed(whole)
    require_readable(whole)


def test_each_effect_has_its_pictures() -> None:
    """Over time, by rule, by namespace and by requester; one of the sandbox has no rules."""
    found = parsed(page(made(change(Effect.NEWLY_REFUSED, 90))))
    labels = [attributes["aria-label"] or "" for tag, attributes in found.elements if tag == "svg"]
    assert [label.split(":")[0].split(",")[0] for label in labels] == [
        "Reviews by hour",
        "Reviews by rule",
        "Reviews by namespace",
        "Reviews by requester",
    ]
    assert "All by namespace" in found.words
    assert "All by rule" not in found.words
    assert "team-11" in found.words


def test_bars_are_as_long_as_their_numbers() -> None:
    """The longest is the most frequent; what has no name is named."""
    drawn = bars([Count(name="", reviews=100), Count(name="…", reviews=25)], "namespace", "#000000")
    lengths = [float(each) for each in re.findall(r'<rect[^>]* width="([0-9.]+)"', drawn)]
    assert lengths[0] == pytest.approx(4 * lengths[1])
    assert "(no namespace): 100" in drawn
    assert "all others: 25" in drawn


def test_columns_stand_where_their_time_is() -> None:
    """In the middle of the period what is of its middle; an hour without reviews has none."""
    times = [Count(name="2026-11-16T00", reviews=4), Count(name="2026-11-19T12", reviews=2)]
    drawn = columns(times, "2026-11-16T00:00:00.000Z", "2026-11-23T00:00:00.000Z", "#000000")
    first, middle = (float(each) for each in re.findall(r'<rect[^>]* x="([0-9.]+)"', drawn))
    heights = [float(each) for each in re.findall(r'<rect[^>]* height="([0-9.]+)"', drawn)]
    assert first == 0
    assert middle == pytest.approx(480, abs=6)
    assert heights[0] == 2 * heights[1]
    assert "2026-11-19 12:00 UTC: 2" in drawn


def test_long_periods_are_counted_by_day() -> None:
    """More hours than a picture can show."""
    tallies = Tallies()
    begin = milliseconds_of("2026-01-01T00:00:00Z")
    for hour in range(24 * 30):
        decision = uuid7(begin + hour * 3_600_000)
        tallies.leave(decision, "why")
        tallies._effects[Effect.NEWLY_REFUSED].add(decision, (), "", "")  # noqa: SLF001
    (found,) = tallies.changes()
    assert [each.reviews for each in found.times] == [24] * 30
    assert (found.times[0].name, found.times[-1].name) == ("2026-01-01", "2026-01-30")
    drawn = columns(found.times, "2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z", "#000000")
    assert "2026-01-30 UTC: 24" in drawn
