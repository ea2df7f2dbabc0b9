"""Where `sallyport run` keeps what outlives it."""

import os
from pathlib import Path

from core.base.errors import SettingsError


def state_folder() -> Path:
    """Return the folder of certificate, key, log, spool and ledger (XDG Base Directory 0.8).

    Raises:
        SettingsError: nothing says where this user's home is.
    """
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    if given.is_absolute():  # The specification: a relative path is to be ignored.
        return given / "sallyport" / "run"
    try:
        return Path.home() / ".local" / "state" / "sallyport" / "run"
    except RuntimeError as error:
        raise SettingsError("there is no home folder: set XDG_STATE_HOME") from error
