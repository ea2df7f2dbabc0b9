"""What one gate cannot record is passed on once: kube-apiserver then asks again, maybe another."""

from typing import Final

_REMEMBERED_S: Final = 30.0
"""The longest that kube-apiserver asks for one review (`timeoutSeconds`)."""

_MOST: Final = 8192
"""Reviews remembered: about 1 MB. Beyond it nothing is passed on."""


class PassedReviews:
    """The reviews that were passed on lately; each is passed on once, and then answered here.

    So a review is answered even where no gate can record anything.
    """

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def pass_on(self, uid: str, now: float) -> bool:
        """Return whether a review is to be passed on; `now` is monotonic, in seconds."""
        while self._until and (oldest := next(iter(self._until.items())))[1] <= now:
            del self._until[oldest[0]]
        if uid in self._until or len(self._until) >= _MOST:
            return False
        self._until[uid] = now + _REMEMBERED_S
        return True
