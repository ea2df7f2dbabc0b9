"""Progress of what takes long: lines on standard error."""

import sys
import time
from typing import Final

_PROGRESS_EVERY: Final = 500


def tell_progress(count: int, done: str) -> None:
    """Say on standard error how many objects are done, once in a while."""
    if count % _PROGRESS_EVERY == 0:
        sys.stderr.write(f"{count} objects {done}\n")


_EVERY_S: Final = 5.0


class Progress:
    """Says how far something has come, unless it is done quickly."""

    def __init__(self, done: str) -> None:
        """Take the word for what is done to records."""
        self._done = done
        self._began = self._said = time.monotonic()

    def tell(self, count: int, of: int) -> None:
        """Say it, if the last time is long ago."""
        now = time.monotonic()
        if now - self._said >= _EVERY_S:
            self._said = now
            rate = int(count / (now - self._began))
            sys.stderr.write(f"{count:,} of {of:,} records {self._done}, {rate:,} a second\n")
            sys.stderr.flush()
