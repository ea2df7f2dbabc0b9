"""How often what is asked of Graph. Pure."""

from dataclasses import dataclass

from core.base.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds. Whatever they say, Graph is asked once a second at most (see `pacing`)."""

    every_s: float = 8.0
    """From one look at what changed to the next, for users and service principals."""
    events_s: float = 60.0
    """The same for detections."""
    full_s: float = 86_400.0
    """From one pass over everybody to the next."""
    confirm_s: float = 600.0
    """To the next such pass, where one did not list somebody who is at risk."""
    applications_s: float = 6 * 3600.0
    """After which it is asked again what a client id stands for."""
    missing_s: float = 600.0
    """The same of one that the tenant did not have."""
    guests_s: float = 3600.0
    overlap_s: float = 900.0
    """So far before the latest that was seen a look at what changed begins: what Graph shows late,
    and what it dates up to 300 seconds ahead (`identity.risk.entry_merge`), is still seen."""
    events_overlap_s: float = 3600.0
    """The same for detections, which come 5 to 10 minutes late when they come at once."""
    heartbeat_s: float = 60.0
    """How often it is written that nothing changed."""
    rest_s: float = 60.0
    """How long a resource rests that Graph refuses: a permission or a licence is missing."""

    def __post_init__(self) -> None:
        """Refuse times by which Graph would be asked all the time.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        if self.every_s < 2:  # noqa: PLR2004  Two resources, one request a second.
            raise SettingsError("identity.poll_every: must be 2 seconds or more")
        if self.full_s < self.every_s:
            raise SettingsError("identity.full_every: must not be below identity.poll_every")
