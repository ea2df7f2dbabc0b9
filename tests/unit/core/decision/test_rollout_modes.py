"""Which mode holds in a namespace: its label, the installation's words, and the least mode."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base import names
from core.decision.namespaces import STRICTNESS, Mode, Modes, Namespace, enforce_from, parse_moment

SINCE = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
STAGED = Modes(default=Mode.AUDIT, new=Mode.ENFORCE, new_since=SINCE)


def place(label: str | None = None, created: str = "", announced: str | None = None) -> Namespace:
    """Return a namespace."""
    labels = {} if label is None else {names.MODE_LABEL: label}
    said = {} if announced is None else {names.ENFORCE_FROM_ANNOTATION: announced}
    return Namespace("train", labels, said, "uid", created)


@pytest.mark.parametrize(
    ("namespace", "mode", "why"),
    [
        (place(created="2026-11-30T23:59:59Z"), Mode.AUDIT, "default"),
        (place(created="2026-12-01T00:00:00Z"), Mode.ENFORCE, "new"),
        (place(created="2026-12-01T00:30:00+01:00"), Mode.AUDIT, "default"),
        (place("warn", created="2026-12-02T00:00:00Z"), Mode.WARN, "label"),
        (place("wran", created="2026-01-02T00:00:00Z"), Mode.ENFORCE, "label"),
    ],
)
def test_new_namespaces_have_a_mode_of_their_own(
    namespace: Namespace, mode: Mode, why: str
) -> None:
    """Those without the label that were made since then; a label counts before."""
    assert (STAGED.of(namespace), STAGED.why(namespace)) == (mode, why)


@pytest.mark.parametrize("created", ["", "yesterday", "2026-12-01T00:00:00"])
def test_a_namespace_of_unknown_age_has_the_stricter_mode(created: str) -> None:
    """Nobody makes a namespace milder by hiding its age."""
    strict_before = Modes(default=Mode.ENFORCE, new=Mode.AUDIT, new_since=SINCE)
    assert STAGED.of(place(created=created)) is Mode.ENFORCE
    assert strict_before.of(place(created=created)) is Mode.ENFORCE


@given(
    label=st.none() | st.sampled_from(["audit", "warn", "enforce", "x"]),
    default=st.sampled_from(Mode),
    least=st.sampled_from(Mode),
)
def test_nothing_undercuts_the_least_mode(label: str | None, default: Mode, least: Mode) -> None:
    """A label may ask for more, never for less; what lies in no namespace is held too."""
    modes = Modes(default=default, least=least)
    found, free = modes.of(place(label)), Modes(default=default).of(place(label))
    assert STRICTNESS[found] == max(STRICTNESS[free], STRICTNESS[least])
    assert (modes.why(place(label)) == "least") is (found is not free)
    assert STRICTNESS[modes.elsewhere] >= STRICTNESS[least]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-12-01", SINCE),
        ("2026-12-01T01:00:00+01:00", SINCE),
        ("2026-12-01T00:00:00", None),
        ("1 December", None),
        ("", None),
    ],
)
def test_moments_are_days_or_times_with_a_zone(text: str, read: dt.datetime | None) -> None:
    """A time of an unknown zone is no moment; a day begins in UTC."""
    assert parse_moment(text) == read
    assert enforce_from(place(announced=text)) == (text if read else "")
    assert enforce_from(place()) == ""
