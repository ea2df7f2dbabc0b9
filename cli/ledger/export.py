"""`sallyport ledger export`: the log in one file."""

import asyncio
import gzip
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.ledger.log.export import EndLine
from audit.ledger.store.log_export import make_opening, write_export
from cli.session import Progress
from cli.shared.decision_queries import read_since
from cli.shared.ledger_keys import trusted_keys_of
from core.base.errors import SettingsError
from core.base.whole_files import replace_file

_LEVEL: Final = 3
"""Of gzip: twice as quick as its default, and a tenth larger."""


def export_ledger(
    settings: Settings, path: Path, keys: tuple[Path, ...], since: str | None, until: str | None
) -> None:
    """Write an export, whole or not at all, and say what is in it.

    Raises:
        SettingsError: a time is none, or the path is no file's.
        LedgerError: the ledger cannot be read.
        OSError: the file cannot be written.
    """
    if path.is_dir():
        raise SettingsError(f"-o {path}: it is a folder; name a file in it")
    now_ms = int(time.time() * 1000)
    times = (
        None if since is None else read_since(since, now_ms),
        None if until is None else read_since(until, now_ms, "--until"),
    )
    told = trusted_keys_of(settings, keys)
    with _replacing(path) as file:
        end = asyncio.run(_export(settings, file, told, times, now_ms))
    size = path.stat().st_size
    sys.stderr.write(
        f"{path}: {end.leaves:,} records and {end.heads:,} heads, {size:,} bytes. To verify it:\n"
        f"  sallyport ledger verify {path} --anchor ANCHOR"
        + (f" --since {since}" if since else "")
        + (f" --until {until}" if until else "")
        + "\n"
    )
    if not told:
        sys.stderr.write("It names no public key: whoever verifies it needs one (--key).\n")


async def _export(
    settings: Settings,
    file: BinaryIO,
    told: list[str],
    times: tuple[int | None, int | None],
    now_ms: int,
) -> EndLine:
    async with open_ledger(settings) as ledger:
        opening = await make_opening(ledger, told, *times, now_ms)
        return await write_export(ledger, opening, file, Progress("written").tell)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of `path` once it is written, for this user alone."""
    with replace_file(path, 0o600) as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed:
                yield cast("BinaryIO", packed)
        else:
            yield raw
