"""kube-apiserver's clock, by the `Date` of its answers: to the second, and as late as they took."""

import datetime as dt
import time
from email.utils import parsedate_to_datetime


class ServerClock:
    """What the last answer said, and the time since then."""

    def __init__(self) -> None:
        self._said: dt.datetime | None = None
        self._at = 0.0

    def note(self, date: str | None) -> None:
        """Take an answer's header; what is no date changes nothing."""
        try:
            said = parsedate_to_datetime(date or "")
        except ValueError:
            return
        if said.tzinfo is not None:
            self._said, self._at = said, time.monotonic()

    def now(self) -> dt.datetime | None:
        """Give its time; None before the first answer."""
        if self._said is None:
            return None
        return self._said + dt.timedelta(seconds=time.monotonic() - self._at)
