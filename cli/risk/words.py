"""Times, effects and standings, as `sallyport risk` prints them."""

from collections.abc import Mapping
from typing import Final

from rich.text import Text

from core.base.times import time_text
from core.risk.model import Effect, Standing

_COLOURS: Final[Mapping[Effect, str]] = {
    Effect.ALLOW: "green",
    Effect.WARN: "yellow",
    Effect.SANDBOX: "cyan",
    Effect.DENY: "red",
}

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def format_age(seconds: float) -> str:
    """Return an age in its largest whole unit: `12 s`, `3 min`; `-5 s` lies ahead."""
    for length, unit in _UNITS:
        if abs(seconds) >= 2 * length:
            return f"{int(seconds / length)} {unit}"
    return f"{int(seconds)} s"


def shown_time(seconds: float) -> str:
    """Return a time (Unix seconds) as RFC 3339 has it, in UTC."""
    return time_text(seconds)


def effect_word(effect: Effect) -> Text:
    """Return an effect in its colour."""
    return Text(effect.value, style=_COLOURS[effect])


def standing_word(standing: Standing) -> Text:
    """Return a standing; who is at risk stands out."""
    risky = {Standing.MEDIUM, Standing.HIGH, Standing.COMPROMISED, Standing.DELETED}
    return Text(standing.value, style="red" if standing in risky else "")
