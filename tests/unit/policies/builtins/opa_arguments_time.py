"""How times are made up as arguments of built-in functions, the same in each run."""

import random
from typing import Any, Final

from policies.builtins.registry import SUPPLIED

DATES: Final = ["2026-11-23", "1677-09-21", "2262-04-11", "2024-02-29", "2023-02-29", "0000-01-01"]
CLOCKS: Final = ["05:45:00", "00:00:00", "23:59:59", "24:00:00", "5:45:00", "12:60:00", "23:47:16"]
FRACTIONS: Final = ["", ".5", ",25", ".123456789", ".1234567891", ".", ".854775807"]
OFFSETS: Final = ["Z", "+02:00", "-07:00", "+24:00", "-00:01", "+0200", "", "z", "+25:00"]
ZONES: Final = [
    "UTC",
    "",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Africa/Monrovia",
    "Nowhere/None",
    "../etc/passwd",
    "Etc/GMT+3",
]
LAYOUTS: Final = [
    "ANSIC UnixDate RubyDate RFC822 RFC822Z RFC850 RFC1123 RFC1123Z RFC3339 RFC3339Nano".split(),
    ["2006-01-02", "02.01.2006 15:04", "Jan _2 2006 3:04pm", "Monday, 2 January 06", "002 2006"],
    ["__2 2006 15h", "2006-01-02 15:04:05.000", "15:04:05,999 -07", "2006-01-02T15:04:05Z0700"],
    ["_2006", "20060102150405", "MST -070000 Z07:00:00 15:04", "Januar Janet 1 2 3 4 5 03 PM"],
]
SECONDS: Final = 10**9


def _time(rng: random.Random) -> int:
    return rng.choice(
        [0, -1, 2**63 - 1, -(2**63), 1795412700 * SECONDS, 1711846799 * SECONDS + 1]
        + [rng.randrange(-(2**63), 2**63), rng.randrange(0, 2 * 10**18)] * 6
    )


def timed(rng: random.Random) -> Any:
    """Make up a time as the functions take it: a number, or one with a zone and a layout."""
    time: Any = _time(rng) if rng.random() < 0.95 else rng.choice([1.5, 2**70, "x", None, 1e18])
    layouts = [layout for some in LAYOUTS for layout in some]
    return rng.choice(
        [time, [time], [time, rng.choice(ZONES)], [time, rng.choice(ZONES), rng.choice(layouts)]]
    )


def instant(rng: random.Random) -> str:
    """Make up a time of RFC 3339, or nearly."""
    if rng.random() < 0.5:
        return (
            f"2026-0{rng.randrange(1, 10)}-1{rng.randrange(10)}T1{rng.randrange(10)}:00:00"
            + rng.choice(FRACTIONS)
            + rng.choice(OFFSETS[:5])
        )
    return (
        rng.choice(DATES)
        + rng.choice("TTTTt ")
        + rng.choice(CLOCKS)
        + rng.choice(FRACTIONS)
        + rng.choice(OFFSETS)
    )


def written_and_read(rng: random.Random) -> list[Any]:
    """A layout, with a time that was written by it or by another."""
    layouts = [layout for some in LAYOUTS for layout in some]
    layout = rng.choice(layouts)
    text = SUPPLIED["time.format"]([_time(rng), rng.choice(ZONES[:6]), layout])
    if rng.random() < 0.4:
        place = rng.randrange(len(text) + 1)
        text = (
            text[:place]
            + rng.choice(["", " ", "0", "x", ".5", "-", "T"])
            + text[place + rng.randrange(2) :]
        )
    return [layout if rng.random() < 0.9 else rng.choice(layouts), text]


def duration(rng: random.Random) -> str:
    """Make up a duration, or nearly."""
    units = ["h", "m", "s", "ms", "us", "µs", "μs", "ns", "d", "w", "y", "x", ""]
    numbers = [
        "1",
        "1.5",
        ".5",
        "0",
        "1.",
        ".",
        "1000000",
        "0.000000001",
        str(2**63),
        "1.2.3",
        "007",
    ]
    parts = "".join(rng.choice(numbers) + rng.choice(units) for _ in range(rng.randrange(1, 4)))
    return rng.choice(["", "", "-", "+", "--"]) + rng.choice([parts, parts, parts, "0", ""])
