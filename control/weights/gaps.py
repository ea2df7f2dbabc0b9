"""Stretches of time of which the record of the cluster may lack something. Pure."""

from typing import Final

from core.base.ids import stable_id
from core.base.times import milli_text
from core.weights.events import FORMAT, LogGap

EVER: Final = 0.0
"""The beginning of a gap before which nothing is recorded at all."""


def gap(cluster: str, log: str, subject: str, begin: float, end: float, why: str) -> LogGap:  # noqa: PLR0913, PLR0917
    """Give the gap of a log (`pods`, `identities`, `changes`); times in Unix seconds."""
    begin_ms, end_ms = round(begin * 1000), round(end * 1000)
    return LogGap(
        format=FORMAT,
        id=stable_id(end_ms, "gap", cluster, log, subject, str(begin_ms)),
        cluster=cluster,
        log=log,
        subject=subject,
        begin=milli_text(begin_ms),
        end=milli_text(end_ms),
        why=why,
    )
