"""The operator's file of service tags, read anew as it changes; a broken one changes nothing."""

from pathlib import Path
from typing import Final

import structlog

from core.base.errors import InvalidObjectError
from egress.model.facts import NO_TAGS, TagSource
from egress.service_tags import parse_service_tags

LOOK_S: Final = 5.0

_log = structlog.get_logger(__name__)


class TagFile:
    """The file; `source` is what it says."""

    def __init__(self, path: Path | None) -> None:
        """Take where it lies; without one no tag is known."""
        self._path = path
        self._mark: object = None
        self._looked = -LOOK_S
        self.source: TagSource = NO_TAGS
        self.problem = ""
        """Why what it says now is not in force."""

    def look(self, now: float) -> bool:
        """Read it again where it has changed; say whether other tags are in force.

        `now` is of a clock that only goes forward.
        """
        if self._path is None or now - self._looked < LOOK_S:
            return False
        self._looked = now
        try:
            state = self._path.stat()
            mark = (state.st_mtime_ns, state.st_size, state.st_ino)
            if mark == self._mark:
                return False
            self._mark = mark
            self.source = parse_service_tags(self._path.read_bytes())
        except (OSError, InvalidObjectError) as error:
            said = str(error) if isinstance(error, InvalidObjectError) else type(error).__name__
            if said != self.problem:
                _log.error("the file of service tags cannot be read", problem=said)
            self.problem = said
            return False
        self.problem = ""
        return True
