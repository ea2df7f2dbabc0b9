"""How often, how fast and how patiently the sweep goes."""

from dataclasses import dataclass

from core.base.errors import SettingsError


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """Times are in seconds."""

    interval_s: float
    """From one sweep's beginning to the next's."""
    pods_per_second: float
    """The most that are judged."""
    core_share: float = 0.5
    """The most of one core that is used while a sweep runs."""
    page_size: int = 500
    """Pods asked for at once: about 4 MB of JSON."""
    store_every_s: float = 2.0
    """How much is done again, at most, by whoever goes on after a stop."""
    budget_s: float = 10.0
    """For judging one Pod. There is no caller to wait, so it is longer than a review's."""
    retry_s: tuple[float, ...] = (0.5, 1.0, 2.0)
    """Waits before a Pod is judged again that could not be judged for the moment."""

    def __post_init__(self) -> None:
        """Refuse what cannot be kept to.

        Raises:
            SettingsError: naming what is wrong.
        """
        if self.pods_per_second <= 0 or not 0 < self.core_share <= 1:
            raise SettingsError(
                "sweep: pods per second must be above 0, and the share of a core in (0, 1]"
            )
