"""Writes what `bench.weight_ingest` measured where it is kept."""

import datetime as dt
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

PATH: Final = Path(__file__).parents[1] / "docs" / "evidence" / "weight-ingest.md"

_BEGIN: Final = "<!-- measured -->"
_END: Final = "<!-- /measured -->"


def write_evidence(found: Mapping[str, Mapping[str, Any]], records: int, rounds: int) -> None:
    """Put the table between its two marks; what stands around it is written by hand."""
    before, _, rest = PATH.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    PATH.write_text(f"{before}{_BEGIN}\n{_table(found, records, rounds)}{_END}{after}")


def _table(found: Mapping[str, Mapping[str, Any]], records: int, rounds: int) -> str:
    load = os.getloadavg()[2]
    now = dt.datetime.now(dt.UTC)
    rows = [
        f"- Date: {now:%Y-%m-%d %H:%M} UTC; load of the last 15 minutes {load:.1f}",
        f"- Machine: {os.cpu_count()} cores, {platform.machine()}, "
        f"Python {platform.python_version()}",
        f"- `python -m bench.weight_ingest`: {records:,} records, median of {rounds} rounds",
        "",
        "| Ledger | Records a second, by the wall | Rounds | Processor a record | Memory at most |",
        "|---|---|---|---|---|",
    ]
    for name, each in found.items():
        spread = ", ".join(f"{rate:,}" for rate in each["rounds"])
        rows.append(
            f"| {name} | {each['wall']:,.0f} | {spread} | {each['cpu_us']:.0f} µs "
            f"| {each['mib']:.0f} MiB |"
        )
    return "\n".join([*rows, ""])
