"""What a case expects against what was found, as lines of a diff."""

from policies.authoring.cases import ExpectedFinding, diff_case

FOUND = ExpectedFinding("rules/labels/team", "metadata.labels", "has no team")


def test_what_fits_is_no_difference() -> None:
    """Path and message may be left out, and the first part of the rule's id."""
    for expected in (
        FOUND,
        ExpectedFinding("labels/team"),
        ExpectedFinding("labels/team", "metadata.labels"),
        ExpectedFinding("rules/labels/team", message="has no team"),
    ):
        assert diff_case([expected], [FOUND]) == []


def test_each_is_found_once() -> None:
    """Two that are expected are two that are found."""
    again = ExpectedFinding("labels/team")
    assert diff_case([again, again], [FOUND]) == ["- rule: labels/team"]
    assert diff_case([again], [FOUND, FOUND]) == [
        "+ rule: rules/labels/team, path: metadata.labels, message: has no team"
    ]


def test_what_says_more_is_looked_for_first() -> None:
    """Whoever says less must not take another's finding."""
    other = ExpectedFinding("rules/labels/team", "metadata.annotations", "has no team")
    expected = [ExpectedFinding("labels/team"), ExpectedFinding("labels/team", "metadata.labels")]
    assert diff_case(expected, [FOUND, other]) == []


def test_what_differs_is_shown_on_both_sides() -> None:
    """As a diff shows it."""
    assert diff_case([ExpectedFinding("labels/team", "spec")], [FOUND]) == [
        "- rule: labels/team, path: spec",
        "+ rule: rules/labels/team, path: metadata.labels, message: has no team",
    ]
