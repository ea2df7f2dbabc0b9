"""What is measured goes between its marks, and nowhere else."""

import pytest

from bench.scaling import PERFORMANCE
from tests.harness.evidence import replace_between_marks

PAGE = "head\n<!-- a begins -->\nold\n<!-- a ends -->\ntail\n"


def test_only_what_is_between_the_marks_changes() -> None:
    """Doing it again with the same changes nothing."""
    once = replace_between_marks(PAGE, "a", ["new", "lines"])
    assert once == "head\n<!-- a begins -->\nnew\nlines\n<!-- a ends -->\ntail\n"
    assert replace_between_marks(once, "a", ["new", "lines"]) == once


@pytest.mark.parametrize(
    "page",
    ["", "<!-- a begins -->", "<!-- a ends -->\n<!-- a begins -->", PAGE + PAGE],
    ids=["none", "no end", "wrong order", "twice"],
)
def test_a_page_without_its_marks_is_left_alone(page: str) -> None:
    """An error says what to put into the page."""
    with pytest.raises(ValueError, match="a begins"):
        replace_between_marks(page, "a", ["new"])


@pytest.mark.parametrize("name", ["stages", "rules", "sizes", "profiles", "connections"])
def test_the_performance_page_has_all_marks(name: str) -> None:
    """So a bench that ran for minutes can write what it measured."""
    assert "measured" in replace_between_marks(PERFORMANCE.read_text(), name, ["measured"])
