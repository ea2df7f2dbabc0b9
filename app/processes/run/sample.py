"""The made-up month of `sallyport run`: a process of its own brings it into a new ledger.

So that reports have something to show. It stands under a cluster's id of its own, which every
report says; a ledger that was there before gets none.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from structlog.typing import FilteringBoundLogger

LEDGER: Final = "ledger.db"
MARK: Final = "sample.begun"
"""A file beside the ledger while the month is not wholly in it."""

_NICE: Final = 10
"""Reviews come first."""


def needs_sample(state: Path) -> bool:
    """Return whether a folder's ledger is new, or was ended before all of the month was in it."""
    return not (state / LEDGER).exists() or (state / MARK).exists()


@asynccontextmanager
async def open_sample_import(state: Path, logger: FilteringBoundLogger) -> AsyncIterator[None]:
    """Bring it beside whatever else is done; who ends before it is in goes on at the next start."""
    (state / MARK).touch()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app.processes.run.sample", str(state), stderr=asyncio.subprocess.PIPE
    )
    waiting = asyncio.create_task(_tell(process, logger))
    try:
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await waiting


async def _tell(process: asyncio.subprocess.Process, logger: FilteringBoundLogger) -> None:
    _, said = await process.communicate()
    if process.returncode == 0:
        logger.info("sample month is in the ledger")
    elif process.returncode is not None and process.returncode > 0:
        lines = said.decode(errors="replace").strip().splitlines()
        logger.warning("the sample month is not in the ledger", problem=lines[-1:])


async def _bring(state: Path) -> None:
    from audit.ledger.store.store import Store  # noqa: PLC0415 (`run` itself need not wait)
    from audit.reports.periods import month_before  # noqa: PLC0415
    from audit.reports.sample.intake import take_sample  # noqa: PLC0415

    async with Store(f"sqlite:///{state / LEDGER}") as store:
        await take_sample(store, month_before(int(time.time() * 1000)), time.time)
    (state / MARK).unlink()


if __name__ == "__main__":
    os.nice(_NICE)
    asyncio.run(_bring(Path(sys.argv[1])))
