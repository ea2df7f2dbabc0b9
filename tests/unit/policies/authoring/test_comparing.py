"""What a case expects against what was found, as lines of a diff."""

from policies.authoring.cases import Expected
from policies.authoring.comparing import difference

FOUND = Expected("rules/labels/team", "metadata.labels", "has no team")


def test_what_fits_is_no_difference() -> None:
    """Path and message may be left out, and the first part of the rule's id."""
    for expected in (
        FOUND,
        Expected("labels/team"),
        Expected("labels/team", "metadata.labels"),
        Expected("rules/labels/team", message="has no team"),
    ):
        assert difference([expected], [FOUND]) == []


def test_each_is_found_once() -> None:
    """Two that are expected are two that are found."""
    again = Expected("labels/team")
    assert difference([again, again], [FOUND]) == ["- rule: labels/team"]
    assert difference([again], [FOUND, FOUND]) == [
        "+ rule: rules/labels/team, path: metadata.labels, message: has no team"
    ]


def test_what_says_more_is_looked_for_first() -> None:
    """Whoever says less must not take another's finding."""
    other = Expected("rules/labels/team", "metadata.annotations", "has no team")
    expected = [Expected("labels/team"), Expected("labels/team", "metadata.labels")]
    assert difference(expected, [FOUND, other]) == []


def test_what_differs_is_shown_on_both_sides() -> None:
    """As a diff shows it."""
    assert difference([Expected("labels/team", "spec")], [FOUND]) == [
        "- rule: labels/team, path: spec",
        "+ rule: rules/labels/team, path: metadata.labels, message: has no team",
    ]
