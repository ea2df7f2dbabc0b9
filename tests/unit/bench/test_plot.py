"""Charts are whole SVG documents, the same every time."""

import xml.etree.ElementTree as ET

from hypothesis import example, given
from hypothesis import strategies as st

from bench.plot import Chart, Series

SVG = "{http://www.w3.org/2000/svg}"
POINTS = st.lists(
    st.tuples(st.floats(0.5, 1e6), st.floats(0, 1e6)),
    min_size=1,
    max_size=8,
    unique_by=lambda p: p[0],
)


@example("next to nothing", [(1, 5e-324)], [(1, 0)])
@given(st.text("ab<>&\"' é"), POINTS, POINTS)
@example("", [(1.0, 0.0)], [(1.0, 5e-324)])
def test_every_chart_is_well_formed_and_within_its_page(
    title: str, first: list[tuple[float, float]], second: list[tuple[float, float]]
) -> None:
    """Whatever is measured: a point for each value, none outside, and a title as it was given."""
    chart = Chart(title, "x", "y", [Series("one", first), Series("<two>", second)])
    root = ET.fromstring(chart.svg())  # noqa: S314 (our own)
    circles = root.findall(f"{SVG}circle")
    assert len(circles) == len(first) + len(second)
    for circle in circles:
        assert 70 <= float(circle.attrib["cx"]) <= 490.1
        assert 39.9 <= float(circle.attrib["cy"]) <= 310.1
    assert (root.findtext(f"{SVG}title") or "") == title
    assert chart.svg() == chart.svg()


def test_larger_values_stand_higher_and_further_right() -> None:
    """The axes point where they always do."""
    root = ET.fromstring(Chart("t", "x", "y", [Series("s", [(1, 1), (10, 2)])]).svg())  # noqa: S314
    low, high = root.findall(f"{SVG}circle")
    assert float(high.attrib["cx"]) > float(low.attrib["cx"])
    assert float(high.attrib["cy"]) < float(low.attrib["cy"])
