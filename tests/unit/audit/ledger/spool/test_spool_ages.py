"""How long the oldest frame has waited, from few marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.ledger.spool import backlog
from audit.ledger.spool.backlog import FrameAges
from audit.ledger.spool.segments import SpoolPosition

WRITES = st.lists(st.tuples(st.floats(0, 3), st.booleans()), min_size=1, max_size=60)


def written(steps: list[tuple[float, bool]]) -> list[tuple[SpoolPosition, float]]:
    """Return positions and the times at which they were reached; True begins a new segment."""
    found, now, segment, offset = [], 100.0, 1, 0
    for later, rolls in steps:
        now += later
        segment, offset = (segment + 1, 1) if rolls else (segment, offset + 1)
        found.append((SpoolPosition(segment, offset), now))
    return found


@given(WRITES, st.data())
def test_an_age_is_never_too_young_and_a_second_too_old(
    steps: list[tuple[float, bool]], data: st.DataObject
) -> None:
    """Whatever is forgotten; and nothing that waits has no age."""
    writes, marks = written(steps), FrameAges()
    for end, when in writes:
        marks.add(end, when)
    number = data.draw(st.integers(0, len(writes)))
    position = writes[number - 1][0] if number else SpoolPosition(0, 0)
    if data.draw(st.booleans()):
        marks.forget(position)
    now = writes[-1][1] + 5
    age = marks.oldest(position, now)
    if number == len(writes):
        assert age == 0
    else:
        true = now - writes[number][1]
        assert true - 1e-6 <= age <= true + 1 + 1e-6


def test_few_marks_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound they become coarser, but never young."""
    monkeypatch.setattr(backlog, "_MOST", 8)
    writes, marks = written([(2.0, False)] * 1000), FrameAges()
    for end, when in writes:
        marks.add(end, when)
    assert len(marks) <= 8
    for number in range(0, 999, 50):
        age = marks.oldest(writes[number][0], 3000.0)
        assert age >= 3000.0 - writes[number + 1][1]
