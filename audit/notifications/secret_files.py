"""Secrets of sinks, from mounted files: read each time, so that a renewed one counts at once."""

from pathlib import Path
from typing import Final

from audit.notifications.sink import SinkAwayError

_MOST: Final = 8192


def read_secret(folder: Path, name: str) -> str:
    """Return a secret without the blanks around it.

    Raises:
        SinkAwayError: it cannot be read, or is empty; the message names the file alone.
    """
    found = read_secret_if_there(folder, name)
    if not found:
        raise SinkAwayError(
            f"{folder / name}: is missing or empty; put the key {name!r} into the Secret"
        )
    return found


def read_secret_if_there(folder: Path | None, name: str) -> str:
    """Return a secret; empty where there is no such file.

    Raises:
        SinkAwayError: it is there and cannot be read.
    """
    if folder is None:
        return ""
    try:
        with (folder / name).open(encoding="utf-8") as opened:
            found = opened.read(_MOST + 1)
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise SinkAwayError(f"{folder / name}: cannot be read ({type(error).__name__})") from None
    if len(found) > _MOST:
        raise SinkAwayError(f"{folder / name}: is longer than {_MOST} characters")
    return found.strip()
