"""How patiently name servers are asked, and how many questions at once."""

from dataclasses import dataclass

from core.base.errors import SettingsError


@dataclass(frozen=True, slots=True)
class ResolverSettings:
    """How name servers are asked."""

    timeout_s: float = 2.0
    """For one question to one server; over TCP once more, where its answer is too long for UDP."""
    tries: int = 2
    """A UDP packet may be lost."""
    at_once: int = 64
    """Questions under way, to all servers together."""

    def __post_init__(self) -> None:
        """Refuse settings by which nothing would be asked.

        Raises:
            SettingsError: naming the setting and what it must be.
        """
        if self.timeout_s <= 0 or self.tries < 1 or self.at_once < 1:
            raise SettingsError("egress.resolver: timeout_s, tries and at_once must be above zero")
