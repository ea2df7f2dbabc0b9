"""What gVisor costs against runc: a Pod's start, a loop of system calls, a loop of arithmetic.

Never a timed test: what is asserted is that both runtimes do the same work.
"""

import datetime as dt
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.harness.evidence import record
from tests.harness.programs.client import Client
from tests.harness.sizes import PROOF, size
from tests.node.conftest import GVISOR
from tests.node.pods import ended, pod

COST: Final = "sandbox-cost"
ROUNDS: Final = size(1, 5)
COPIES: Final = size(20_000, 200_000)
"""Of one byte each: a read and a write."""
ADDITIONS: Final = size(200_000, 5_000_000)
WORK: Final = (
    f"echo began; dd if=/dev/zero of=/dev/null bs=1 count={COPIES} 2>/dev/null; echo copied; "
    f"awk 'BEGIN {{ for (i = 0; i < {ADDITIONS}; i++) x += i; printf \"%.0f\\n\", x }}'"
)


@dataclass(frozen=True)
class Cost:
    """Seconds that one Pod took."""

    start: float
    """From the request for it to its first line."""
    calls: float
    arithmetic: float


async def measured(client: Client, name: str, *, limited: bool = True, **fields: Any) -> Cost:
    """Run the work in a Pod; the times are those at which the node logged its lines."""
    item = pod(COST, name, WORK, **fields)
    if not limited:
        del item["spec"]["containers"][0]["resources"]["limits"]["cpu"]
    asked = dt.datetime.now(dt.UTC)
    await client.create(item)
    ran = await ended(client, COST, name, timestamps=True)
    await client.delete(item)
    lines = [line.split(maxsplit=1) for line in ran.printed.splitlines()]
    assert [said for _, said in lines] == ["began", "copied", str(sum(range(ADDITIONS)))]
    began, copied, added = (_time(stamp) for stamp, _ in lines)
    return Cost(*(span.total_seconds() for span in (began - asked, copied - began, added - copied)))


def _time(stamp: str) -> dt.datetime:
    """Read an RFC 3339 time of nanoseconds; Python's have microseconds."""
    whole, _, fraction = stamp.removesuffix("Z").partition(".")
    return dt.datetime.fromisoformat(f"{whole}.{fraction[:6]:0<6}+00:00")


@pytest.mark.proof
async def test_both_runtimes_do_the_same_work(admin: Client) -> None:
    """In turns, so that what else the machine does falls on both; results go to docs/evidence."""
    await admin.create_namespace(COST)
    plain, sandboxed, free = [], [], []
    for number in range(ROUNDS):
        plain.append(await measured(admin, f"runc-{number}"))
        sandboxed.append(await measured(admin, f"runsc-{number}", runtimeClassName=GVISOR))
        name = f"unlimited-{number}"
        free.append(await measured(admin, name, limited=False, runtimeClassName=GVISOR))
    if PROOF:
        record("sandbox-cost", report(plain, sandboxed, free))


def report(*costs: list[Cost]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield f"- Other work was running on it: load average {os.getloadavg()[0]:.1f} at the end"
    yield f"- Medians of {ROUNDS} Pods each, in turns; in brackets the fastest and the slowest"
    yield "- gVisor's platform: systrap, with a network of its own"
    yield ""
    yield "| | runc, 1 CPU | gVisor, 1 CPU | ratio | gVisor, no limit | ratio |"
    yield "| --- | --- | --- | --- | --- | --- |"
    rows = {
        "Start: from the request to the Pod's first line": "start",
        f"{2 * COPIES:,} system calls (`dd` of single bytes)": "calls",
        f"{ADDITIONS:,} additions (`awk`)": "arithmetic",
    }
    for what, name in rows.items():
        times = [[getattr(cost, name) for cost in each] for each in costs]
        runc, limited, free = map(statistics.median, times)
        shown = [_shown(each) for each in times]
        ratios = (f"{limited / runc:.2f}", f"{free / runc:.2f}")
        row = (what, shown[0], shown[1], ratios[0], shown[2], ratios[1])
        yield f"| {' | '.join(row)} |"
    each = [statistics.median(cost.calls for cost in runs) / COPIES / 2 * 1e6 for runs in costs]
    yield ""
    yield f"A system call: {each[0]:.2f} µs under runc; under gVisor, whose own work counts against"
    yield f"the Pod's limit, {each[1]:.1f} µs with 1 CPU and {each[2]:.1f} µs without a limit."


def _shown(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})"
