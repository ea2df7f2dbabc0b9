"""Says where a defect is, without any value that it was about."""

import traceback
from pathlib import Path
from typing import Final

_FRAMES: Final = 5


def places(error: BaseException) -> list[str]:
    """Give where an exception was raised: a traceback without lines and without values."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return [f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in frames]
