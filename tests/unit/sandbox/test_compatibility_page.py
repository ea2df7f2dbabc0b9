"""The page about what a sandbox cannot run says what the table says."""

from pathlib import Path
from typing import Final

from sandbox.compatibility import CANNOT, GVISOR, KATA, Kind

PAGE: Final = Path(__file__).parents[3] / "docs" / "sandbox" / "compatibility.md"


def cell(kind: Kind, feature: str) -> str:
    """Return what a row says of a sandbox."""
    limit = CANNOT[kind].get(feature)
    return "runs" if limit is None else f"[{limit.why}]({limit.source})"


def test_each_feature_has_its_row_with_reasons_and_sources() -> None:
    """In the order of the table, and no other row."""
    lines = PAGE.read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]
    found = [(name.strip("`"), gvisor, kata) for name, _, gvisor, kata in rows]
    assert found == [(name, cell(GVISOR, name), cell(KATA, name)) for name in CANNOT[GVISOR]]
